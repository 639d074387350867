package means

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/rows"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// law is a law of rows of independent coordinates, unless it says otherwise, around their medians.
type law struct {
	name   string
	skewed bool
	row    func(rng *rand.Rand, y []float64)
}

// each draws every coordinate of a row.
func each(draw func(rng *rand.Rand) float64) func(*rand.Rand, []float64) {
	return func(rng *rand.Rand, y []float64) {
		for i := range y {
			y[i] = draw(rng)
		}
	}
}

// laws are the laws of the suite: what numbers of people, of machines and of measurements are like.
func laws() []law {
	zipf := func(draw func(rng *rand.Rand) float64) func(*rand.Rand, []float64) {
		return func(rng *rand.Rand, y []float64) {
			for i := range y {
				y[i] = draw(rng) / float64(i+1)
			}
		}
	}
	exponential := func(rng *rand.Rand) float64 { return rng.ExpFloat64() - math.Ln2 }
	lognormal := func(sigma float64) func(*rand.Rand, []float64) {
		return each(func(rng *rand.Rand) float64 { return math.Exp(sigma*rng.NormFloat64()) - 1 })
	}
	pareto := func(index float64) func(*rand.Rand, []float64) {
		return each(func(rng *rand.Rand) float64 { return math.Pow(1-rng.Float64(), -1/index) - math.Pow(0.5, -1/index) })
	}
	bimodal := func(rng *rand.Rand) float64 {
		if rng.Float64() < 0.1 {
			return 10 + rng.NormFloat64()
		}
		return rng.NormFloat64()
	}
	bernoulli := func(rng *rand.Rand) float64 {
		if rng.Float64() < 0.01 {
			return 1
		}
		return 0
	}
	correlated := func(rng *rand.Rand, y []float64) {
		common := rng.NormFloat64()
		for i := range y {
			y[i] = common + rng.NormFloat64()
		}
	}
	return []law{
		{"exponential", true, each(exponential)}, {"lognormal .5", true, lognormal(0.5)}, {"lognormal .8", true, lognormal(0.8)}, {"lognormal 1.5", true, lognormal(1.5)},
		{"Pareto 1.5", true, pareto(1.5)}, {"Pareto 2.5", true, pareto(2.5)}, {"Pareto 4", true, pareto(4)}, {"Zipf × exponential", true, zipf(exponential)},
		{"bimodal", true, each(bimodal)}, {"Bernoulli .01", true, each(bernoulli)},
		{"normal", false, each((*rand.Rand).NormFloat64)}, {"uniform", false, each(func(rng *rand.Rand) float64 { return rng.Float64() - 0.5 })},
		{"correlated", false, correlated}, {"Zipf × normal", false, zipf((*rand.Rand).NormFloat64)},
	}
}

// otherLaws are laws that the rule of package plan was not made with, nor its constants. Run with
// other numbers of columns and rows, and other budgets, they show whether it holds elsewhere.
func otherLaws() []law {
	mixture := func(rng *rand.Rand) float64 {
		if rng.Float64() < 0.03 {
			return math.Pow(1-rng.Float64(), -0.5)
		}
		return math.Exp(0.3*rng.NormFloat64()) - 1
	}
	zeros := func(rng *rand.Rand) float64 {
		if rng.Float64() < 0.7 {
			return 0
		}
		return rng.ExpFloat64()
	}
	geometric := func(rng *rand.Rand) float64 { return math.Floor(-rng.ExpFloat64()/math.Log(0.8)) - 3 }
	common := func(rng *rand.Rand, y []float64) {
		scale := math.Exp(0.7 * rng.NormFloat64())
		for i := range y {
			y[i] = scale*math.Abs(rng.NormFloat64()) - 0.6
		}
	}
	student := func(rng *rand.Rand) float64 {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		return rng.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
	}
	laplace := func(rng *rand.Rand) float64 { return rng.ExpFloat64() - rng.ExpFloat64() }
	square := func(rng *rand.Rand) float64 { x := rng.NormFloat64(); return x*x - 0.455 }
	weibull := func(rng *rand.Rand) float64 { return math.Pow(rng.ExpFloat64(), 1/0.6) - math.Pow(math.Ln2, 1/0.6) }
	return []law{
		{"Weibull .6", true, each(weibull)}, {"χ² of one degree", true, each(square)}, {"70 % zeros, else exponential", true, each(zeros)},
		{"lognormal .3, 3 % Pareto 2", true, each(mixture)}, {"geometric .2", true, each(geometric)}, {"|normal| × a row's lognormal .7", true, common},
		{"Student 3", false, each(student)}, {"Laplace", false, each(laplace)},
	}
}

// suiteMax is the public range: far beyond what most laws reach.
const suiteMax = 1 << 12

// grid is the cases that laws are run with: those with n ≥ 150·√(d/ρ).
type grid struct {
	title         string
	laws          []law
	columns, rows []int
	budgets       []float64
	seed          uint64
}

