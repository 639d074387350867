package dptest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
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

// Columns are laws that quantiles have to do well on: smooth, heavy-tailed, signed, far from 0,
// with atoms and with gaps.
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
	{"0.1 % far away", false, 0, 1e9, func(r *rand.Rand) float64 {
		if r.IntN(1000) == 0 {
			return 1e9
		}
		return 100
	}, false},
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

// QuantileCase is what one release of quantiles is about.
type QuantileCase struct {
	Column
	Range             string // none, given, or a million times too wide
	Epsilon           float64
	Levels            []float64
	Sorted            []float64
	LeastEnd, MostEnd float64 // the range, or 0 and 0
}

// QuantileAnswer is what a release says of a level: its value, or NaN, with its interval at
// .95, and the cell of the axis that it was drawn in, known or not.
type QuantileAnswer struct {
	Value, Low, High float64
	Cell             int64
}

// QuantileSuite releases quantiles of all Columns with so many values, by the given ε, sets of
// levels and ranges, runs times each. Prepare returns what draws a release, and the cell of a
// value.
//
// No finite answer is more than twice as far from the median as the values' own (1 − (1 −
// level)/8)-quantile, but with a probability of 0.001; and an interval misses with one of .05. It
// returns how many releases there were, in how many a finite answer was too far, and in how many
// any would have been.
func QuantileSuite(t *testing.T, ns []int, epsilons []float64, sets [][]float64, runs int, prepare func(c QuantileCase) (func() []QuantileAnswer, func(float64) int64)) (releases, astray, unguarded int64) {
	const alarm = 1e-11
	for _, column := range Columns {
		misses, intervals := int64(0), int64(0)
		for _, n := range ns {
			sorted := column.Values(n)
			for turn := range 3 * len(epsilons) * len(sets) {
				c := QuantileCase{Column: column, Range: []string{"none", "given", "too wide"}[turn%3], Sorted: sorted}
				c.Epsilon, c.Levels = epsilons[turn/3%len(epsilons)], sets[turn/3/len(epsilons)]
				switch c.Range {
				case "given":
					c.LeastEnd, c.MostEnd = c.Min, c.Max
				case "too wide": // from Min on where that is above 0
					c.LeastEnd, c.MostEnd = min(1e6*c.Min, max(c.Min, 0)), max(c.Min, 0)+1e6*(c.Max-max(c.Min, 0))
				}
				draw, cell := prepare(c)
				for range runs {
					far, farther := false, false
					for i, a := range draw() {
						low, high := Sane(sorted, c.Levels[i])
						out := a.Cell < cell(low) || a.Cell > cell(high)
						farther = farther || out
						if out && a.Value == a.Value {
							far = true
							t.Logf("p%v of %d values, %s, ε = %v of %v, range %s: %v", 100*c.Levels[i], n, c.Name, c.Epsilon, c.Levels, c.Range, a.Value)
						}
						at := c.Levels[i] * float64(n)
						first, last := sorted[max(int(math.Ceil(at-1e-6))-1, 0)], sorted[min(int(at+1e-6), n-1)]
						if intervals++; last < a.Low || first > a.High {
							misses++
						}
						require.False(t, a.Value < a.Low || a.Value > a.High)
					}
					releases++
					if far {
						astray++
					}
					if farther {
						unguarded++
					}
				}
			}
		}
		least, _ := ClopperPearson(misses, intervals, 1-alarm)
		Alarm(t, alarm)
		require.LessOrEqual(t, least, .05, "%s: %d misses of %d intervals", column.Name, misses, intervals)
	}
	least, _ := ClopperPearson(astray, releases, 1-alarm)
	Alarm(t, alarm)
	require.LessOrEqual(t, least, .001, fmt.Sprint(astray, " of ", releases, " releases are astray"))
	return releases, astray, unguarded
}
