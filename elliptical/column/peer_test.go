package column

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// split is the usual way, that of Google's BoundedMean and BoundedVariance (Go, v3): ε in equal
// parts for the count, the sum of deviations from the middle, and for the variance the sum of their
// squares. Noise is continuous here.
type split struct {
	d                        dataset
	n, first, second, middle float64 // exact sums
}

func newSplit(d dataset) split {
	s := split{d: d, n: float64(len(d.values)), middle: (d.min + d.max) / 2}
	for _, x := range d.values {
		x = min(max(x, d.min), d.max)
		s.first += x - s.middle
		s.second += (x - s.middle) * (x - s.middle)
	}
	return s
}

func laplace(rng *rand.Rand, scale float64) float64 {
	return scale * (rng.ExpFloat64() - rng.ExpFloat64())
}

func (s split) mean(rng *rand.Rand, epsilon float64) float64 {
	n := max(math.Round(s.n+laplace(rng, 2/epsilon)), 1)
	mean := s.middle + (s.first+laplace(rng, 2*(s.d.max-s.d.min)/2/epsilon))/n
	return min(max(mean, s.d.min), s.d.max)
}

func (s split) variance(rng *rand.Rand, epsilon float64) float64 {
	n := max(math.Round(s.n+laplace(rng, 3/epsilon)), 1)
	mean := (s.first + laplace(rng, 3*(s.d.max-s.d.min)/2/epsilon)) / n
	width := s.d.max - s.d.min
	squares := (s.second + laplace(rng, 3*width*width/4/epsilon)) / n
	return min(max(squares-mean*mean, 0), width*width/4)
}

// The errors are at most 0.72 and 0.6 of the usual way's at ε = 1 (n = 1000; a uniform column
// around 0 and rare events are where the second order shows). With r runs of each the ratio of two
// mean squares has a relative standard error of √(10/r), so the root is off by
// 7.2/2 of that with probability below 1e-12.
func TestAgainstSplitBudget(t *testing.T) {
	runs := dptest.Full(100_000, 8000)
	slack := 0.5 * 7.2 * math.Sqrt(10/float64(runs))
	rng := rand.New(rand.NewPCG(11, 12))
	for at, d := range datasets6(1000) {
		if at%2 > 0 && !dptest.Long() {
			continue
		}
		truth, peer := d.truth(), newSplit(d)
		of := func(f func() float64, want float64) float64 {
			sum := 0.0
			for range runs {
				e := f() - want
				sum += e * e
			}
			return math.Sqrt(sum / float64(runs))
		}
		one, two := again(t, Params{Epsilon: 1, Want: Mean}, d), again(t, Params{Epsilon: 1}, d)
		mean := of(func() float64 { return one().Value(Mean) }, truth[Mean]) / of(func() float64 { return peer.mean(rng, 1) }, truth[Mean])
		variance := of(func() float64 { return two().Value(Variance) }, truth[Variance]) / of(func() float64 { return peer.variance(rng, 1) }, truth[Variance])
		t.Logf("%-14s mean %.3f, variance %.3f of the usual way's error", d.name, mean, variance)
		dptest.Alarm(t, 1e-12)
		require.LessOrEqual(t, mean, 0.72*(1+slack), d.name)
		require.LessOrEqual(t, variance, 0.6*(1+slack), d.name)
	}
}
