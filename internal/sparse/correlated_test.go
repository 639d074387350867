package sparse

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// escapeOf returns Pr[Z + max_{i≤u} N_i ≥ c] for σ = 1, by Gauss–Legendre on narrow panels.
func escapeOf(u int, a, c float64) float64 {
	g := func(y float64) float64 { return -math.Expm1(float64(u) * math.Log1p(-tail(y))) }
	switch {
	case u == 0:
		return 0
	case a == 0:
		return g(c)
	}
	return panels(func(t float64) float64 { return density(t) * g(c-math.Sqrt(a)*t) }, -12, 38, 200)
}

func TestLogEscape(t *testing.T) {
	unit := dptest.OK(noise.NewGaussian(1))(t)
	for _, a := range []float64{0, 1e-6, 0.003, 0.1, 1, 4} {
		for c := -2.0; c < 37*math.Sqrt(1+a); c += 0.7 { // u = 1: exact
			require.InDelta(t, unit.LogSurvival(c/math.Sqrt(1+a)), logEscape(1, a, c, exactNats), 2e-11+3e-14*c*c*(1+a), "a = %v, c = %v", a, c)
		}
		for _, u := range []int{2, 10, 1000, 100_000} {
			for _, c := range []float64{-1, 0, 1, 3, 6, 10, 14} {
				want, got := escapeOf(u, a, c), math.Exp(logEscape(u, a, c, exactNats))
				require.InEpsilon(t, want, got, 1e-10, "u = %d, a = %v, c = %v", u, a, c)
				require.GreaterOrEqual(t, got, want*(1-1e-12), "u = %d, a = %v, c = %v", u, a, c)
			}
		}
	}
	for _, c := range []float64{math.NaN(), -1e300, math.Inf(-1)} {
		require.InDelta(t, 0.0, logEscape(3, 0.5, c, exactNats), 1e-9)
	}
	for _, c := range []float64{77, 80, 1e10, 1e200, math.Inf(1)} {
		require.LessOrEqual(t, logEscape(3, 0.5, c, exactNats), -1900.0)
	}
	require.Less(t, correlatedDelta(9, 4, 0, 0.5, 1, 1e-200, 1, 0), 1.1)
	for _, u := range []int{1, 64, 100_000} {
		// no loss in the far tail: the union bound is next to it
		x := logEscape(u, 0.5, 50, exactNats)
		require.InDelta(t, math.Log(float64(u))+logEscape(1, 0.5, 50, exactNats), x, 1, "u = %d", u)
		require.Less(t, x, -600.0)
	}
}

// A search has the E_u to 1e-6, whichever way it is off; what is verified has them exactly.
func TestRoughEscape(t *testing.T) {
	for _, u := range []int{1, 10, 1000, 100_000} {
		for _, a := range []float64{0.003, 0.5, 10} {
			for _, c := range []float64{0, 3, 10} {
				exact := logEscape(u, a, c, exactNats)
				require.InDelta(t, exact, logEscape(u, a, c, roughNats), 1e-6, "u = %d, a = %v, c = %v", u, a, c)
			}
		}
	}
	law := correlatedLaw{10, 4, 0, 10, 1, 3, 2, 0, remember()}
	law.term(3, 3)
	require.Equal(t, math.Exp(logEscape(3, 10, 2./3, exactNats))*(1+0x1p-52), law.escapes[3])
	require.NotEqual(t, logEscape(3, 10, 2./3, roughNats), logEscape(3, 10, 2./3, exactNats))
}

// The lemma in the proof of logEscape: |Φ(x + iy)| ≤ 1 for |y| ≤ ½ and |y| ≤ 1/x.
func TestNormalInTheComplexPlane(t *testing.T) {
	for x := -3.0; x < 9; x += 0.05 {
		most := 0.5
		if x > 0 {
			most = min(most, 1/x)
		}
		for _, share := range []float64{0.25, 0.5, 0.75, 1} {
			y := most * share
			re := panels(func(v float64) float64 { return math.Exp(v*v/2) * math.Sin(x*v) }, 0, y, 1)
			im := panels(func(v float64) float64 { return math.Exp(v*v/2) * math.Cos(x*v) }, 0, y, 1)
			// |Φ|² − 1 with Φ = 1 − (Q − φ·re) + i·φ·im, without cancellation.
			rest := complex(tail(x)-density(x)*re, density(x)*im)
			require.Less(t, -2*real(rest)+cmplx.Abs(rest)*cmplx.Abs(rest), 0.0, "Φ(%v + %vi)", x, y)
		}
	}
}

