package distinct

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// simulated returns a released count for n keys of a fresh seed: real keys and placement.
func simulated(t testing.TB, p Params, rng *rand.Rand, n int) *Sketch {
	p.Seed = hashing.NewSeed()
	b := builder(t, p)
	start := rng.Uint64()
	for i := range uint64(n) {
		b.Add(start + i)
	}
	return dptest.OK(b.Release())(t)
}

// Estimates are unbiased and have the error that StdErr says, and intervals cover: real keys at
// small n.
//
// With 1200 runs the mean is off by more than 7 standard errors, the mean square by more than
// 9·√(5/1200) = 60 % (of squares with the kurtosis 6 of Laplace noise), and fewer than .87 of the
// intervals cover where .94 should, each with probability below 1e-10.
func TestAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 1200
	for _, n := range []int{0, 3, 30, 300, 2000} {
		p := Params{Epsilon: 1, Cells: 64, Levels: 9, Seed: hashing.Seed{1}}
		sum, squares, covered := 0.0, 0.0, 0
		for range runs {
			s := simulated(t, p, rng, n)
			e := s.Estimate() - float64(n)
			sum, squares = sum+e, squares+e*e
			if lo, hi := s.Interval(0.95); lo <= float64(n) && float64(n) <= hi {
				covered++
			}
		}
		sd := planned(p).StdErr(float64(n))
		dptest.Alarm(t, 3e-10)
		require.InDelta(t, 0, sum/runs, sd*(7/math.Sqrt(runs)+0.07), "n = %d", n)
		require.InDelta(t, 1, squares/runs/(sd*sd), 0.65, "n = %d", n)
		require.Greater(t, float64(covered)/runs, 0.87, "n = %d", n)
	}
}

// A count of no ones, and of all, has an estimate and an interval.
func TestFullAndEmpty(t *testing.T) {
	p := Params{Epsilon: 40, Cells: 16, Levels: 2, Seed: hashing.Seed{1}}
	s := released(t, p, run(0, 2000)...)
	lo, hi := s.Interval(0.95)
	require.True(t, lo > 50 && math.IsInf(hi, 1) && s.Estimate() > 100)
	s = released(t, p)
	lo, hi = s.Interval(0.95)
	require.True(t, lo == 0 && hi < 1 && math.Abs(s.Estimate()) < 1)
	s.numbers[0] = -1000
	lo, hi = s.Interval(0.95)
	require.True(t, lo == 0 && hi == 0 && s.Estimate() < -900)
	s.numbers[0] = 1e15
	lo, hi = s.Interval(0.95)
	require.True(t, lo > 100 && math.IsInf(hi, 1))
}

// An interval holds its own estimate, for tables from empty to more than full, and all noise.
func TestIntervalHoldsTheEstimate(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 20} {
		p := Params{Epsilon: epsilon, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}
		for ones := int64(-20); ones <= 64*3+40; ones += 3 {
			for _, r := range []interface {
				Estimate() float64
				Interval(float64) (lo, hi float64)
			}{&total{release{p, numbers{ones}}, 0}, &total{release{p, numbers{ones}}, 9}} {
				for _, confidence := range []float64{0, 0.5, 0.95, 1 - 0x1p-53} {
					lo, hi := r.Interval(confidence)
					e := max(r.Estimate(), 0)
					require.True(t, 0 <= lo && lo <= e && e <= hi, "ε %v, %d ones, %v: %v in [%v, %v]", epsilon, ones, confidence, e, lo, hi)
				}
			}
		}
	}
}
