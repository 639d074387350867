package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// tail returns Q(x), by the standard library alone.
func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// panels integrates f over [lo, hi] by 20-point Gauss–Legendre on n panels.
func panels(f func(x float64) float64, lo, hi float64, n int) float64 {
	sum, h := 0.0, (hi-lo)/float64(n)
	for i := range n {
		a := lo + float64(i)*h
		sum += quad.Fixed(f, a, a+h, 20, quad.Legendre{}, 0)
	}
	return sum
}

// excess returns ∫(cp·N(μ, 1) − cq·N(0, 1))₊ for μ ≥ 0 by quadrature; the integrand is positive
// from one point on.
func excess(cp, cq, mu float64) float64 {
	if mu == 0 {
		return max(0, cp-cq)
	}
	f := func(x float64) float64 { return cp*density(x-mu) - cq*density(x) }
	lo, hi := -1000.0, 1000.0
	for range 80 { // cp·φ(x−μ) > cq·φ(x) as a comparison of logarithms
		mid := (lo + hi) / 2
		if math.Log(cp)+mu*mid-mu*mu/2 > math.Log(cq) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return panels(f, max(hi, min(0, mu)-40), max(hi, mu)+14, 200)
}

// divergenceOf returns H(P‖Q) where u1 keys are on side P only, u2 on side Q only and j on both,
// far above the threshold, by quadrature.
func divergenceOf(u1, u2, j int, epsilon, sigma, tau float64) float64 {
	f := 1 - tail(tau/sigma)
	silentP, silentQ := math.Pow(f, float64(u1)), math.Pow(f, float64(u2))
	return 1 - silentP + excess(silentP, math.Exp(epsilon)*silentQ, math.Sqrt(float64(j))/sigma)
}

var gaussianSettings = []struct{ epsilon, sigma, tau float64 }{
	{1, 2, 5}, {1, 1, 1}, {0.1, 5, 12}, {0.5, 4, 3}, {2, 1.5, 6}, {4, 0.7, 2}, {0.01, 20, 50}, {1, 3, -1}, {0.1, 1, -2},
}

// δ is the largest divergence of any pattern, in either order, by quadrature; and the smaller side
// first is never the largest.
func TestGaussianDeltaIsTheWorstPattern(t *testing.T) {
	for _, s := range gaussianSettings {
		for l := 1; l <= 4; l++ {
			worst := 0.0
			for u := range l + 1 {
				larger, smaller := divergenceOf(u, 0, l-u, s.epsilon, s.sigma, s.tau), divergenceOf(0, u, l-u, s.epsilon, s.sigma, s.tau)
				require.InEpsilon(t, larger, gaussianTerm(l, 0, true, s.epsilon, s.sigma, logBelow(s.sigma, s.tau), u, u), 1e-9, "%+v l = %d u = %d", s, l, u)
				require.LessOrEqual(t, smaller, larger*(1+1e-9), "%+v l = %d u = %d", s, l, u)
				// A number of weight .7 beside the keys is .7 keys more that change.
				silent := math.Pow(1-tail(s.tau/s.sigma), float64(u))
				beside := 1 - silent + excess(silent, math.Exp(s.epsilon), math.Sqrt(float64(l-u)+0.7)/s.sigma)
				require.InEpsilon(t, beside, gaussianTerm(l, 0.7, true, s.epsilon, s.sigma, logBelow(s.sigma, s.tau), u, u), 1e-9, "%+v l = %d u = %d", s, l, u)
				worst = max(worst, larger, smaller)
			}
			require.InEpsilon(t, worst, gaussianDelta(l, 0, true, s.epsilon, s.sigma, s.tau), 1e-9)
			require.InEpsilon(t, worst, gaussianDelta(l, 0, true, s.epsilon, s.sigma, s.tau), 1e-9)
		}
	}
}

// The third line of Theorem 23, B(u), against the second, A(u), for all kinds of parameters.
func TestSmallerSideFirstNeverDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		epsilon, sigma, s := math.Exp(r.Float64()*12-8), math.Exp(r.Float64()*8-3), math.Exp(r.Float64()*14-10)
		larger := math.Exp(-s)*shiftDelta(epsilon+s, sigma, 1) - math.Expm1(-s)
		require.LessOrEqual(t, shiftDelta(epsilon-s, sigma, 1), larger*(1+1e-11), "ε = %v σ = %v s = %v", epsilon, sigma, s)
	}
}