// positivePart integrates f ≥ 0 over the line, panel by panel, and where f is 0 at one end only
// from where it begins.
func positivePart(f func(x float64) float64) (sum float64) {
	const h = 0.75
	for a := -12.0; a < 12; a += h {
		lo, hi := a, a+h
		if fa, fb := f(lo), f(hi); (fa == 0) != (fb == 0) {
			zero, positive := lo, hi
			if fb == 0 {
				zero, positive = hi, lo
			}
			end := positive
			for range 30 {
				if mid := (zero + positive) / 2; f(mid) == 0 {
					zero = mid
				} else {
					positive = mid
				}
			}
			lo, hi = min(positive, end), max(positive, end)
		}
		sum += panels(f, lo, hi, 1)
	}
	return sum
}

// pattern returns the exact divergences where u keys with the value 1 are on the larger side only
// and n ≥ j ≥ 0 are on both, far above the threshold, j of them larger by 1 (results: "Exact δ for
// a pattern"). With s the sum of the noisy n and the contrast of the j,
//
//	H(larger‖smaller) = E_u + ∫ f_P(s)·h(s)·BW(ε + ln(f_Q/f_P) − ln h(s), μ) ds
//	H(smaller‖larger) =       ∫ f_Q(s)·BW(ε + ln(f_P/f_Q) + ln h(s), μ) ds
//
// where h(s) = E[Φ((τ−Z)/σ)^u | s] and μ² = j(1 − j/n)/σ². A number of weight ω beside the keys
// counts as ω keys, in n and, if it moves, in j: s is the sum weighted by the precisions.
func pattern(many, changed float64, u int, a, epsilon, sigma, tau float64) (larger, smaller float64) {
	escape := escapeOf(u, a, tau/sigma)
	if many == 0 {
		return escape, max(0, 1-math.Exp(epsilon)*(1-escape))
	}
	sd := sigma * math.Sqrt(many*(1+many*a))
	mu := math.Sqrt(max(0, changed*(1-changed/many)))
	h := func(s float64) float64 { // s is of the noise alone
		if u == 0 {
			return 1
		}
		mean, spread := s*a/(1+many*a), sigma*math.Sqrt(a/(1+many*a))
		return panels(func(x float64) float64 {
			return density(x) * math.Exp(float64(u)*math.Log1p(-tail((tau-mean-spread*x)/sigma)))
		}, -9, 9, 2)
	}
	f := func(which int) func(x float64) float64 {
		// s = x·sd of P or Q; the other law's density relative to it
		return func(x float64) float64 {
			shift := changed / sd
			if which == 0 { // under P, in units of its noise; ln(f_Q/f_P)
				ratio, silent := -shift*x-shift*shift/2, h(x*sd)
				return density(x) * silent * shiftDelta(epsilon+ratio-math.Log(silent), sigma, mu)
			}
			ratio, silent := shift*x-shift*shift/2, h(x*sd-changed)
			return density(x) * shiftDelta(epsilon+ratio+math.Log(silent), sigma, mu)
		}
	}
	return escape + positivePart(f(0)), positivePart(f(1))
}

// The bound is never below the exact δ of a pattern, and at the calibrated optimum next to it.
func TestCorrelatedDeltaBoundsEveryPattern(t *testing.T) {
	dptest.NotShort(t, "many calibrations")
	type setting struct {
		k, l                           int
		weight, a, epsilon, sigma, tau float64
		tight                          bool
	}
	settings := []setting{
		{2, 2, 0, 1, 1, 2, 5, false}, {3, 2, 0, 0.5, 0.5, 3, 8, false}, {4, 4, 0, 0.5, 0.2, 4, 3, false}, {6, 3, 0, 0.4, 2, 1.5, 6, false}, {5, 5, 0, 0.1, 1, 1, 0.5, false}, {3, 3, 0, 2, 0.05, 10, 25, false},
		{2, 2, 1, 1, 1, 2, 5, false}, {3, 2, 2.5, 0.5, 0.5, 3, 8, false}, {1, 1, 0.3, 0.8, 2, 1.5, 6, false},
	}
	for _, c := range []struct {
		k, l                   int
		weight, epsilon, delta float64
	}{{1, 1, 0, 1, 1e-6}, {2, 2, 0, 1, 1e-6}, {4, 4, 0, 1, 1e-6}, {6, 6, 0, 0.5, 1e-4}, {6, 2, 0, 2, 1e-5}, {1, 1, 1, 1, 1e-6}, {4, 4, 1, 1, 1e-6}, {6, 6, 1.2, 0.5, 1e-4}} {
		a, sigma, tau, ok := calibrateCorrelated(c.k, c.l, c.weight, c.epsilon, c.delta)
		require.True(t, ok)
		settings = append(settings, setting{c.k, c.l, c.weight, a, c.epsilon, sigma, tau, true})
	}
	for i, s := range settings {
		if i%3 > 0 && !dptest.Long() {
			continue
		}
		worst := 0.0
		for u := range s.l + 1 {
			for j := range s.l + 1 - u {
				// with one key less both divergences were never larger: -long
				kept := []int{s.k - u}
				if dptest.Long() {
					kept = append(kept, max(j, s.k-u-1))
				}
				for _, n := range kept {
					for _, moved := range []float64{0, s.weight} {
						larger, smaller := pattern(float64(n)+s.weight, float64(j)+moved, u, s.a, s.epsilon, s.sigma, s.tau)
						worst = max(worst, larger, smaller)
						if s.weight == 0 {
							break
						}
					}
				}
			}
		}
		bound := correlatedDelta(s.k, s.l, s.weight, s.a, s.epsilon, s.sigma, s.tau, 0)
		require.GreaterOrEqual(t, bound, worst*(1-1e-6), "%+v", s)
		if s.tight {
			require.InEpsilon(t, worst, bound, 2*correlatedSlack, "%+v", s)
		}
	}
}

