package jl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// The densities of the model are those that integration of the Laplace density, or of that of a
// pair, against the normal one gives.
func TestDensities(t *testing.T) {
	convolve := func(f func(float64) float64, x, v float64) (sum float64) {
		const h = 1e-2
		for y := -40.0; y <= 40; y += h {
			sum += h * f(y) * math.Exp(-(x-y)*(x-y)/(2*v)) / math.Sqrt(2*math.Pi*v)
		}
		return sum
	}
	single := func(b float64) func(float64) float64 {
		return func(y float64) float64 { return math.Exp(-math.Abs(y)/b) / (2 * b) }
	}
	equal := func(y float64) float64 { y = math.Abs(y); return (1 + y) * math.Exp(-y) / 4 }
	other := func(y float64) float64 { // scales 2 and 1
		y = math.Abs(y)
		return (2*math.Exp(-y/2) - math.Exp(-y)) / 6
	}
	for _, v := range []float64{0.01, 1, 9} {
		for _, x := range []float64{0, 0.3, 2, 11} {
			for name, c := range map[string]struct {
				m model
				f func(float64) float64
			}{"single": {model{scales: []float64{1.5}}, single(1.5)}, "pair": {model{scales: []float64{1, 1}},
				equal}, "two": {model{scales: []float64{1, 2}}, other}} {
				require.InEpsilon(t, convolve(c.f, x, v), math.Exp(c.m.logDensity(x, v)), 1e-4, "%s at %v, v = %v", name, x, v)
			}
		}
	}
}

// With normal noise alone the likelihood has its maximum in closed form, that of the truncated
// estimate; and so it is for discrete noise whose scale is below the unit, which stands as normal
// noise of its variance.
func TestLikelihoodOfNormalRows(t *testing.T) {
	for _, l := range []law{{kind: Gaussian, scale: 700, step: 1.0 / 512}, {kind: DiscreteLaplace, scale: 0.4, step: 1},
		{kind: DiscreteLaplace, scale: 0.99, step: 1}} {
		p := Params{Dim: 100, Rows: 20, Epsilon: 1, Seed: seed(1)}
		m := p.model(newSketch(p, l, make([]int64, 20)))
		require.Empty(t, m.scales)
		require.InEpsilon(t, p.noiseOf(l).output.two, m.normal, 1e-12)
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			x, y := newSketch(p, l, make([]int64, 20)), newSketch(p, l, make([]int64, 20))
			for i := range x.values {
				x.values[i] = int64(r.NormFloat64() * 3 / l.step)
			}
			want, err := x.TruncatedSquaredDistance(y)
			require.NoError(t, err)
			got, err := x.LikelySquaredDistance(y)
			require.NoError(t, err)
			require.InDelta(t, want, got, 1e-3*want+1e-9)
		}
	}
	// From the unit on it stands as Laplace noise.
	p := Params{Dim: 100, Rows: 20, Epsilon: 1, Seed: seed(1)}
	require.Len(t, p.model(newSketch(p, law{kind: DiscreteLaplace, scale: 1, step: 1}, make([]int64, 20))).scales, 1)
}

// Rows that are all 0, which discrete noise makes often, and rows as large as they get: the search
// for the ends of the interval comes to an end, for all kinds of noise.
func TestLikelihoodOfExtremeRows(t *testing.T) {
	for _, l := range []law{
		{kind: DiscreteLaplace, scale: 0x1p-11, step: 1}, {kind: DiscreteLaplace, scale: 0.2, step: 1}, {kind: DiscreteLaplace, scale: 5,
			step: 1}, {kind: Laplace, scale: 512, step: 0x1p-300},
		{kind: Laplace, scale: maxScale, step: 0x1p300}, {kind: Gaussian, scale: 512, step: 0x1p-300}, {kind: Gaussian, scale: 512,
			step: 1},
	} {
		for _, value := range []int64{0, 1, maxValue} {
			for _, rows := range []int{1, 8} {
				p := Params{Dim: 100, Rows: rows, Epsilon: 1, Seed: hashing.Seed{1}, Integers: l.kind == DiscreteLaplace}
				s := newSketch(p, l, make([]int64, rows))
				for i := range s.values {
					s.values[i] = value
				}
				for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
					lo, hi := s.LikelySquaredNormInterval(confidence)
					z := s.LikelySquaredNorm()
					require.False(t, math.IsNaN(z) || math.IsNaN(lo) || math.IsNaN(hi), "%v, %v", l, value)
					require.True(t, 0 <= lo && lo <= hi, "%v, %v: [%v, %v]", l, value, lo, hi)
					lo, hi, err := s.LikelySquaredDistanceInterval(s.twin(), confidence)
					require.NoError(t, err)
					require.True(t, 0 <= lo && lo <= hi, "%v, %v: [%v, %v]", l, value, lo, hi)
				}
			}
		}
	}
}

// The assumption of the likelihood matters: two large coordinates that meet in a row shift all
// estimates, and its intervals are too narrow for that. Those of Chebyshev hold over the draw of
// the Seed: 9 in 10 at least, of 400 at least 322 but once in 10⁶ (the seeds are fixed, and all but
// decide).
func TestHeavyCoordinates(t *testing.T) {
	sure, likely := 0, 0
	for i := range 400 {
		p := Params{Dim: 100, Rows: 8, Rho: 1e6, Seed: seed(i), Norm: L1}
		b, err := New(p)
		require.NoError(t, err)
		b.Add(1, 100)
		b.Add(2, 100)
		s, err := b.Release()
		require.NoError(t, err)
		if lo, hi := s.SquaredNormInterval(0.9); lo <= 20_000 && 20_000 <= hi {
			sure++
		}
		if _, hi := s.LikelySquaredNormInterval(0.9); hi < 20_000 {
			likely++ // and wrong
		}
	}
	require.GreaterOrEqual(t, sure, 322)
	require.Greater(t, likely, 20, "more than 5 % on one side alone")
}
