package figures

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/noise"
)

// largest is ψ of the thesis's experiments, in 1/ε.
const largest = 5000

// alphaBound is the thesis's Figure 2.3a: its bound on the expected error against α and the
// probability of collisions.
func alphaBound(_ effort) *picture {
	p := newPicture("ALP: bound on the expected absolute error, from the thesis's Lemmas 2.7 and 2.10", "α, width of a bit in 1/ε", "bound in 1/ε").log(false, true)
	for _, c := range []float64{0, 0.05, 0.1, 0.15, 0.2} {
		points := curve(span(1, 10, 91), func(alpha float64) float64 { return errorBound(alpha, c) })
		p.add(fmt.Sprintf("collisions %g", c), theirs, points)
	}
	p.Y.Min, p.Y.Max = 10, 100
	return p
}

// errorBound is the bound of the thesis's Lemmas 2.7 and 2.10 on the expected error of its unary
// code, in units of Δ/ε: (½ + (4α+4)/α² + (4γ+4)/γ²)·α, where α is the width of a column, collision
// < ½ the probability that another entry lies in the same cell, and γ = (α+2)/(1+α·collision) − 2.
func errorBound(alpha, collision float64) float64 {
	gamma := (alpha+2)/(1+alpha*collision) - 2
	if !(gamma > 0) {
		return math.NaN()
	}
	return (0.5 + (4*alpha+4)/(alpha*alpha) + (4*gamma+4)/(gamma*gamma)) * alpha
}

// alpAlpha is the thesis's Figure 2.3b, the error against α and the probability of collisions, with
// the S-shaped code beside it.
func alpAlpha(e effort) *picture {
	const most = largest
	p := newPicture("ALP, values up to 5000/ε: mean absolute error, estimator of the paper", "α, width of a bit in 1/ε", "mean absolute error in 1/ε")
	for _, c := range []float64{0, 0.1, 0.2} {
		for _, code := range []struct {
			name string
			kind kind
			make func(alpha, most, collision float64) unary
		}{{"linear rounding (paper)", theirs, linear}, {"S-shaped rounding", ours, ramp}} {
			points := curve(span(1, 10, 19), func(alpha float64) float64 {
				return code.make(alpha, most, c).meanAbs(e.runs/4, func(rng *rand.Rand) float64 { return rng.Float64() * most })
			})
			p.add(fmt.Sprintf("%s, collisions %g", code.name, c), code.kind, points)
		}
	}
	p.Y.Min, p.Y.Max = 0, 30
	return p
}

// load fills a projection: k entries of at least most besides those that are asked for, and
// releases it.
func load(params alp.Params, others int, most float64, values map[uint64]float64) *alp.Projection {
	b := must(alp.New(params))
	for i := range others {
		b.Add(uint64(i)*0x9e3779b97f4a7c15|1, most)
	}
	for index, v := range values {
		b.Add(index, v)
	}
	return must(b.Release())
}

// queries returns n values uniform in [0, most] at even indices, which load's other entries do not
// have.
func queries(n int, most float64) map[uint64]float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	values := make(map[uint64]float64, n)
	for range n {
		values[rng.Uint64()&^1] = rng.Float64() * most
	}
	return values
}

// alpErrors is Figure 2.4, the distribution of the error at α = 3 and a probability of collisions
// of 0.1, with the default of package alp at 100 bits an entry.
func alpErrors(e effort) *picture {
	const most = largest
	p := newPicture("Distribution of the error, values up to 5000/ε, other entries larger", "estimate − value in 1/ε", "share per 1/ε")
	rng := rand.New(rand.NewPCG(1, 2))
	paper := make([]float64, 0, 5*e.runs)
	for i := range 5 * e.runs {
		if i%(e.runs/4+1) == 0 {
		}
		x := rng.Float64() * most
		paper = append(paper, linear(3, most, 0.1).estimate(rng, x)-x)
	}
	values := queries(e.runs/2, most)
	release := load(alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 2 * len(values)}, len(values), 2*most, values)
	var here []float64
	for index, v := range values {
		here = append(here, release.Estimate(index)-v)
	}
	for _, c := range []struct {
		name   string
		kind   kind
		errors []float64
	}{{"paper, α = 3, collisions 0.1", theirs, paper}, {"here, 100 bits an entry, δ = 1e-6", ours, here}} {
		p.add(c.name, c.kind, shares(c.errors, -25, 25))
	}
	for _, scale := range []float64{1, 4.5} {
		laplace := must(noise.NewLaplace(scale))
		p.add(fmt.Sprintf("Laplace noise of scale %g", scale), theirs, curve(span(-25, 25, 501), laplace.Prob))
	}
	return p
}