// correlated is the joint law of two keys, each silent or in one of n bins, with shared noise.
func correlated(values [2]float64, a, sigma, threshold, span float64, n int) []float64 {
	law := make([]float64, (n+1)*(n+1))
	const nodes, wide = 33, 8.0
	total := 0.0
	for i := range nodes { // the trapezoidal rule; normalised, it is itself a law with a discrete Z
		x := -wide + 2*wide*float64(i)/(nodes-1)
		z := math.Sqrt(a) * sigma * x
		one := binned(values[0]+z, values[0] > 0, sigma, threshold, span, n)
		two := binned(values[1]+z, values[1] > 0, sigma, threshold, span, n)
		for j, p := range product(one, two) {
			law[j] += density(x) * p
		}
		total += density(x)
	}
	for j := range law {
		law[j] /= total
	}
	return law
}

// Two keys with finite counts, over the two-dimensional output: never above the bound, and next to
// it for the worst.
func TestCorrelatedDeltaForFiniteCounts(t *testing.T) {
	for _, s := range []struct{ a, epsilon, sigma, tau float64 }{{1, 1, 2, 5}, {0.5, 0.5, 3, 6}, {1, 2, 1, 3}} {
		bound, worst := correlatedDelta(2, 2, 0, s.a, s.epsilon, s.sigma, s.tau, 0), 0.0
		threshold := 1 + s.tau
		law := func(c1, c2 float64) []float64 {
			return correlated([2]float64{c1, c2}, s.a, s.sigma, threshold, 22*s.sigma, 45)
		}
		counts := []float64{0, threshold - 1, threshold + 10*s.sigma}
		if dptest.Long() {
			counts = append(counts, 0.5)
		}
		for _, c1 := range counts {
			for _, c2 := range counts {
				for _, d := range [][2]float64{{1, 1}, {1, 0}, {0.5, 1}} {
					more, less := law(c1+d[0], c2+d[1]), law(c1, c2)
					h := max(hockeyStick(more, less, s.epsilon), hockeyStick(less, more, s.epsilon))
					require.LessOrEqual(t, h, bound*(1+1e-9), "%+v: %v %v + %v", s, c1, c2, d)
					worst = max(worst, h)
				}
			}
		}
		require.Greater(t, worst, 0.85*bound, "%+v", s)
	}
}

// m_u is the largest shift of any subset, and every change in [0, 1]^j is within it.
func TestCorrelatedSensitivity(t *testing.T) {
	for _, a := range []float64{0, 0.01, 0.3, 1, 7} {
		for k := 1; k <= 30; k++ {
			for l := 1; l <= k; l++ {
				before := math.Inf(1)
				for u := range l + 1 {
					n, want := float64(k-u), 0.0
					for j := range l - u + 1 {
						i := float64(j)
						want = max(want, i-i*i*a/(1+n*a))
					}
					got := correlatedSensitivity(k, l, u, 0, a)
					require.InDelta(t, math.Sqrt(max(0, want)), got, 1e-12*(1+got), "a = %v k = %d l = %d u = %d", a, k, l, u)
					require.LessOrEqual(t, got, before, "m_u must fall")
					before = got
					for _, weight := range []float64{0.2, 1, 3.7} {
						want := 0.0
						for j := range l - u + 1 {
							for moved := range 2 { // y − y²/(1/a + n + ω)
								y := float64(j) + float64(moved)*weight
								want = max(want, y-y*y*a/(1+(n+weight)*a))
							}
						}
						got := correlatedSensitivity(k, l, u, weight, a)
						require.InDelta(t, math.Sqrt(max(0, want)), got, 1e-12*(1+got), "a = %v k = %d l = %d u = %d ω = %v", a, k, l, u, weight)
					}
				}
			}
		}
	}
}

