package dptest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// strict is the false-reject probability of the assertions on random data here. The seeds are
// fixed, so the tests are not random at all once they pass.
const strict = 1e-6

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// geometric returns n counts of a geometric law with ratio r and its masses, both cut at 20.
func geometric(n int, r, claimed float64) (observed []int64, masses []float64) {
	rng := newRand()
	observed, masses = make([]int64, 21), make([]float64, 20)
	for range n {
		observed[min(int(math.Log(rng.Float64())/math.Log(r)), 20)]++
	}
	for i := range masses {
		masses[i] = (1 - claimed) * math.Pow(claimed, float64(i))
	}
	return observed, masses
}

func TestChiSquare(t *testing.T) {
	observed, masses := geometric(100_000, 0.5, 0.5)
	ChiSquare(t, "geometric", observed, masses, strict)
	observed, masses = geometric(100_000, 0.5, 0.52)
	require.True(t, fails(func(t testing.TB) { ChiSquare(t, "geometric", observed, masses, strict) }))

	// Two cells, 60 and 40 of 100 at probability ½: X² = 4, G = 2·(60·ln 1.2 + 40·ln 0.8) = 4.027.
	require.InEpsilon(t, math.Erfc(math.Sqrt(2)), ChiSquarePValue([]int64{60, 40}, []float64{0.5, 0.5}), 1e-12)
	// The last entry of observed is the count outside.
	require.InEpsilon(t, math.Erfc(math.Sqrt(2)), ChiSquarePValue([]int64{60, 40}, []float64{0.5}), 1e-12)
	// Pooling: the cells expected 5 times each are tested as one.
	require.InEpsilon(t, math.Erfc(math.Sqrt(2)), ChiSquarePValue([]int64{60, 20, 20}, []float64{0.5, 0.05, 0.45}), 1e-12)

	require.Zero(t, ChiSquarePValue([]int64{50, 49, 1}, []float64{0.5, 0.5, 0}), "a hit of probability 0")
	for name, c := range map[string]struct {
		observed []int64
		expected []float64
	}{
		"length":    {[]int64{1, 2, 3}, []float64{1}},
		"negative":  {[]int64{-1, 100}, []float64{0.5, 0.5}},
		"NaN":       {[]int64{50, 50}, []float64{0.5, math.NaN()}},
		"sum":       {[]int64{50, 50}, []float64{0.5, 0.6}},
		"one cell":  {[]int64{10, 9}, []float64{0.5, 0.5}},
		"empty":     {nil, nil},
		"no counts": {[]int64{0, 0}, []float64{0.5, 0.5}},
	} {
		require.True(t, math.IsNaN(ChiSquarePValue(c.observed, c.expected)), name)
		require.True(t, fails(func(t testing.TB) { ChiSquare(t, name, c.observed, c.expected, strict) }), name)
	}
}

// TestChiSquareRejectionRate computes the exact rate at which a cell expected λ times is rejected
// at 1e-6, by summing the binomial law of its count, and the rate of Pearson's statistic alone.
func TestChiSquareRejectionRate(t *testing.T) {
	const n = 1_000_000
	for _, lambda := range []float64{10, 12.5, 20, 50, 1000} {
		p := lambda / n
		rate, pearson := 0.0, 0.0
		law := distuv.Binomial{N: n, P: p}
		spread := 12 * math.Sqrt(lambda)
		for hits := math.Floor(max(0, lambda-spread)); hits < lambda+spread; hits++ {
			if ChiSquarePValue([]int64{int64(hits), n - int64(hits)}, []float64{p, 1 - p}) < strict {
				rate += law.Prob(hits)
			}
			if z := (hits - lambda) / math.Sqrt(lambda*(1-p)); math.Erfc(math.Abs(z)/math.Sqrt2) < strict {
				pearson += law.Prob(hits)
			}
		}
		require.LessOrEqual(t, rate, 1.1*strict, "λ = %g", lambda)
		require.Greater(t, rate, strict/20, "λ = %g: the test has lost its power", lambda)
		if lambda == 10 {
			require.Greater(t, pearson, 10*strict, "Pearson alone is what the comment says")
		}
	}
}

func TestHomogeneity(t *testing.T) {
	rng := newRand()
	sample := func(n int, bias float64) []int64 { // low bits of an output
		counts := make([]int64, 8)
		for range n {
			k := rng.IntN(8)
			if rng.Float64() < bias {
				k &^= 1
			}
			counts[k]++
		}
		return counts
	}
	a, b, biased := sample(100_000, 0), sample(50_000, 0), sample(50_000, 0.05)
	Homogeneity(t, "equal", a, b, strict)
	require.True(t, fails(func(t testing.TB) { Homogeneity(t, "biased", a, biased, strict) }))
	// 2×2: rows 60 40 and 40 60. X² = 4·(10²/50) = 8.
	require.InEpsilon(t, math.Erfc(2), HomogeneityPValue([]int64{60, 40}, []int64{40, 60}), 1e-12)
	for name, c := range map[string][2][]int64{
		"length": {{100, 100}, {100}}, "negative": {{100, -1}, {100, 100}}, "empty row": {{0, 0}, {100, 100}}, "few": {{9, 9}, {100, 100}},
	} {
		require.True(t, fails(func(t testing.TB) { Homogeneity(t, name, c[0], c[1], strict) }), name)
	}
}

