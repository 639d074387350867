package figures

import (
	"math"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// span returns n numbers from lo to hi.
func span(lo, hi float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = lo + (hi-lo)*float64(i)/float64(n-1)
	}
	return x
}

// divisible is the mean absolute error of noise that can be shared among parties, over that of the
// staircase.
func divisible(_ effort) *picture {
	p := newPicture("Mean absolute error over the least possible (staircase), Δ = 1", "ε", "ratio")
	least := func(eps float64) float64 { return math.Exp(eps/2) / math.Expm1(eps) }
	p.add("Laplace, can be shared", theirs, curve(span(2, 6, 41), func(eps float64) float64 { return 1 / eps / least(eps) }))
	calibrated := curve(span(4, 12, 17), func(eps float64) float64 { return cli.Must(arete.Calibrate(eps, 1)).MeanAbs() / least(eps) })
	best := curve(span(2, 12, 21), func(eps float64) float64 { return cli.Must(arete.Params{Epsilon: eps}.Plan()).MeanAbs / least(eps) })
	p.add("Arete, best parameters", theirs, calibrated)
	p.Y.Min, p.Y.Max = 1, 5
	p.Legend.Left = true
	return p.add("jump laws, the library's best", ours, best)
}