// Branch and bound, and a → 0 is independent noise: T as from calibrateGaussian to what the bound E
// + BW loses.
func TestCorrelatedDeltaWithoutSharedNoise(t *testing.T) {
	for _, s := range gaussianSettings[:7] {
		for l := 1; l <= 6; l++ {
			law := correlatedLaw{10, l, 0, 0, s.epsilon, s.sigma, s.tau, 0, remember()}
			worst := 0.0
			for u := range l + 1 {
				worst = max(worst, law.term(u, u))
			}
			bound := correlatedDelta(10, l, 0, 0, s.epsilon, s.sigma, s.tau, 0)
			require.InEpsilon(t, worst, bound, correlatedSlack)
			require.GreaterOrEqual(t, bound, gaussianDelta(l, 0, true, s.epsilon, s.sigma, s.tau)*(1-1e-9))
			require.InEpsilon(t, bound, correlatedDelta(10, l, 0, 1e-12, s.epsilon, s.sigma, s.tau, 0), 1e-4)
		}
	}
}

// The best z of the u before is a start and no more: S is the least over z to a quarter of the
// slack, whatever came before.
func TestSmallerFromNearby(t *testing.T) {
	for _, c := range []struct {
		k                                  int
		weight, a, epsilon, sigma, overTau float64
	}{
		{64, 4, 0.12, 1, 18, 5.5}, {1024, 16, 0.03, 0.1, 190, 3.2}, {5000, 0, 0.01, 1e-4, 4000, 4}, {96_813, 155, 0.002, 1.5e-6, 3e5, 4.6},
	} {
		law := correlatedLaw{c.k, c.k, c.weight, c.a, c.epsilon, c.sigma, c.overTau * c.sigma, 0, remember()}
		for i := range 60 {
			u := 1 + (i*i*c.k/3600+i*7919)%c.k
			m := correlatedSensitivity(c.k, c.k, u, c.weight, c.a)
			got := law.smaller(u, m, 0)
			afresh := law
			afresh.memory = remember()
			want := afresh.smaller(u, m, 0)
			require.InEpsilon(t, want, got, correlatedSlack/4, "%+v u = %d", c, u)
		}
	}
}

// The tables of thresholds for correlated noise: T to 0.1 % or the digits given.
func TestCorrelatedTable(t *testing.T) {
	for i, row := range []struct {
		k, l           int
		epsilon, delta float64
		want, by       float64
	}{
		{1, 1, 1, 1e-6, 21.1, 0.1}, {2, 2, 1, 1e-6, 24.9, 0.1}, {4, 4, 1, 1e-6, 32.9, 0.1}, {8, 8, 1, 1e-6, 42.6, 0.1}, {16, 16, 1, 1e-6, 56.8, 0.1},
		{64, 64, 1, 1e-6, 106.2, 0.1}, {256, 256, 1, 1e-6, 208.3, 0.1}, {1024, 1024, 1, 1e-6, 419.4, 0.1},
		{16, 16, 1, 1e-9, 89.4, 0.1}, {64, 64, 1, 1e-9, 165.2, 0.1}, {256, 256, 1, 1e-9, 320.6, 0.1}, {1024, 1024, 1, 1e-9, 639.2, 0.1},
		{64, 64, 0.1, 1e-5, 709, 1}, {64, 64, 4, 1e-6, 30.7, 0.1},
		{64, 4, 1, 1e-6, 43.1, 0.1}, {64, 16, 1, 1e-6, 83.4, 0.1}, {64, 32, 1, 1e-6, 103, 1}, {1024, 16, 1, 1e-6, 89.9, 0.1}, {1024, 64, 1, 1e-6, 183.5, 0.1}, {1024, 256, 1, 1e-6, 345, 1}, {1024, 512, 1, 1e-6, 411, 1},
	} {
		if i%4 > 0 && testing.Short() {
			continue
		}
		a, sigma, tau, ok := calibrateCorrelated(row.k, row.l, 0, row.epsilon, row.delta)
		require.True(t, ok)
		require.InDelta(t, row.want, 1+tau, max(row.by/2, 1e-3*row.want), "%+v", row)
		independent, independentTau, ok := calibrateGaussian(row.l, 0, true, row.epsilon, row.delta)
		require.True(t, ok)
		require.LessOrEqual(t, tau, independentTau*(1+correlatedSlack), "%+v", row)
		require.LessOrEqual(t, sigma*math.Sqrt(1+a), independent*(1+correlatedSlack), "%+v", row)
	}
}

