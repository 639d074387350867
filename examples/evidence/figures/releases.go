package figures

import (
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// releases draws the ε of n daily releases together: by the sum, as zCDP, and by the accountant,
// where nothing but ε is known of each and where it is known to be Laplace noise. It is in
// noise/budget/composition.md.
func releases(_ effort) *picture {
	const epsilon, delta = 0.1, 1e-6
	p := newPicture("n releases of ε = 0.1 together, at δ = 1e-6", "n", "ε").log(true, true)
	unit := budget.User(0, budget.AddRemove)
	pure, laplace := budget.PureDP(epsilon, unit), budget.Laplace(epsilon, unit)
	for _, c := range []struct {
		name string
		kind kind
		f    func(n int) float64
	}{
		{"the sum of all ε", theirs, func(n int) float64 { return epsilon * float64(n) }},
		{"as zCDP, ρ = ε·tanh(ε/2)", theirs, func(n int) float64 {
			rho := float64(n) * epsilon * math.Tanh(epsilon/2)
			return min(epsilon*float64(n), budget.ZCDP(rho, unit).EpsilonAt(delta))
		}},
		{"exact, of any ε-private releases", ours, func(n int) float64 { return pure.Times(n).EpsilonAt(delta) }},
		{"exact, of Laplace noise", ours, func(n int) float64 { return laplace.Times(n).EpsilonAt(delta) }},
	} {
		var points plotter.XYs
		for _, n := range []int{1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 70, 100, 150, 230, 365, 550, 800, 1200, 1825, 2600, 3650} {
			points = append(points, plotter.XY{X: float64(n), Y: c.f(n)})
		}
		p.add(c.name, c.kind, points)
	}
	p.Legend.Left = true
	return p
}