func TestKS(t *testing.T) {
	rng, law := newRand(), distuv.Laplace{Scale: 2}
	samples := make([]float64, 100_000)
	for i := range samples {
		samples[i] = rng.ExpFloat64()*2 - rng.ExpFloat64()*2 // Laplace as a difference
	}
	kept := append([]float64(nil), samples...)
	KS(t, "Laplace", samples, law.CDF, strict)
	require.Equal(t, kept, samples, "samples are not changed")
	require.True(t, fails(func(t testing.TB) { KS(t, "scale", samples, distuv.Laplace{Scale: 2.1}.CDF, strict) }))
	require.True(t, fails(func(t testing.TB) { KS(t, "shift", samples, distuv.Laplace{Mu: 0.05, Scale: 2}.CDF, strict) }))
	require.True(t, fails(func(t testing.TB) { KS(t, "few", samples[:4], law.CDF, strict) }))
	require.True(t, math.IsNaN(KSPValue([]float64{1, 2, 3, 4, math.NaN()}, law.CDF)))
	require.True(t, math.IsNaN(KSPValue(samples[:10], law.Survival)), "decreasing")
	// The two series agree where they meet; quantiles of the table: K(1.3581) = 0.95.
	require.InDelta(t, 0.05, kolmogorovSurvival(1.3581), 1e-5)
	require.InEpsilon(t, kolmogorovSurvival(math.Nextafter(1, 0)), kolmogorovSurvival(1), 1e-12)
	require.Equal(t, 1.0, kolmogorovSurvival(0.01))
}

func TestMoments(t *testing.T) {
	rng := newRand()
	samples := make([]float64, 200_000)
	for i := range samples {
		samples[i] = 3 + 2*rng.NormFloat64()
	}
	Moments(t, "normal", samples, 3, 4, 48, strict)
	require.True(t, fails(func(t testing.TB) { Moments(t, "mean", samples, 3.05, 4, 48, strict) }))
	require.True(t, fails(func(t testing.TB) { Moments(t, "variance", samples, 3, 4.1, 50.4, strict) }))
	require.True(t, fails(func(t testing.TB) { Moments(t, "none", nil, 3, 4, 48, strict) }))
	require.True(t, fails(func(t testing.TB) { Moments(t, "no law", samples, 3, 4, 16, strict) }))
	require.True(t, fails(func(t testing.TB) { Moments(t, "Inf", []float64{1, math.Inf(1)}, 3, 4, 48, strict) }))
	require.True(t, fails(func(t testing.TB) { Moments(t, "rate", samples, 3, 4, 48, 0) }))
}

func TestTail(t *testing.T) {
	require.InEpsilon(t, 2*math.Exp(-10), TailPValue(0, 10_000_000, 1e-6), 1e-4) // (1−p)ⁿ ≈ e⁻¹⁰
	require.InEpsilon(t, 2*2.50990240e-07, TailPValue(30, 10_000_000, 1e-6), 1e-6)
	require.InEpsilon(t, 2.0/1024, TailPValue(10, 10, 0.5), 1e-12)
	require.Equal(t, 1.0, TailPValue(5, 10, 0.5))
	require.Zero(t, TailPValue(1, 10, 0))
	require.Equal(t, 1.0, TailPValue(10, 10, 1))
	Tail(t, "typical", 12, 10_000_000, 1e-6, strict)
	require.True(t, fails(func(t testing.TB) { Tail(t, "heavy", 30, 10_000_000, 1e-6, strict) }))
	require.True(t, fails(func(t testing.TB) { Tail(t, "light", 0, 20_000_000, 1e-6, strict) }))
	require.True(t, fails(func(t testing.TB) { Tail(t, "range", 11, 10, 0.5, strict) }))
}

// TestBinomialTails compares with sums of the mass function, so that nothing rests on the
// incomplete beta function alone.
func TestBinomialTails(t *testing.T) {
	for _, c := range []struct {
		n int64
		p float64
	}{{20, 0.3}, {200, 0.01}, {1000, 0.999}, {5000, 0.5}} {
		law := distuv.Binomial{N: float64(c.n), P: c.p}
		below := 0.0
		for hits := int64(0); hits <= c.n; hits += 1 {
			below += law.Prob(float64(hits))
			if below > 1e-200 && below < 0.9 {
				require.InEpsilon(t, below, atMost(hits, c.n, c.p), 1e-9, "n = %d, hits = %d", c.n, hits)
				require.InEpsilon(t, 1-below, atLeast(hits+1, c.n, c.p), 1e-9, "n = %d, hits = %d", c.n, hits)
			}
		}
	}
}

func TestClopperPearson(t *testing.T) {
	lower, upper := ClopperPearson(0, 100, 0.95)
	require.Zero(t, lower)
	require.InEpsilon(t, 1-math.Pow(0.05, 0.01), upper, 1e-10)
	lower, upper = ClopperPearson(100, 100, 0.95)
	require.InEpsilon(t, math.Pow(0.05, 0.01), lower, 1e-10)
	require.Equal(t, 1.0, upper)
	lower, upper = ClopperPearson(3, 1_000_000_000, 1-1e-9)
	require.InEpsilon(t, 1e-9, atLeast(3, 1_000_000_000, lower), 1e-6)
	require.InEpsilon(t, 1e-9, atMost(3, 1_000_000_000, upper), 1e-6)
	lower, upper = ClopperPearson(5, 4, 0.95)
	require.Equal(t, []float64{0, 1}, []float64{lower, upper}, "nothing is known")

	// Coverage, exactly: the bounds hold with at least the confidence for every p.
	const n, confidence = 30, 0.9
	for p := 0.01; p < 1; p += 0.01 {
		law := distuv.Binomial{N: n, P: p}
		var low, high float64
		for hits := range n + 1 {
			lower, upper := ClopperPearson(int64(hits), n, confidence)
			if lower <= p {
				low += law.Prob(float64(hits))
			}
			if p <= upper {
				high += law.Prob(float64(hits))
			}
		}
		require.GreaterOrEqual(t, low, confidence-1e-12)
		require.GreaterOrEqual(t, high, confidence-1e-12)
	}
}