// With signed values: every pattern, with w keys that change sign, is within the bound, which is
// attained by w = u; and the bound is above that for one sign.
func TestGaussianDeltaForMixedSigns(t *testing.T) {
	for _, s := range gaussianSettings {
		for l := 1; l <= 4; l++ {
			bound, worst := gaussianDelta(l, 0, false, s.epsilon, s.sigma, s.tau), 0.0
			require.GreaterOrEqual(t, bound, gaussianDelta(l, 0, true, s.epsilon, s.sigma, s.tau)*(1-1e-11))
			for u1 := range l + 1 {
				for u2 := range l + 1 - u1 {
					for w := range l + 1 - u1 - u2 {
						for j := range l + 1 - u1 - u2 - w {
							h := divergenceOf(u1+w, u2+w, j, s.epsilon, s.sigma, s.tau)
							require.LessOrEqual(t, h, bound*(1+1e-9), "%+v l = %d: %d %d %d %d", s, l, u1, u2, w, j)
							worst = max(worst, h)
						}
					}
				}
			}
			require.InEpsilon(t, worst, bound, 1e-9)
		}
	}
}

// binned is the law of what is released of one key with a value: silent, then n bins from T to T +
// span. A bin is post-processing, so divergences of binned laws are lower bounds.
func binned(value float64, stored bool, sigma, threshold, span float64, n int) []float64 {
	law := make([]float64, n+1)
	if !stored {
		law[0] = 1
		return law
	}
	law[0] = tail((value - threshold) / sigma)
	for i := range n {
		a, b := threshold+span*float64(i)/float64(n), threshold+span*float64(i+1)/float64(n)
		law[i+1] = tail((a-value)/sigma) - tail((b-value)/sigma)
	}
	law[n] += tail((threshold + span - value) / sigma)
	return law
}

func hockeyStick(p, q []float64, epsilon float64) (h float64) {
	for i := range p {
		h += max(0, p[i]-math.Exp(epsilon)*q[i])
	}
	return h
}

func product(p, q []float64) (law []float64) {
	for _, x := range p {
		for _, y := range q {
			law = append(law, x*y)
		}
	}
	return law
}

// Two keys with any counts, changes below 1 included, over the two-dimensional output: never above
// δ, and next to it for the worst counts.
func TestGaussianDeltaForFiniteCounts(t *testing.T) {
	const bins = 70
	for _, s := range gaussianSettings[:6] {
		delta, mixed := gaussianDelta(2, 0, true, s.epsilon, s.sigma, s.tau), gaussianDelta(2, 0, false, s.epsilon, s.sigma, s.tau)
		threshold, top := 1+s.tau, 1+s.tau+8*s.sigma
		law := func(value float64) []float64 {
			return binned(value, value > 0, s.sigma, threshold, 16*s.sigma, bins)
		}
		counts := []float64{0, 0.3, 1, max(1, threshold-1), top}
		worst := 0.0
		for _, c1 := range counts {
			for _, c2 := range counts {
				for _, d1 := range []float64{0.4, 1} {
					for _, d2 := range []float64{0, 1} {
						more, less := product(law(c1+d1), law(c2+d2)), product(law(c1), law(c2))
						h := max(hockeyStick(more, less, s.epsilon), hockeyStick(less, more, s.epsilon))
						require.LessOrEqual(t, h, delta*(1+1e-9), "%+v: %v+%v, %v+%v", s, c1, d1, c2, d2)
						worst = max(worst, h)
						up, down := product(law(c1+d1), law(c2)), product(law(c1), law(c2+d2))
						require.LessOrEqual(t, hockeyStick(up, down, s.epsilon), mixed*(1+1e-9), "%+v: %v+%v against %v+%v", s, c1, d1, c2, d2)
					}
				}
			}
		}
		require.Greater(t, worst, 0.92*delta, "%+v", s)
	}
}

// The condition on values: a key with the value 2 on one side only breaks the theorem (ε = 1, σ =
// 2, τ = 5: 2.3e-2 against 6.8e-3).
func TestUniqueValueAboveOne(t *testing.T) {
	p, q := binned(2, true, 2, 6, 20, 100), binned(0, false, 2, 6, 20, 100)
	require.InDelta(t, 2.3e-2, hockeyStick(p, q, 1), 5e-4)
	require.InDelta(t, 6.8e-3, gaussianDelta(1, 0, true, 1, 2, 5), 5e-5)
}

// Branch and bound against plain enumeration.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		l := 1 + r.IntN(200)
		epsilon, sigma := math.Exp(r.Float64()*8-6), math.Sqrt(float64(l))*math.Exp(r.Float64()*4-1)
		tau, oneSign := sigma*r.Float64()*6, r.IntN(2) == 0
		lambda, terms, worst := logBelow(sigma, tau), 0, 0.0
		for u := range l + 1 {
			worst = max(worst, gaussianTerm(l, 0, oneSign, epsilon, sigma, lambda, u, u))
		}
		term := func(u1, u2 int) float64 {
			terms++
			return gaussianTerm(l, 0, oneSign, epsilon, sigma, lambda, u1, u2)
		}
		at, bound := largest(l, 0, gaussianSlack, term)
		require.InEpsilon(t, worst, bound, 2*gaussianSlack)
		require.GreaterOrEqual(t, bound, worst)
		require.InEpsilon(t, worst, term(at, at), 2*gaussianSlack)
		require.Less(t, terms, 2*l+4)
	}
}

