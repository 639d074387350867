package figures

import (
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/misragries"
)

// thresholds is the threshold of the private Misra-Gries sketch against δ.
func thresholds(_ effort) *picture {
	p := newPicture("Private Misra-Gries, ε = 1: count below which a key stays hidden", "δ = 10^−x", "threshold")
	x := span(3, 15, 25)
	paper := curve(x, func(x float64) float64 { // section 5.2: 1 + 2·⌈ln(6e^ε/((e^ε+1)δ))/ε⌉
		return 1 + 2*math.Ceil(math.Log(6*math.E/(math.E+1))+x*math.Ln10)
	})
	p.add("paper, closed form", theirs, paper)
	p.Legend.Left = true
	p.Y.Min = 0
	return p.add("here, exact", ours, curve(x, func(x float64) float64 {
		return sketchThreshold(misragries.Params{Counters: 256, Epsilon: 1, Delta: math.Pow(10, -x)})
	}))
}

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

// sketches returns how many sketches a measured error is the mean of.
func (e effort) sketches() int { return max(e.runs/80, 3) }

// korError is the relative error of the KOR sketch against its size, planned and measured.
func korError(e effort) *picture {
	p := newPicture("KOR sketch, ε = 1: relative error of a distinct count", "bytes of a sketch", "relative standard error").log(true, true)
	const levels, size = 24, 100_000
	seed := hashing.Seed{1, 2, 3}
	var bytes, plain, merged plotter.XYs
	for cells := 1 << 9; cells <= 1<<15; cells *= 2 {
		params := kor.Params{Epsilon: 1, Cells: cells, Levels: levels, Seed: seed}
		x := float64(cells) * levels / 8
		plan := must(params.Plan())
		plain = append(plain, plotter.XY{X: x, Y: plan.RelativeError})
		const middle = 1e7 // keys, where the error is that of the closed form
		merged = append(merged, plotter.XY{X: x, Y: plan.StdErr(middle, 2) / middle})
		square := 0.0
		for run := range e.sketches() {
			b := must(kor.New(params))
			for i := range uint64(size) {
				b.Toggle(uint64(run)<<32 | i)
			}
			s := must(b.Release())
			off := s.Estimate()/size - 1
			square += off * off / float64(e.sketches())
		}
		bytes = append(bytes, plotter.XY{X: x, Y: math.Sqrt(square)})
	}
	p.add("one set, predicted", ours, plain)
	p.add("symmetric difference of two, predicted", ours, merged)
	return p.add("one set of 10⁵ keys, measured", seen, bytes)
}

// jlVariance is the error of a private squared distance against the number of rows.
func jlVariance(_ effort) *picture {
	p := newPicture("Squared distance Z with Zε² = 1000, ε = 1: error against the rows", "rows k of the sketch", "relative standard deviation").log(true, true)
	const z = 1000.0
	for _, c := range []struct {
		name   string
		kind   kind
		params jl.Params
	}{
		{"SJLT s = 8, Laplace", theirs, jl.Params{Epsilon: 1, Sparsity: 8}},
		{"SJLT s = 8, Gaussian, δ = 1e-6", theirs, jl.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 8, Noise: jl.Gaussian}},
		{"SJLT s = 1, Laplace", ours, jl.Params{Epsilon: 1, Sparsity: 1}},
	} {
		var points plotter.XYs
		for k := 8; k <= 4096; k *= 2 {
			q := c.params
			q.Dim, q.Rows, q.Seed = 1<<20, k, hashing.Seed{9}
			plan := must(q.Plan(z))
			points = append(points, plotter.XY{X: float64(k), Y: plan.RelativeError})
		}
		p.add(c.name, c.kind, points)
	}
	p.Legend.Left = true
	return p
}
