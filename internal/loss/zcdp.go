package loss

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// From zero-concentrated to approximate differential privacy (Canonne, Kamath, Steinke, arXiv
// 2004.00010, Proposition 12 and Corollary 13). A ρ-zCDP release has Rényi divergence αρ of order α
// for every α > 1, hence for every α is (ε, δ)-differentially private when, with a = α − 1,
//
//	ln δ ≥ a·((1+a)·ρ − ε) + (1+a)·ln(a/(1+a)) − ln a
//	     = a·((1+a)·ρ − ε − ln(1 + 1/a)) − ln(1+a),
//
// equivalently ε ≥ (1+a)·ρ − ln(1 + 1/a) + (ln(1/δ) − ln(1+a))/a. Every a is sound; the best one
// only has to be found nearly. Both functions add ulps·Σ|terms| to the value at the a they chose:
// with fewer than 16 roundings of 2⁻⁵³ relative to Σ|terms| each, the result never falls below the
// bound.
const ulps = 0x1p-49

// ConcentratedLogDelta returns an upper bound, at most 0, on the ln δ at which ρ-zCDP implies (ε,
// δ)-differential privacy, for ρ, ε ≥ 0. It is −Inf where ρ is 0 or ε infinite, and 0 where ρ >
// 2⁵⁰⁰. It treats every ε above 2⁵⁰⁰ as 2⁵⁰⁰, so that nothing overflows.
func ConcentratedLogDelta(rho, epsilon float64) float64 {
	switch {
	case !(rho <= 0x1p500):
		return 0
	case rho == 0 || math.IsInf(epsilon, 1):
		return math.Inf(-1)
	}
	epsilon = min(epsilon, 0x1p500)
	return concentratedBy(concentratedOrder(rho, epsilon), rho, epsilon)
}

// concentratedOrder returns the a that is best, nearly, for ConcentratedLogDelta: its bound is
// convex in a, with derivative 2aρ + ρ − ε − ln(1 + 1/a), which increases from −∞ to +∞.
func concentratedOrder(rho, epsilon float64) float64 {
	return increasingRoot(func(a float64) float64 { return 2*a*rho + rho - epsilon - math.Log1p(1/a) })
}

// concentratedBy returns the bound at a.
func concentratedBy(a, rho, epsilon float64) float64 {
	x, y, z := (1+a)*rho, math.Log1p(1/a), math.Log1p(a)
	bound := a*(x-epsilon-y) - z + ulps*(a*(x+epsilon+y)+z)
	return min(bound, 0)
}

// ConcentratedEpsilon returns an upper bound, at least 0, on the ε at which ρ-zCDP implies (ε,
// e^{−l})-differential privacy, for ρ ≥ 0 and l > 0. It is 0 where ρ is 0.
func ConcentratedEpsilon(rho, l float64) float64 {
	if rho == 0 {
		return 0
	}
	// The derivative of the bound in a is (a²ρ + ln(1+a) − l)/a², negative before and positive
	// after its only root.
	a := increasingRoot(func(a float64) float64 { return a*(a*rho) + math.Log1p(a) - l })
	x, y, z := (1+a)*rho, math.Log1p(1/a), math.Log1p(a)
	bound := x - y + (l-z)/a + ulps*(x+y+(l+z)/a)
	if math.IsNaN(bound) { // from overflow
		return math.Inf(1)
	}
	return max(bound, 0)
}

// increasingRoot returns the a in [2⁻⁵⁰⁰, 2⁴⁰⁰] where the increasing function f changes sign, to a
// relative 2⁻³⁰ at least, or the nearest end. A deviation of that size from a minimum moves the
// minimum by a relative 2⁻⁶⁰.
func increasingRoot(f func(float64) float64) float64 {
	lo, hi := -500.0, 400.0 // of log₂ a
	for range 42 {
		mid := (lo + hi) / 2
		if f(math.Exp2(mid)) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp2((lo + hi) / 2)
}

// ConcentratedProfile returns the conversion of ρ-zCDP at any real ε. It is for calls at increasing
// ε mostly, as it starts its search where the last one ended; any order of the Rényi divergence
// gives a bound.
func ConcentratedProfile(rho float64) func(float64) float64 {
	if !(rho > 0x1p-400 && rho < 0x1p400) {
		return func(epsilon float64) float64 {
			return bothWays(epsilon, func(epsilon float64) float64 { return ExpUp(ConcentratedLogDelta(rho, epsilon)) })
		}
	}
	order := math.NaN()
	return func(epsilon float64) float64 {
		return bothWays(epsilon, func(epsilon float64) float64 {
			epsilon = min(epsilon, 0x1p500)
			a := order
			for range 40 {
				// Newton for the order that ConcentratedLogDelta finds by bisection; the function
				// is concave
				before := a
				a = max(a-(2*a*rho+rho-epsilon-math.Log1p(1/a))/(2*rho+1/(a*(1+a))), a/16)
				if math.Abs(a-before) <= 1e-6*a || a != a {
					break
				}
			}
			if !(a > 0x1p-500 && a < 0x1p400) {
				a = concentratedOrder(rho, epsilon)
			}
			order = a
			return ExpUp(concentratedBy(a, rho, epsilon))
		})
	}
}

// bothWays extends a profile of releases whose neighbours occur in both orders to negative ε: 1 −
// e^ε + e^ε·δ(−ε).
func bothWays(epsilon float64, profile func(float64) float64) float64 {
	if epsilon >= 0 {
		return profile(epsilon)
	}
	return min(1, (-math.Expm1(epsilon)+math.Exp(epsilon)*profile(-epsilon))*exact.Up)
}

// ExpUp returns e^x rounded up, for x ≤ 0: at least the least float64 > 0, except that e^{−∞} is 0.
func ExpUp(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return min(1, math.Nextafter(math.Exp(x)*exact.Up, 2))
}