// The least τ, or one above most where it is. A term that looks larger among others than alone, as
// one that is searched for can, raises τ to where it is not, in a few rounds.
func TestLeastTau(t *testing.T) {
	rounds := 0
	terms := func(jitter float64) func(tau float64) func(u1, u2 int) float64 {
		return func(tau float64) func(u1, u2 int) float64 {
			rounds++
			first := true
			return func(u1, u2 int) float64 {
				worst := min(max(u1, 4), u2) // u = 4 is the largest
				x := 0.1 * math.Exp(-tau-math.Abs(float64(worst-4)))
				if !first { // in largest
					x *= 1 + jitter
				}
				first = false
				return x
			}
		}
	}
	want := math.Log(10)
	require.InEpsilon(t, want, leastTau(8, 0.01, 0x1p-11, 0, 1, math.MaxFloat64, terms(0)), 0x1p-11)
	require.Greater(t, leastTau(8, 0.01, 0x1p-11, 0, 1, 1, terms(0)), 1.)
	for _, jitter := range []float64{0.01, 0.1, 0.9} {
		rounds = 0
		got := leastTau(8, 0.01, 0x1p-11, 0, 1, math.MaxFloat64, terms(jitter))
		enough := want + math.Log1p(jitter)
		require.Greater(t, got, enough*(1-0x1p-10))
		require.Less(t, got, enough+2*(enough-want))
		require.Less(t, rounds, 200)
	}
	// of the Params that no threshold was found for
	c, reason := Params{Epsilon: 0.00795, Delta: 0.97863, MaxKeys: 128, Stored: 40}.calibrateNormal(CorrelatedGaussian)
	require.Empty(t, reason)
	require.Less(t, c.lowest(), 10.)
}

// What is given up early is no value to compare, and where keys are many the terms suffice: τ is as
// low as it is by a search that leaves nothing out.
func TestSearchIsNotCutShort(t *testing.T) {
	_, _, tau, ok := calibrateCorrelated(900, 4, 1, 0.8590314016730901, 0.8057109442975839)
	require.True(t, ok)
	require.InEpsilon(t, 0.82157, tau, 1e-5) // 1.04 if τ are compared that were given up
	_, tau, ok = calibrateGaussian(47_711, 0, false, 0.39784694051991903, 0.7523775047325778)
	require.True(t, ok)
	require.InEpsilon(t, 350.4493977, tau, 1e-6)
}

// The table of TODS Theorem 23 parameters: σ and T = 1 + τ to the digits given.
func TestGaussianTable(t *testing.T) {
	for _, row := range []struct {
		l                         int
		epsilon, delta            float64
		sigma, sigmaBy, want, tBy float64
	}{
		{1, 1, 1e-6, 4.22, 0.01, 21.1, 0.1}, {3, 1, 1e-6, 7.32, 0.01, 37.4, 0.1}, {10, 1, 1e-6, 13.4, 0.1, 70.5, 0.1}, {50, 1, 1e-6, 29.9, 0.1, 165, 1}, {500, 1, 1e-6, 94.5, 0.1, 557, 1},
		{2, 1, 1e-6, 6.0, 0.1, 30.2, 0.1}, {4, 1, 1e-6, 8.5, 0.1, 43.5, 0.1}, {8, 1, 1e-6, 12.0, 0.1, 62.6, 0.1}, {16, 1, 1e-6, 16.9, 0.1, 90.3, 0.1},
		{64, 1, 1e-6, 33.8, 0.1, 188.1, 0.1}, {256, 1, 1e-6, 67.6, 0.1, 391.2, 0.1}, {1024, 1, 1e-6, 135.2, 0.1, 812.4, 0.1},
		{16, 1, 1e-9, 22.0, 0.1, 142.4, 0.1}, {64, 1, 1e-9, 44.0, 0.1, 292.9, 0.1}, {256, 1, 1e-9, 87.9, 0.1, 602.6, 0.1}, {1024, 1, 1e-9, 175.9, 0.1, 1238.6, 0.1},
		{64, 0.1, 1e-5, 246, 1, 1259, 1}, {64, 4, 1e-6, 9.55, 0.01, 53.8, 0.1},
	} {
		sigma, tau, ok := calibrateGaussian(row.l, 0, true, row.epsilon, row.delta)
		require.True(t, ok)
		require.InDelta(t, row.sigma, sigma, row.sigmaBy*0.52, "%+v", row)
		require.InDelta(t, row.want, 1+tau, row.tBy/2+1e-3*row.want, "%+v", row)
	}
}

