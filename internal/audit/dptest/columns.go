package dptest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Column is a law of values for tests of quantiles, with a range that somebody who knows what the
// values are would give.
type Column struct {
	Name     string
	Smooth   bool // no atoms and no gaps
	Min, Max float64
	draw     func(rng *rand.Rand) float64
	half     bool // the second half of the values is 1000 times as large
}

// Columns are laws that quantiles have to do well on: smooth, heavy-tailed, signed, far from 0, with
// atoms and with gaps.
var Columns = []Column{
	{"lognormal .5", true, 0, 1000, func(r *rand.Rand) float64 { return 10 * math.Exp(.5*r.NormFloat64()) }, false},
	{"lognormal 1", true, 0, 10_000, func(r *rand.Rand) float64 { return 10 * math.Exp(r.NormFloat64()) }, false},
	{"lognormal 2", true, 0, 1e6, func(r *rand.Rand) float64 { return 10 * math.Exp(2*r.NormFloat64()) }, false},
	{"Pareto 1.1", true, 0, 1e6, func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/1.1) }, false},
	{"Pareto 2", true, 0, 1e4, func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -.5) }, false},
	{"normal", true, -10, 10, func(r *rand.Rand) float64 { return r.NormFloat64() }, false},
	{"normal at 1e6", true, 9e5, 1.1e6, func(r *rand.Rand) float64 { return 1e6 + 1e4*r.NormFloat64() }, false},
	{"delays", true, -60, 1500, func(r *rand.Rand) float64 {
		if r.IntN(2) == 0 {
			return -6 * r.ExpFloat64()
		}
		return 30 * r.ExpFloat64()
	}, false},
	{"0 to 10", false, 0, 10, func(r *rand.Rand) float64 { return float64(r.IntN(11)) }, false},
	{"prices", false, 0, 1000, func(r *rand.Rand) float64 { return 9.99 + 10*float64(r.IntN(4)/3) }, false},
	{"constant", false, 1, 60_000, func(*rand.Rand) float64 { return 100 }, false},
	{"3 % timeouts", false, 0, 60, func(r *rand.Rand) float64 {
		if r.IntN(100) < 3 {
			return 30
		}
		return math.Min(.2*math.Exp(.8*r.NormFloat64()), 30)
	}, false},
	{"97 % zeros", false, 0, 10_000, func(r *rand.Rand) float64 {
		if r.IntN(100) < 97 {
			return 0
		}
		return 20 * math.Exp(r.NormFloat64())
	}, false},
	{"two clusters", false, 0, 10_000, func(r *rand.Rand) float64 { return 1 + .02*r.NormFloat64() }, true},
	{"dates", true, 1.7e9, 1.7e9 + 86_400, func(r *rand.Rand) float64 { return 1.7e9 + 86_400*r.Float64() }, false},
	{"latitudes", true, 46.9, 46.99, func(r *rand.Rand) float64 { return 46.9 + .09*r.Float64() }, false},
}

// Values returns n values of the law, in order: the same ones whenever it is called.
func (c Column) Values(n int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(len(c.Name))))
	values := make([]float64, n)
	for i := range values {
		values[i] = c.draw(rng)
		if c.half && i >= n/2 {
			values[i] *= 1000
		}
	}
	slices.Sort(values)
	return values
}

// Sane returns the values that a quantile of sorted values may have: those no more than twice as
// far from the median as the values' own (1 − (1 − level)/8)-quantile.
func Sane(values []float64, level float64) (low, high float64) {
	n := len(values)
	low, high = values[(n-1)/2], values[n/2]
	far := 2 * (values[min(int((1-(1-level)/8)*float64(n)), n-1)] - low)
	return low - far, high + far
}