// shares returns a histogram with bins of width 1.
func shares(x []float64, lo, hi int) plotter.XYs {
	points := make(plotter.XYs, hi-lo)
	for i := range points {
		points[i].X = float64(lo+i) + 0.5
	}
	for _, v := range x {
		if i := int(math.Floor(v)) - lo; i >= 0 && i < len(points) {
			points[i].Y += 1 / float64(len(x))
		}
	}
	return points
}

// alpIntegers is Figure 2.5: integers, Algorithm 4 against Algorithm 10, with the default columns
// of package alp.
func alpIntegers(e effort) *picture {
	const bits = 300
	p := newPicture("Integers up to 40, 300 bits an entry, all other entries large", "ε", "mean absolute error").log(true, true)
	epsilons := []float64{0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4}
	const most = 40
	whole := func(rng *rand.Rand) float64 { return float64(rng.IntN(most + 1)) }
	for _, c := range []struct {
		name string
		code func(epsilon float64) unary
	}{
		{"Algorithm 4 (paper), α = 3", func(eps float64) unary {
			u := linear(3, most*eps, 0)
			u.width, u.collision = u.width/eps, -math.Expm1(-float64(u.bits)/bits)
			return u
		}},
		{"Algorithm 10 (paper)", func(eps float64) unary { return histogram(eps, most, -math.Expm1(-most/float64(bits))) }},
	} {
		points := curve(epsilons, func(eps float64) float64 { return c.code(eps).meanAbs(e.runs, whole) })
		p.add(c.name, theirs, points)
	}
	atom, none := make(plotter.XYs, len(epsilons)), make(plotter.XYs, len(epsilons))
	for i, eps := range epsilons {
		rng := rand.New(rand.NewPCG(5, 6))
		values := queries(e.runs/4, 1)
		for index := range values {
			values[index] = whole(rng)
		}
		release := load(alp.Params{Epsilon: eps, Sparsity: 2 * len(values), Max: most, Integers: true, Bits: bits, Structure: alp.ColumnsOnly}, len(values), most, values)
		nonZero := must(release.WithPrior(alp.Prior{Zero: 0, Learned: 0.5}))
		atom[i], none[i] = plotter.XY{X: eps, Y: meanAbs(release, values)}, plotter.XY{X: eps, Y: meanAbs(nonZero, values)}
	}
	p.add("here, the default", ours, atom)
	p.add("here, for entries known not to be zero", ours, none)
	return p.add("1/ε", theirs, curve(epsilons, func(eps float64) float64 { return 1 / eps }))
}

// meanAbs returns the mean absolute error of the estimates.
func meanAbs(release *alp.Projection, values map[uint64]float64) float64 {
	sum := 0.0
	for index, v := range values {
		sum += math.Abs(release.Estimate(index) - v)
	}
	return sum / float64(len(values))
}

// alpBits is the error against the bits of an entry, values up to 40/ε, all other entries large.
func alpBits(e effort) *picture {
	p := newPicture("Values up to 40/ε, all other entries large: error against space", "bits of an entry", "mean absolute error in 1/ε").log(true, false)
	bits := []float64{30, 50, 100, 200, 300, 500, 1000}
	const most = 40
	paper := curve(bits, func(b float64) float64 {
		best := math.Inf(1)
		for alpha := 2.0; alpha <= 8; alpha += 0.5 {
			m := math.Ceil(most / alpha)
			collision := -math.Expm1(-m / b) // b bits an entry are b/m places a column an entry
			best = min(best, linear(alpha, most, collision).meanAbs(e.runs/2, func(rng *rand.Rand) float64 { return rng.Float64() * most }))
		}
		return best
	})
	p.add("paper, at its best α", theirs, paper)
	for _, c := range []struct {
		name   string
		levels int
	}{{"S-shaped unary code", 2}, {"columns, the default", 0}} {
		p.add(c.name, ours, curve(bits, func(b float64) float64 {
			values := queries(e.runs/4, most)
			params := alp.Params{Epsilon: 1, Sparsity: 2 * len(values), Max: most, Bits: b, Structure: alp.ColumnsOnly, Variant: alp.Variant{Levels: c.levels}}
			return meanAbs(load(params, len(values), most, values), values)
		}))
	}
	p.Y.Min = 0
	return p.add("Laplace noise on every coordinate", theirs, curve([]float64{30, 1000}, func(float64) float64 { return 1 }))
}
