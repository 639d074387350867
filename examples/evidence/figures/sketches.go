package figures

import (
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/misragries"
)

// sketchThreshold returns the threshold of one stream, NaN for invalid Params.
func sketchThreshold(p misragries.Params) float64 {
	plan, err := p.Plan(1)
	if err != nil {
		return math.NaN()
	}
	return plan.Threshold
}

// counters is the error of an estimate from a Misra-Gries sketch of k counters: what is not
// counted, n/(k+1), and the noise. Chan, Li, Shi and Xu (PETS 2012) add Laplace noise of scale k/ε,
// as the sketch has the sensitivity k, to the count of each of the d keys and keep the top k: their
// noise is the largest of d, at the quantile 1 − β.
func counters(_ effort) *picture {
	const n, d, beta = 1e7, 1e6, 0.05
	p := newPicture("Misra-Gries, ε = 1, 10⁷ elements: error against counters", "counters k", "error of a count").log(true, true)
	chan2012 := func(k float64) float64 { return -k * math.Log(-math.Expm1(math.Log1p(-beta)/d)) }
	here := func(k float64) float64 {
		return sketchThreshold(misragries.Params{Counters: int(k), Epsilon: 1, Delta: 1e-6})
	}
	for _, c := range []struct {
		name  string
		kind  kind
		noise func(k float64) float64
	}{
		{"Chan et al., a million keys", theirs, chan2012}, {"here, δ = 1e-6", ours, here},
		{"no privacy", theirs, func(float64) float64 { return 0 }},
	} {
		var points plotter.XYs
		for k := 16.0; k <= 1<<16; k *= 2 {
			points = append(points, plotter.XY{X: k, Y: n/(k+1) + c.noise(k)})
		}
		p.add(c.name, c.kind, points)
	}
	p.Legend.Left, p.Legend.Top = true, false
	return p
}
