package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/plan"
)

// method is a way to release a mean.
type method struct {
	name   string
	kind   kind
	params func(plan.Params) plan.Params
}

var methods = []method{
	{"instance-optimal (Huang, Liang, Yi)", theirs, func(p plan.Params) plan.Params { p.Method = plan.InstanceOptimal; return p }},
	{"PLAN as printed, honest budget", theirs, func(p plan.Params) plan.Params { p.Method = plan.Thesis; return p }},
	{"PLAN, the default here", ours, func(p plan.Params) plan.Params { return p }},
}

// gaussianRows returns n rows of independent normal coordinates with the given standard deviations and a mean of centre.
func gaussianRows(n int, sd func(j int) float64, d int, centre float64) [][]float64 {
	rng := rand.New(rand.NewPCG(11, uint64(d)))
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = centre + sd(j)*rng.NormFloat64()
		}
	}
	return rows
}

// errorsOf draws the ℓₚ distance of releases to the empirical mean against ρ.
func errorsOf(e effort, step func(), title string, rows [][]float64, base plan.Params, which []method) (*picture, error) {
	p := newPicture(title, "ρ", fmt.Sprintf("ℓ%g distance to the mean of the rows", base.P)).log(true, true)
	mean := make([]float64, len(rows[0]))
	for _, row := range rows {
		for j, x := range row {
			mean[j] += x / float64(len(rows))
		}
	}
	for _, m := range which {
		var points plotter.XYs
		for _, rho := range []float64{0.125, 0.25, 0.5, 1, 2, 4} {
			params := m.params(base)
			params.Rho = rho
			mechanism, err := plan.New(params)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			sum := 0.0
			for range e.means {
				step()
				released, err := mechanism.Release(rows)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", m.name, err)
				}
				sum += distance(released.Values(), mean, base.P) / float64(e.means)
			}
			points = append(points, plotter.XY{X: rho, Y: sum})
		}
		if err := p.add(m.name, m.kind, points); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func distance(a, b []float64, p float64) float64 {
	sum := 0.0
	for j := range a {
		sum += math.Pow(math.Abs(a[j]-b[j]), p)
	}
	return math.Pow(sum, 1/p)
}

// planGaussian is Figure 5.2a in small: coordinates of equal scale.
func planGaussian(e effort, step func()) (*picture, error) {
	n, d := 4000, 2048/e.scale
	rows := gaussianRows(n, func(int) float64 { return 1 }, d, 10)
	base := plan.Params{Dim: d, Rows: n, Max: 50 * math.Sqrt(float64(d)), Unit: 1, P: 2}
	return errorsOf(e, step, fmt.Sprintf("Equal scales: n = %d, d = %d, σ = 1", n, d), rows, base, methods)
}

// planSkewed is Figure 5.2c in small: scales that fall like 1/i.
func planSkewed(e effort, step func()) (*picture, error) {
	n, d := 10_000/min(e.scale, 8), 2048/e.scale
	rows := gaussianRows(n, func(j int) float64 { return float64(d) / float64(j+1) }, d, 0)
	base := plan.Params{Dim: d, Rows: n, Max: 50 * math.Pow(float64(d), 1.5), Unit: 1, P: 2}
	return errorsOf(e, step, fmt.Sprintf("Skewed scales: n = %d, d = %d, σ = d/i", n, d), rows, base, methods)
}

// planBinary is Figure 5.3 in small: bits with probabilities that fall like a power.
func planBinary(e effort, step func()) (*picture, error) {
	n, d := 4096, 2048/e.scale
	rng := rand.New(rand.NewPCG(12, 13))
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			if rng.Float64() < math.Pow(float64(j+1), -0.75)/2 {
				rows[i][j] = 1
			}
		}
	}
	base := plan.Params{Dim: d, Rows: n, NonNegative: true, P: 1}
	which := []method{
		{"clipping by the norm alone", theirs, func(p plan.Params) plan.Params {
			p.Method = plan.Adaptive
			p.Steps.Scaling = plan.Unscaled
			return p
		}},
		{"PLAN, the default here", ours, func(p plan.Params) plan.Params { return p }},
	}
	return errorsOf(e, step, fmt.Sprintf("Bits: n = %d, d = %d, Pr = ½·i^−¾", n, d), rows, base, which)
}
