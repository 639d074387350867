package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/plan"
)

// seed returns the generator of test data, which are public: the same for every run of the program.
func seed(table uint64) *rand.Rand { return rand.New(rand.NewPCG(9, table)) }

// gaussianRows returns n rows of independent N(mean, sdᵢ²).
func gaussianRows(rng *rand.Rand, n int, mean float64, sds []float64) [][]float64 {
	rows := make([][]float64, n)
	for j := range rows {
		rows[j] = make([]float64, len(sds))
		for i, sd := range sds {
			rows[j][i] = mean + sd*rng.NormFloat64()
		}
	}
	return rows
}

// gaussianA is the data set of the thesis without skew: n = 4000, d = 2048, σ = 1. The error is that to the mean behind the rows.
func gaussianA(r *report) error {
	rng, n, d := seed(1), 4000/r.scale, 2048/r.scale
	p := plan.Params{Dim: d, Max: 25 * math.Sqrt(float64(d)), Unit: 1}
	unscaled, thesis, optimal := p, p, p
	unscaled.Steps.Scaling = plan.Unscaled
	thesis.Method = plan.Thesis
	optimal.Method, optimal.Max = plan.InstanceOptimal, 25.0/4 // it searches within ±4·Max; the published errors need a range as small as that
	c := comparison{
		title:   fmt.Sprintf("Gaussian A: ℓ₂ error to μ, n = %d, d = %d, σ = 1, replace-one", n, d),
		budgets: []float64{0.125, 0.25, 0.5, 1},
		methods: []method{{"PLAN", p, false}, {"PLAN without scaling", unscaled, false}},
		make: func() data {
			sds := make([]float64, d)
			for i := range sds {
				sds[i] = 1
			}
			return data{dense: gaussianRows(rng, n, 0, sds), truth: make([]float64, d)}
		},
		p: 2, factor: 1,
		quoted: [][]string{{"published PLAN (spends 3.76ρ)", "3.7–8.5", "2.3–2.6", "1.58", "1.23"}, {"published IOME", "3.89", "1.95", "1.42", "1.13"}},
		full:   "n = 4000, d = 2048",
	}
	if r.slow {
		c.methods = append(c.methods, method{"thesis, honest budget", thesis, false}, method{"IOME, searched in ±25", optimal, false})
	}
	return r.table(c)
}

// gaussianC is the skewed data set of the thesis: n = 10,000, d = 2048, σᵢ = d/i, means 10. The error is that to the mean of the rows.
func gaussianC(r *report) error {
	rng, n, d := seed(2), 10000/r.scale, 2048/r.scale
	sds := make([]float64, d)
	for i := range sds {
		sds[i] = float64(d) / float64(i+1)
	}
	p := plan.Params{Dim: d, Max: 50 * math.Pow(float64(d), 1.5), Unit: 1}
	unscaled, optimal := p, p
	unscaled.Steps.Scaling = plan.Unscaled
	optimal.Method, optimal.Max = plan.InstanceOptimal, 10*float64(d)
	c := comparison{
		title:   fmt.Sprintf("Gaussian C: ℓ₂ error to the mean of the rows, n = %d, d = %d, σᵢ = d/i, replace-one", n, d),
		budgets: []float64{0.125, 0.25, 0.5, 1},
		methods: []method{{"PLAN", p, false}},
		make: func() data {
			out := data{dense: gaussianRows(rng, n, 10, sds), truth: make([]float64, d)}
			out.truth = out.mean()
			return out
		},
		p: 2, factor: 1,
		quoted: [][]string{{"published PLAN (spends 3.76ρ)", "71", "10.4", "7.5", "5.4"}, {"published IOME", "94", "66", "50", "38"}},
		full:   "n = 10000, d = 2048",
	}
	if r.slow {
		c.methods = append(c.methods, method{"PLAN without scaling", unscaled, false}, method{"IOME", optimal, false})
	}
	return r.table(c)
}

// binary is the binary data set of the thesis: n = 4096, d = 2048, the first αd bits set with probability ½, the others with .01.
func binary(r *report) error {
	for at, alpha := range []float64{0.25, 0.75} {
		rng, n, d := seed(uint64(3+at)), 4096/r.scale, 2048/r.scale
		p := plan.Params{Dim: d, NonNegative: true}
		unscaled, thesis := p, p
		unscaled.Steps.Scaling, thesis.Method = plan.Unscaled, plan.Thesis
		quoted := [][]string{{"published PLAN", "16.9", "8.08", "4.63"}, {"published IOME", "20.5", "10.2", "5.73"}}
		if alpha > 0.5 {
			quoted = [][]string{{"published PLAN", "31.0", "16.7", "9.22"}, {"published IOME", "33.5", "17.0", "9.71"}}
		}
		c := comparison{
			title:   fmt.Sprintf("Binary, α = %v: ½·ℓ₁ error to q, n = %d, d = %d, replace-one", alpha, n, d),
			budgets: []float64{0.0625, 0.25, 1},
			methods: []method{{"two passes", p, false}, {"two passes without scaling", unscaled, false}, {"thesis, honest budget", thesis, false}},
			make:    func() data { return bits(rng, n, d, alpha) },
			p:       1, factor: 0.5, quoted: quoted, full: "n = 4096, d = 2048",
		}
		if err := r.table(c); err != nil {
			return err
		}
	}
	return nil
}