// The calibration is valid, tight in σ and τ, and monotone in δ, down to 1e-30.
func TestCalibrateCorrelated(t *testing.T) {
	dptest.NotShort(t, "many calibrations")
	for _, c := range []struct {
		k, l    int
		epsilon float64
	}{{1, 1, 1}, {2, 2, 1}, {8, 3, 0.1}, {64, 64, 1}, {100_000, 2000, 1}} {
		before := 0.0
		for i, exponent := range []float64{-1, -2, -3, -4, -6, -10, -20, -30} {
			if i%3 > 0 && i < 7 && !dptest.Long() {
				continue
			}
			delta := math.Pow(10, exponent)
			a, sigma, tau, ok := calibrateCorrelated(c.k, c.l, 0, c.epsilon, delta)
			name := fmt.Sprintf("%+v, δ = %v: a = %v, σ = %v, τ = %v", c, delta, a, sigma, tau)
			require.True(t, ok, name)
			require.LessOrEqual(t, correlatedDelta(c.k, c.l, 0, a, c.epsilon, sigma, tau, 0), delta, name)
			exceeded := delta
			if delta > 1e-3 {
				// Most of δ is what keys on both sides cost: the search's slack moves τ far.
				exceeded = delta / (1 + correlatedSlack) / (1 + correlatedSlack)
			}
			require.Greater(t, correlatedDelta(c.k, c.l, 0, a, c.epsilon, sigma, tau*0.999, 0), exceeded, name)
			if delta < 1e-4 {
				require.Greater(t, correlatedDelta(c.k, c.l, 0, a, c.epsilon, sigma*0.999, tau, 0), delta, name)
			}
			require.Greater(t, tau, before, name)
			before = tau
		}
	}
	for _, c := range []struct{ k, l int }{{3, 4}, {0, 0}, {-1, -1}} {
		_, _, _, ok := calibrateCorrelated(c.k, c.l, 0, 1, 1e-6)
		require.False(t, ok)
	}
}

// No other a has a threshold lower by 0.1 %.
func TestSharedNoiseIsOptimal(t *testing.T) {
	step := 1.2
	if dptest.Long() {
		step = 1.05
	}
	for _, c := range []struct {
		k, l           int
		epsilon, delta float64
	}{{2, 2, 1, 1e-6}, {16, 16, 1, 1e-6}, {64, 32, 1, 1e-6}, {64, 16, 0.5, 1e-9}, {1024, 512, 1, 1e-6}} {
		_, _, tau, ok := calibrateCorrelated(c.k, c.l, 0, c.epsilon, c.delta)
		require.True(t, ok)
		for a := 1e-3; a < 4; a *= step {
			m := correlatedSensitivity(c.k, c.l, 0, 0, a)
			sigma := dptest.OK(noise.GaussianSigma(c.epsilon, c.delta, m))(t)
			lower := (1+tau)*0.999 - 1 // at a larger σ the escape alone is worse
			require.Greater(t, math.Exp(logEscape(c.l, a, lower/sigma, exactNats)), c.delta, "%+v: a = %v", c, a)
		}
	}
}

// No threshold is below the bound that spares Auto the calibration, so what is left out would not
// have been chosen.
func TestLeastCorrelated(t *testing.T) {
	for _, c := range []struct {
		k, l                   int
		weight, epsilon, delta float64
	}{{1, 1, 0, 1, 1e-6}, {1, 1, 1, 1, 1e-6}, {8, 3, 0, 0.1, 1e-3}, {64, 64, 4, 1, 1e-6}, {1024, 16, 0, 1, 1e-9}} {
		_, _, tau, ok := calibrateCorrelated(c.k, c.l, c.weight, c.epsilon, c.delta)
		require.True(t, ok)
		least := leastCorrelated(c.k, c.l, c.weight, c.epsilon, c.delta)
		require.LessOrEqual(t, least, 1+tau, "%+v", c)
		require.Greater(t, least, 0.6*(1+tau), "%+v", c)
	}
	l := dptest.OK(Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1, Stored: 1, Integers: true}.Law())(t)
	require.Equal(t, ExponentialRounding, l.Params().Method)
}