// suite is the suite of the package's documentation, and others the laws it was not made with.
func suite(r *report) error {
	return r.suite(grid{"Suite", laws(), []int{1, 4, 16, 100}, []int{300, 3000, 30000}, []float64{0.05, 0.5, 4}, 10})
}

func others(r *report) error {
	return r.suite(grid{"Others", otherLaws(), []int{2, 8, 40}, []int{1000, 10000}, []float64{0.1, 1}, 40})
}

// suite compares where rows are clipped with the best fixed choice: for every law, number of
// columns and of rows, and budget, the mean ℓ₂ error of releases over the least that any budget of
// C, number of clipped rows and base measure has, expected over the exact law of C. Rows lie around
// their medians and are not scaled, so that nothing but the clipping differs. A release that is off
// by more than ten times the median of its kind counts as a failure.
func (r *report) suite(g grid) error {
	methods := []struct {
		name   string
		change func(*plan.Params)
	}{{"default", func(*plan.Params) {}}, {"Symmetric", func(p *plan.Params) { p.Symmetric = true }}}
	fmt.Fprintf(r.out, "%s: ℓ₂ error over that of the best fixed clipping, geometric means and the worst, and how often NoiseInterval holds at 95 %%, replace-one\n  %-34s", g.title, "law")
	for _, m := range methods {
		fmt.Fprintf(r.out, "%10s%10s%10s", m.name, "worst", "covered")
	}
	fmt.Fprintln(r.out)
	totals := map[string][]ratios{"all": make([]ratios, len(methods)), "skewed": make([]ratios, len(methods)), "symmetric": make([]ratios, len(methods))}
	failures, releases, expected := 0, 0, 0.0
	for at, l := range g.laws {
		if err := r.out.Flush(); err != nil {
			return err
		}
		rng, sums := seed(g.seed+uint64(at)), make([]ratios, len(methods))
		for _, d := range g.columns {
			for _, n := range g.rows {
				n /= r.scale
				for _, rho := range g.budgets {
					if float64(n) < 150*math.Sqrt(float64(d)/rho) {
						continue
					}
					fmt.Fprintf(r.progress, "\r%s: d = %d, n = %d, ρ = %v      ", l.name, d, n, rho)
					x := make([][]float64, n)
					for j := range x {
						x[j] = make([]float64, d)
						l.row(rng, x[j])
						for i, v := range x[j] {
							x[j][i] = min(v, suiteMax)
						}
					}
					o := newOracle(x)
					best := o.best(rho)
					for i, m := range methods {
						p := plan.Params{Rho: rho, Dim: d, Rows: n, Max: suiteMax, Method: plan.Adaptive, Relation: budget.Replace}
						m.change(&p)
						errors, covered, err := o.released(r, p, x)
						if err != nil {
							return err
						}
						outlook, err := p.Plan()
						if err != nil {
							return err
						}
						mean, failed := summary(errors, 10)
						failures, releases, expected = failures+failed, releases+r.runs, expected+outlook.Failure*float64(r.runs)
						for _, sum := range []*ratios{&sums[i], &totals["all"][i], &totals[map[bool]string{true: "skewed", false: "symmetric"}[l.skewed]][i]} {
							sum.add(mean/best, covered)
						}
					}
				}
			}
		}
		r.suiteRow(l.name, sums)
	}
	fmt.Fprintf(r.progress, "\r%s\r", strings.Repeat(" ", 79))
	for _, name := range []string{"skewed", "symmetric", "all"} {
		t := totals[name]
		r.suiteRow(fmt.Sprintf("%s, %d cases", name, t[0].count), t)
	}
	fmt.Fprintf(r.out, "  Errors of ten times the median: %d of %d releases. Misses by the Plan: at most %.2g.\n\n", failures, releases, expected)
	return r.out.Flush()
}

// ratios are those of several cases.
type ratios struct {
	logs    float64
	count   int
	worst   float64
	covered float64 // the sum of the parts of the coordinates that Interval held
}

func (s *ratios) add(ratio, covered float64) {
	s.logs, s.count, s.worst, s.covered = s.logs+math.Log(ratio), s.count+1, max(s.worst, ratio), s.covered+covered
}

// suiteRow prints one row.
func (r *report) suiteRow(name string, methods []ratios) {
	fmt.Fprintf(r.out, "  %-34s", name)
	for _, s := range methods {
		fmt.Fprintf(r.out, "%10.3f%10.3f%10.3f", math.Exp(s.logs/float64(s.count)), s.worst, s.covered/float64(s.count))
	}
	fmt.Fprintln(r.out)
}

// oracle knows what every C does to the rows.
type oracle struct {
	n, d  float64
	mean  []float64
	cells []clipCell // candidates for C, ascending: above falls
}

