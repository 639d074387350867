package noise

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsketch/dpsketch/internal/round"
)

// The standard normal law, in the far tail and in logarithms. φ is its density, Q(t) = Pr[Z > t],
// and R(t) = Q(t)/φ(t) its Mills ratio, which neither underflows for t > 0 nor cancels.

const (
	sqrt2Pi     = 2.50662827463100050241576528481104525 // √(2π)
	logSqrt2Pi  = 0.91893853320467274178032973640561764 // ln √(2π)
	sqrtHalfPi  = 1.25331413731550025120788264240552263 // √(π/2) = R(0)
	millsSwitch = 3                                     // erfc below, R from here on
)

// normalTail returns Q(z + r) for |r| ≤ 2⁻⁵²·|z|.
func normalTail(z, r float64) float64 {
	switch {
	case z < 0:
		return 1 - normalTail(-z, -r)
	case z < millsSwitch:
		return math.Erfc(z*(1/math.Sqrt2)) / 2
	}
	return gaussKernel(z, r) * mills(z) / sqrt2Pi
}

// logNormalTail returns ln Q(z + r) for |r| ≤ 2⁻⁵²·|z|.
func logNormalTail(z, r float64) float64 {
	switch {
	case z < 0:
		return math.Log1p(-normalTail(-z, -r))
	case math.IsInf(z, 1):
		return math.Inf(-1)
	}
	return logGaussKernel(z, r) + (math.Log(mills(z)) - logSqrt2Pi)
}

// normalQuantile returns the z with Pr[Z ≤ z] = p, for p in [0, 1].
func normalQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case p > 0.5:
		return upperQuantile(1 - p) // 1 − p is exact
	}
	return -upperQuantile(p)
}

// upperQuantile returns the t ≥ 0 with Q(t) = p, for p in (0, ½].
func upperQuantile(p float64) float64 {
	if p > 0.25 { // solve erf(t/√2)/2 = ½ − p, where the right side is exact
		target := 0.5 - p
		t := -mathext.NormalQuantile(p)
		for range 2 {
			t -= (math.Erf(t*(1/math.Sqrt2))/2 - target) * sqrt2Pi / gaussKernel(t, 0)
		}
		return t
	}
	// Newton's iteration on ln Q(t) = ln p, with (ln Q)′ = −1/R. The asymptotic start is too far
	// above by ln(t)/t, which three steps remove, and serves for denormal p.
	target := round.Log(p)
	t := math.Sqrt(-2 * target)
	if p > 1e-300 {
		t = -mathext.NormalQuantile(p)
	}
	for range 3 {
		t += (logNormalTail(t, 0) - target) * mills(t)
	}
	return t
}
