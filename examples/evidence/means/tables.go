package means

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/rows"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// seed returns the generator of test data, which are public: the same for every run of the program.
func seed(table uint64) *rand.Rand { return rand.New(rand.NewPCG(9, table)) }

func symmetric(p plan.Params) plan.Params {
	p.Symmetric = true
	return p
}

// gaussianA is the data set of the thesis without skew: n = 4000, d = 2048, σ = 1. The error is
// that to the mean behind the rows.
func gaussianA(r *report) error {
	n, d := 4000/r.scale, 2048/r.scale
	p := plan.Params{Dim: d, Max: 25 * math.Sqrt(float64(d)), Resolution: 1, Relation: budget.Replace}
	c := comparison{
		title:   fmt.Sprintf("Gaussian A: ℓ₂ error to μ, n = %d, d = %d, σ = 1, replace-one", n, d),
		budgets: []float64{0.125, 0.25, 0.5, 1},
		methods: []method{{"PLAN", p, values, nil}, {"PLAN, Symmetric", symmetric(p), values, nil}, {"PLAN without scaling", p, values, rows.Unscaled}},
		make:    func(rng *rand.Rand) rows.Set { return rows.Gaussian(rng, n, 0, rows.Powers(d, 0)) }, seed: 1,
		p: 2, factor: 1,
		quoted: [][]string{{"published PLAN (spends 3.76ρ)", "3.7–8.5", "2.3–2.6", "1.58", "1.23"}, {"published IOME", "3.89", "1.95", "1.42", "1.13"}},
		full:   "n = 4000, d = 2048",
	}
	if r.slow {
		c.methods = append(c.methods, method{"thesis, honest budget", p, values, rows.Published(nil)},
			// it searches within ±4·Max; the published errors need a range as small as that
			method{"IOME, searched in ±25", p, values, rows.Optimal(25.0 / 4)})
	}
	return r.table(c)
}

// gaussianC is the skewed data set of the thesis: n = 10,000, d = 2048, σᵢ = d/i, means 10. The
// error is that to the mean of the rows.
func gaussianC(r *report) error {
	n, d := 10000/r.scale, 2048/r.scale
	p := plan.Params{Dim: d, Max: 50 * math.Pow(float64(d), 1.5), Resolution: 1, Relation: budget.Replace}
	c := comparison{
		title:   fmt.Sprintf("Gaussian C: ℓ₂ error to the mean of the rows, n = %d, d = %d, σᵢ = d/i, replace-one", n, d),
		budgets: []float64{0.125, 0.25, 0.5, 1},
		methods: []method{{"PLAN", p, values, nil}, {"PLAN, Symmetric", symmetric(p), values, nil}},
		seed:    2,
		make: func(rng *rand.Rand) rows.Set {
			out := rows.Gaussian(rng, n, 10, rows.Powers(d, 2))
			out.Truth = out.Mean()
			return out
		},
		p: 2, factor: 1,
		quoted: [][]string{{"published PLAN (spends 3.76ρ)", "71", "10.4", "7.5", "5.4"}, {"published IOME", "94", "66", "50", "38"}},
		full:   "n = 10000, d = 2048",
	}
	if r.slow {
		c.methods = append(c.methods, method{"PLAN without scaling", p, values, rows.Unscaled}, method{"IOME", p, values, rows.Optimal(10 * float64(d))})
	}
	return r.table(c)
}

// binary is the binary data set of the thesis: n = 4096, d = 2048, the first αd bits set with
// probability ½, the others with .01.
func binary(r *report) error {
	for at, alpha := range []float64{0.25, 0.75} {
		n, d := 4096/r.scale, 2048/r.scale
		p := plan.Params{Dim: d, NonNegative: true, Relation: budget.Replace}
		quoted := [][]string{{"published PLAN", "16.9", "8.08", "4.63"}, {"published IOME", "20.5", "10.2", "5.73"}}
		if alpha > 0.5 {
			quoted = [][]string{{"published PLAN", "31.0", "16.7", "9.22"}, {"published IOME", "33.5", "17.0", "9.71"}}
		}
		c := comparison{
			title:   fmt.Sprintf("Binary, α = %v: ½·ℓ₁ error to q, n = %d, d = %d, replace-one", alpha, n, d),
			budgets: []float64{0.0625, 0.25, 1},
			methods: []method{{"two passes", p, values, nil}, {"two passes, Symmetric", symmetric(p), values, nil}, {"two passes without scaling", p, values, rows.Unscaled}, {"thesis, honest budget", p, values, rows.Published(nil)}},
			make:    func(rng *rand.Rand) rows.Set { return rows.Bits(rng, n, d, alpha) }, seed: uint64(3 + at),
			p: 1, factor: 0.5, quoted: quoted, full: "n = 4096, d = 2048",
		}
		if err := r.table(c); err != nil {
			return err
		}
	}
	return nil
}