// The calibration is valid, tight in σ and τ, and monotone in δ, down to 1e-300.
func TestCalibrateGaussian(t *testing.T) {
	for _, l := range []int{1, 3, 300} {
		for _, epsilon := range []float64{0x1p-30, 0.1, 1, 1024} {
			for _, oneSign := range []bool{true, false} {
				before := 0.0
				for i, exponent := range []float64{-1, -2, -3, -6, -10, -15, -20, -25, -30, -100, -300} {
					if i%3 > 0 && (i < 10 || testing.Short()) && !dptest.Long() || i%2 > 0 && testing.Short() {
						continue
					}
					delta := max(1e-300, math.Pow(10, exponent))
					sigma, tau, ok := calibrateGaussian(l, 0, oneSign, epsilon, delta)
					name := fmt.Sprintf("l = %d, ε = %v, δ = %v, %v", l, epsilon, delta, oneSign)
					require.True(t, ok, name)
					require.LessOrEqual(t, gaussianDelta(l, 0, oneSign, epsilon, sigma, tau), delta, name)
					require.Greater(t, gaussianDelta(l, 0, oneSign, epsilon, sigma, tau*0.999), delta, name)
					require.Greater(t, gaussianDelta(l, 0, oneSign, epsilon, sigma*0.999, tau), delta, name)
					require.Greater(t, tau, before, name)
					before = tau
				}
			}
		}
	}
	for delta, sigma := 0.9, 10.0; delta > 1e-300; sigma *= 1.3 { // δ falls with τ at every δ
		for tau := 0.0; tau < 36*sigma; tau += sigma / 4 {
			next := gaussianDelta(7, 0, true, 0.5, sigma, tau)
			require.True(t, next > 0 && next <= 1)
			if tau > 0 {
				require.LessOrEqual(t, next, delta*(1+1e-11))
			}
			delta = next
		}
		if sigma > 1e3 {
			break
		}
	}
}

// No σ has a threshold lower by 1e-6, also where σ₀ is not the best σ.
func TestCalibrateGaussianIsOptimal(t *testing.T) {
	searched := 0
	for _, c := range []struct {
		l              int
		oneSign        bool
		epsilon, delta float64
	}{{1, true, 1, 0.5}, {5, true, 1, 1e-6}, {2, true, 1, 0.7}, {50, false, 0.001, 0.3}, {300, false, 1, 0.9}, {300, true, 1e-6, 0.5}, {40, false, 1e-6, 0.1}, {7, true, 3, 0.99}, {3, false, 0.1, 0.95}} {
		sigma, tau, ok := calibrateGaussian(c.l, 0, c.oneSign, c.epsilon, c.delta)
		require.True(t, ok)
		least := dptest.OK(noise.GaussianSigma(c.epsilon, c.delta, exact.SqrtUp(float64(c.l))))(t)
		if sigma > least*(1+1e-6) {
			searched++
		}
		for logX := -14.0; logX < 2 && tau > 0; logX += 0.1 {
			other := least * (1 + math.Exp(logX))
			require.Greater(t, gaussianDelta(c.l, 0, c.oneSign, c.epsilon, other, (1+tau)*(1-1e-6)-1), c.delta, "%+v: T = %v at σ = %v, not lower at %v", c, 1+tau, sigma, other)
		}
		if tau == 0 {
			require.Greater(t, gaussianDelta(c.l, 0, c.oneSign, c.epsilon, sigma*0.999, 0), c.delta, "%+v", c)
		}
	}
	require.Greater(t, searched, 2, "the cases do not exercise the search")
}

func TestCalibrateGaussianOutOfRange(t *testing.T) {
	for _, c := range []struct {
		l              int
		epsilon, delta float64
	}{{0, 1, 0.1}, {-1, 1, 0.1}, {1, 0, 0.1}, {1, -1, 0.1}, {1, 2000, 0.1}, {1, 1, 0}, {1, 1, 1}, {1, 1, 1e-301}, {1, math.NaN(), 0.1}, {1, 1, math.NaN()}, {1, math.Inf(1), 0.1}} {
		_, _, ok := calibrateGaussian(c.l, 0, true, c.epsilon, c.delta)
		require.False(t, ok, "%+v", c)
		_, _, _, ok = calibrateCorrelated(c.l, c.l, 0, c.epsilon, c.delta)
		require.False(t, ok, "%+v", c)
	}
	for _, delta := range []float64{0.999, 1 - 0x1p-30} {
		for _, l := range []int{1, 2, 1000} {
			sigma, tau, ok := calibrateGaussian(l, 0, true, 1, delta)
			require.True(t, ok && sigma > 0 && tau >= 0, "δ = 1 − %v, l = %d", 1-delta, l)
			require.LessOrEqual(t, gaussianDelta(l, 0, true, 1, sigma, tau), delta)
		}
	}
}