// clipCell is what one C does.
type clipCell struct {
	limit, bias, gamma float64 // bias is that of the clipped mean over γ, an ℓ₂ norm
	above              float64 // rows that are longer
	tilt               float64 // ln of limit over the middle row's, 0 below
}

const (
	cellsPerOctave = 64
	octavesAbove   = 8  // the longest row, at most
	octavesBelow   = 20 // it
)

func newOracle(x [][]float64) *oracle {
	n, d := len(x), len(x[0])
	norms, order := make([]float64, n), make([]int, n)
	o := &oracle{n: float64(n), d: float64(d), mean: make([]float64, d)}
	outside := make([]float64, d) // Σ y/‖y‖ over longer rows
	for j, y := range x {
		for i, v := range y {
			norms[j] += v * v
			o.mean[i] += v / float64(n)
		}
		norms[j], order[j] = math.Sqrt(norms[j]), j
		if norms[j] > 0 {
			for i, v := range y {
				outside[i] += v / norms[j]
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, norms[a]-norms[b])) })
	inside, at, inverse := make([]float64, d), 0, 0.0
	for _, norm := range norms {
		if norm > 0 {
			inverse += 1 / norm
		}
	}
	longest := norms[order[n-1]]
	for cell := range (octavesAbove + octavesBelow) * cellsPerOctave {
		limit := longest * math.Exp2(float64(cell)/cellsPerOctave-octavesBelow)
		for ; at < n && norms[order[at]] <= limit; at++ {
			y, norm := x[order[at]], norms[order[at]]
			for i, v := range y {
				inside[i] += v
				if norm > 0 {
					outside[i] -= v / norm
				}
			}
			if norm > 0 {
				inverse -= 1 / norm
			}
		}
		c := clipCell{limit: limit, above: float64(n - at), gamma: (float64(at) + limit*max(inverse, 0)) / float64(n)}
		if at == n {
			c.gamma = 1
		}
		for i := range inside {
			lost := inside[i]
			if at < n {
				lost += limit * outside[i]
			}
			e := lost/float64(n)/c.gamma - o.mean[i]
			c.bias += e * e
		}
		c.bias = math.Sqrt(c.bias)
		o.cells = append(o.cells, c)
	}
	middle := o.cells[max(sort.Search(len(o.cells), func(i int) bool { return o.cells[i].above < o.n/2 })-1, 0)].limit
	for i, c := range o.cells {
		o.cells[i].tilt = max(0, math.Log(c.limit/middle))
	}
	return o
}

// best returns the least expected error of a fixed choice.
func (o *oracle) best(rho float64) float64 {
	const others = 0.002 // of ρ, for the divisor
	least := math.Inf(1)
	for _, share := range []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3} {
		sigma := 2 * math.Sqrt(o.d/(2*rho*(1-share-others))) / o.n // of a unit of C
		c := math.Sqrt(2 * share * rho)
		for k := 1.0; k <= o.n/3; k *= 1.25 {
			for _, tilt := range []float64{0, 3} {
				least = min(least, o.expected(sigma, c, k, tilt))
			}
		}
	}
	return least
}

// expected returns the expected error over the law of C.
func (o *oracle) expected(sigma, c, k, tilt float64) float64 {
	const most = 60 // e^−most is nothing
	mass, sum := 0.0, 0.0
	for _, cell := range o.cells[sort.Search(len(o.cells), func(i int) bool { return o.cells[i].above <= k+most/c }):] {
		if cell.above < k-most/c {
			break
		}
		exponent := -c*math.Abs(cell.above-k) - tilt*cell.tilt
		if exponent < -most {
			continue
		}
		w := math.Exp(exponent)
		mass += w
		sum += w * math.Hypot(cell.bias, sigma*cell.limit/cell.gamma)
	}
	if mass == 0 {
		return math.Inf(1)
	}
	return sum / mass
}

// released returns the errors of releases, and the part of their coordinates of which
// NoiseInterval holds the mean at 95 %.
func (o *oracle) released(r *report, p plan.Params, x [][]float64) (errors []float64, covered float64, err error) {
	data := rows.Set{Sparse: plan.Sparse{Offsets: []int{0}}} // whose centre is the origin
	for _, row := range x {
		for i, v := range row {
			data.Sparse.Indices, data.Sparse.Values = append(data.Sparse.Indices, uint32(i)), append(data.Sparse.Values, v)
		}
		data.Sparse.Offsets = append(data.Sparse.Offsets, len(data.Sparse.Indices))
	}
	errors = make([]float64, r.runs)
	for run := range errors {
		out, err := data.Release(r.ctx, p, rows.Unscaled)
		if err != nil {
			return nil, 0, err
		}
		for i, v := range out.Values() {
			errors[run] = math.Hypot(errors[run], v-o.mean[i])
			if lo, hi := out.NoiseInterval(i, 0.95); lo <= o.mean[i] && o.mean[i] <= hi {
				covered += 1 / (o.d * float64(r.runs))
			}
		}
	}
	return errors, covered, nil
}