// bits returns binary rows.
func bits(rng *rand.Rand, n, d int, alpha float64) data {
	out := data{sparse: plan.Sparse{Offsets: []int{0}}, truth: make([]float64, d)}
	for i := range out.truth {
		out.truth[i] = 0.01
		if float64(i) < alpha*float64(d) {
			out.truth[i] = 0.5
		}
	}
	for range n {
		for i, q := range out.truth {
			if rng.Float64() < q {
				out.sparse.Indices = append(out.sparse.Indices, uint32(i))
			}
		}
		out.sparse.Offsets = append(out.sparse.Offsets, len(out.sparse.Indices))
	}
	return out
}

// text returns the verses of the King James Bible as rows, one column a word.
func text() (data, error) {
	t, err := kjv.Load()
	if err != nil {
		return data{}, err
	}
	out := data{sparse: plan.Sparse{Offsets: []int{0}}, truth: make([]float64, len(t.Words()))}
	for basket := range t.Baskets() {
		for _, word := range basket {
			out.sparse.Indices = append(out.sparse.Indices, uint32(word))
		}
		out.sparse.Offsets = append(out.sparse.Offsets, len(out.sparse.Indices))
	}
	out.truth = out.mean()
	return out, nil
}

// baskets is the table of the text.
func baskets(r *report) error {
	d, err := text()
	if err != nil {
		return err
	}
	p := plan.Params{Dim: len(d.truth), NonNegative: true}
	unscaled, thesis, plain, optimal := p, p, p, p
	unscaled.Steps.Scaling, thesis.Method, plain.Method = plan.Unscaled, plan.Thesis, plan.Plain
	optimal.NonNegative, optimal.Max, optimal.P, optimal.Method = false, 1, 1, plan.InstanceOptimal
	c := comparison{
		title:   fmt.Sprintf("Text baskets: ½·ℓ₁ error, %d verses, %d words, %d ones, replace-one", d.sparse.Rows(), len(d.truth), len(d.sparse.Indices)),
		budgets: []float64{0.0625, 0.25, 1},
		methods: []method{{"two passes", p, false}, {"two passes, shrunken", p, true}, {"two passes without scaling", unscaled, false},
			{"thesis, honest budget", thesis, false}, {"Gaussian mechanism, C = √d", plain, false}},
		make: func() data { return d },
		p:    1, factor: 0.5,
	}
	c.quoted = [][]string{knownLength(d.sparse, len(d.truth), c.budgets)}
	if r.slow {
		c.methods = append(c.methods, method{"IOME", optimal, false})
	}
	return r.table(c)
}

// knownLength is the row of the Gaussian mechanism for binary rows of which the most ones that any row has are public: m ones make a sensitivity of √(2m), so it
// has an expected error of ½·d·√(2/π)·√(2m)/(n·√(2ρ)).
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
	d, err := text()
	if err != nil {
		return err
	}
	rng := seed(7)
	sds := make([]float64, 2048/r.scale)
	for i := range sds {
		sds[i] = float64(len(sds)) / float64(i+1)
	}
	zipf := zipfRows(rng, 75462/r.scale, 27983, 4194414/r.scale)
	fmt.Fprintln(r.out, "Speed: time of one release, and the memory it takes besides the rows")
	for _, job := range []struct {
		name string
		data data
		p    plan.Params
	}{
		{"text baskets", d, plan.Params{Rho: 1, Dim: len(d.truth), NonNegative: true}},
		{fmt.Sprintf("%d × 27983, %d ones", zipf.sparse.Rows(), len(zipf.sparse.Indices)), zipf, plan.Params{Rho: 1, Dim: 27983, NonNegative: true}},
		{fmt.Sprintf("dense %d × %d", 10000/r.scale, len(sds)), data{dense: gaussianRows(rng, 10000/r.scale, 10, sds)},
			plan.Params{Rho: 1, Dim: len(sds), Max: 50 * math.Pow(2048, 1.5), Unit: 1}},
	} {
		job.p.Workers = r.workers
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if _, err := job.data.release(r.ctx, job.p); err != nil {
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

// zipfRows returns n binary rows with about the given number of ones, columns in proportion to 1/(rank + 10).
func zipfRows(rng *rand.Rand, n, d, ones int) data {
	cumulative, sum := make([]float64, d), 0.0
	for i := range cumulative {
		sum += 1 / float64(i+10)
		cumulative[i] = sum
	}
	out := data{sparse: plan.Sparse{Offsets: []int{0}}, truth: make([]float64, d)}
	last := make([]int, d)
	for j := range n {
		want := min(int(rng.ExpFloat64()*float64(ones)/float64(n))+1, d/4)
		var picked []uint32
		for len(picked) < want {
			i, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
			if last[i] != j+1 {
				last[i] = j + 1
				picked = append(picked, uint32(i))
			}
		}
		slices.Sort(picked)
		out.sparse.Indices = append(out.sparse.Indices, picked...)
		out.sparse.Offsets = append(out.sparse.Offsets, len(out.sparse.Indices))
	}
	return out
}