// baskets is the table of the text.
func baskets(r *report) error {
	d := rows.Verses()
	p := plan.Params{Dim: len(d.Truth), NonNegative: true, Relation: budget.Replace}
	plain := p
	plain.Method = plan.Plain
	c := comparison{
		title:   fmt.Sprintf("Text baskets: ½·ℓ₁ error, %d verses, %d words, %d ones, replace-one", d.Sparse.Rows(), len(d.Truth), len(d.Sparse.Indices)),
		budgets: []float64{0.0625, 0.25, 1},
		methods: []method{{"two passes", p, values, nil}, {"two passes, at least 0", p, atLeast0, nil}, {"two passes, shrunken", p, shrunken, nil}, {"two passes, Symmetric", symmetric(p), values, nil},
			{"two passes without scaling", p, values, rows.Unscaled}, {"thesis, honest budget", p, values, rows.Published(nil)}, {"Gaussian mechanism, C = √d", plain, values, nil}},
		make: func(*rand.Rand) rows.Set { return d },
		p:    1, factor: 0.5,
	}
	c.quoted = [][]string{knownLength(d.Sparse, len(d.Truth), c.budgets)}
	if r.slow {
		c.methods = append(c.methods, method{"IOME", p, values, rows.Optimal(1)})
	}
	return r.table(c)
}

// sparse is a table of short rows for each of three sets: the verses and their phrases of five
// words, which are real, and generated baskets, as many as those of a shop that others have
// measured with.
func sparse(r *report) error {
	for _, c := range []struct {
		name    string
		columns string
		data    rows.Set
	}{{"Verses", "words", rows.Verses()}, {"Phrases", "words", rows.Phrases(5)}, {"Shop", "products", r.shop()}} {
		if err := r.shortRows(c.name, c.columns, c.data); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) shop() rows.Set {
	shop := rows.Zipf(seed(8), 88162/r.scale, 16470/r.scale, 908576/r.scale)
	shop.Truth = shop.Mean()
	return shop
}

func (r *report) shortRows(name, columns string, data rows.Set) error {
	p := plan.Params{Dim: len(data.Truth), NonNegative: true, Relation: budget.Replace}
	return r.table(comparison{
		title:   fmt.Sprintf("%s: ½·ℓ₁ error, %d rows, %d %s, %d ones, replace-one", name, data.Sparse.Rows(), p.Dim, columns, len(data.Sparse.Indices)),
		budgets: []float64{1. / 16, 1. / 4, 1, 4},
		methods: []method{{"two passes", p, values, nil}, {"two passes, at least 0", p, atLeast0, nil}, {"two passes, shrunken by classes", p, byClasses, nil}, {"two passes, shrunken", p, shrunken, nil}},
		make:    func(*rand.Rand) rows.Set { return data },
		p:       1, factor: 0.5,
	})
}

// knownLength is the row of the Gaussian mechanism for binary rows of which the most ones that any
// row has are public: m ones make a sensitivity of √(2m), so it has an expected error of
// ½·d·√(2/π)·√(2m)/(n·√(2ρ)).
func knownLength(s plan.Sparse, d int, budgets []float64) []string {
	most := 0
	for j := range s.Rows() {
		most = max(most, s.Offsets[j+1]-s.Offsets[j])
	}
	row := []string{fmt.Sprintf("the same if ≤ %d ones are public", most)}
	for _, rho := range budgets {
		row = append(row, fmt.Sprintf("%.4g", float64(d)*math.Sqrt(2/math.Pi)*math.Sqrt(float64(most)/rho)/(2*float64(s.Rows()))))
	}
	return row
}

// speed times releases of the sizes that matter.
func speed(r *report) error {
	d := rows.Verses()
	rng := seed(7)
	sds := rows.Powers(2048/r.scale, 2)
	zipf := rows.Zipf(rng, 75462/r.scale, 27983, 4194414/r.scale)
	fmt.Fprintln(r.out, "Speed: time of one release, and the memory it takes besides the rows")
	for _, job := range []struct {
		name string
		data rows.Set
		p    plan.Params
	}{
		{"text baskets", d, plan.Params{Rho: 1, Dim: len(d.Truth), NonNegative: true, Relation: budget.Replace}},
		{fmt.Sprintf("%d × 27983, %d ones", zipf.Sparse.Rows(), len(zipf.Sparse.Indices)), zipf, plan.Params{Rho: 1, Dim: 27983, NonNegative: true, Relation: budget.Replace}},
		{fmt.Sprintf("dense %d × %d", 10000/r.scale, len(sds)), rows.Gaussian(rng, 10000/r.scale, 10, sds),
			plan.Params{Rho: 1, Dim: len(sds), Max: 50 * math.Pow(2048, 1.5), Resolution: 1, Relation: budget.Replace}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if _, err := job.data.Release(r.ctx, job.p, plan.New); err != nil {
			return err
		}
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		fmt.Fprintf(r.out, "  %-34s%8.0f ms%8.1f MB\n", job.name, took.Seconds()*1000, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
		if err := r.out.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.out)
	return r.out.Flush()
}
