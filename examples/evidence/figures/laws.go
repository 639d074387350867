package figures

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// ellipses is Figure 4.1a: where Gaussian noise of one standard deviation lies, for a box of the
// widths 4 and 1 at ρ = 1.
func ellipses(_ effort) *picture {
	p := newPicture("Gaussian noise of one standard deviation for ranges (4, 1) at ρ = 1", "first coordinate", "second coordinate")
	round := make(plotter.XYs, 200)
	for i := range round {
		round[i].Y, round[i].X = math.Sincos(2 * math.Pi * float64(i) / 199)
	}
	params := elliptical.Params{Min: elliptical.VectorOf(-2, -0.5), Max: elliptical.VectorOf(2, 0.5), Rho: 1, Relation: budget.Replace}
	return shaped(p, params, elliptical.Vector{}, 2, "E‖η‖₂²", round, 1)
}

// diamonds is Figure 4.1b: the same for Laplace noise at ε = 1, whose density is the same all
// along a diamond. The best Weights are the square roots of the widths (Lemma 4.11). The mean
// absolute value of the noise is 1/√2 of its standard deviation. (The default of pure ε, which ties
// the two coordinates together, is better than all three.)
func diamonds(_ effort) *picture {
	p := newPicture("Laplace noise of the mean magnitude for ranges (4, 1) at ε = 1", "first coordinate", "second coordinate")
	square := plotter.XYs{{X: 1}, {Y: 1}, {X: -1}, {Y: -1}, {X: 1}}
	params := elliptical.Params{Min: elliptical.VectorOf(-2, -0.5), Max: elliptical.VectorOf(2, 0.5), Epsilon: 1, Relation: budget.Replace, Shape: elliptical.Independent}
	return shaped(p, params, elliptical.VectorOf(2, 1), 1, "E‖η‖₁", square, 1/math.Sqrt2)
}

// shaped draws the outline of noise of three shapes, the last of the Weights best, stretched by
// unit standard deviations of each coordinate, and the box of the data.
func shaped(p *picture, params elliptical.Params, best elliptical.Vector, power float64, norm string, outline plotter.XYs, unit float64) *picture {
	for _, s := range []struct {
		name    string
		kind    kind
		weights elliptical.Vector
	}{{"spherical", theirs, elliptical.VectorOf(4, 1)}, {"least volume", theirs, elliptical.VectorOf(1, 1)}, {"optimal", ours, best}} {
		params.Weights = s.weights
		plan := must(params.Plan())
		a, b := unit*plan.StdDev(0), unit*plan.StdDev(1)
		points := make(plotter.XYs, len(outline))
		for i, at := range outline {
			points[i] = plotter.XY{X: a * at.X, Y: b * at.Y}
		}
		p.add(fmt.Sprintf("%s: %s = %.4g", s.name, norm, plan.Error(power)), s.kind, points)
	}
	box := plotter.XYs{{X: -2, Y: -0.5}, {X: 2, Y: -0.5}, {X: 2, Y: 0.5}, {X: -2, Y: 0.5}, {X: -2, Y: -0.5}}
	p.add("the box of the data", theirs, box)
	// room for the names
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = p.X.Min*1.1, p.X.Max*1.1, p.Y.Min*1.1, p.Y.Max*1.6
	return p
}

// span returns n numbers from lo to hi.
func span(lo, hi float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = lo + (hi-lo)*float64(i)/float64(n-1)
	}
	return x
}

// densities is one half of Figure 5.2: the densities of Arete, Laplace and staircase noise, with
// the jump law.
func densities(epsilon float64) *picture {
	p := newPicture(fmt.Sprintf("Densities of noise at ε = %g, Δ = 1", epsilon), "noise", "density").log(false, true)
	laplace := must(noise.NewLaplace(1 / epsilon))
	gamma := must(noise.StaircaseGamma(epsilon))
	staircase := must(noise.NewStaircase(epsilon, 1, gamma))
	law := must(arete.Calibrate(epsilon, 1))
	mechanism := must(arete.New(arete.Params{Epsilon: epsilon}))
	jump := mechanism.Lattice()
	x := span(-2.2, 2.2, 881)
	for _, c := range []struct {
		name string
		kind kind
		f    func(float64) float64
	}{
		{"Laplace", theirs, laplace.Prob}, {"staircase", theirs, staircase.Prob}, {"Arete", theirs, law.Prob},
		{"jump law", ours, func(t float64) float64 { return jump.Prob(math.Round(t/jump.Step())) / jump.Step() }},
	} {
		p.add(c.name, c.kind, curve(x, c.f))
	}
	return p
}

// divisible is the mean absolute error of noise that can be shared among parties, over that of the
// staircase.
func divisible(_ effort) *picture {
	p := newPicture("Mean absolute error over the least possible (staircase), Δ = 1", "ε", "ratio")
	least := func(eps float64) float64 { return math.Exp(eps/2) / math.Expm1(eps) }
	p.add("Laplace, can be shared", theirs, curve(span(2, 6, 41), func(eps float64) float64 { return 1 / eps / least(eps) }))
	calibrated := curve(span(4, 12, 17), func(eps float64) float64 { return must(arete.Calibrate(eps, 1)).MeanAbs() / least(eps) })
	best := curve(span(2, 12, 21), func(eps float64) float64 { return must(arete.Params{Epsilon: eps}.Plan()).MeanAbs / least(eps) })
	p.add("Arete, best parameters", theirs, calibrated)
	p.Y.Min, p.Y.Max = 1, 5
	p.Legend.Left = true
	return p.add("jump laws, the library's best", ours, best)
}
