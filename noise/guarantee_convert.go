package noise

import "math"

// roundUp and roundDown are the factors by which a value of a few roundings is moved to its safe side.
const (
	roundUp   = 1 + 0x1p-50
	roundDown = 1 - 0x1p-50
)

// EpsilonAt returns the least ε for which the bounds of [Guarantee] show (ε, δ)-differential privacy, rounded up: +Inf
// if there is none, or if delta is not a number ≥ 0; 0 if delta ≥ 1. It never increases with delta beyond rounding.
//
// A delta below Σδ by no more than a relative 2⁻⁵⁰ counts as Σδ: whoever adds the δ of the parts in float64 and asks
// at the sum is asking for Σδ, though one of the two sums may be rounded down and the other up.
func (g Guarantee) EpsilonAt(delta float64) float64 {
	if delta < g.delta && delta >= g.delta*roundDown {
		delta = g.delta
	}
	switch {
	case delta >= 1:
		return 0
	case !g.promised || !(delta >= g.delta): // also NaN
		return math.Inf(1)
	case g.rho == 0 && delta == g.delta:
		return g.epsilon
	}
	left := differenceDown(delta, g.delta)
	fraction := left / (1 - g.delta) * roundDown // δ′ with Σδ + (1−Σδ)·δ′ ≤ δ
	if left == 0 {
		return math.Inf(1) // zCDP alone leaves no ε at δ = 0
	}
	b := zcdpEpsilon(sumUp(g.rho, g.halfSquares), negLogUp(fraction))
	if g.rho == 0 {
		return min(b, responseEpsilon(g.epsilon, fraction))
	}
	return min(b, sumUp(g.epsilon, zcdpEpsilon(g.rho, negLogUp(left))))
}

// DeltaAt returns the least δ for which the bounds of [Guarantee] show (ε, δ)-differential privacy, rounded up: 1 if
// there is none, or if epsilon is not a number ≥ 0. It never increases with epsilon beyond rounding.
func (g Guarantee) DeltaAt(epsilon float64) float64 {
	switch {
	case !g.promised || !(epsilon >= 0):
		return 1
	case g.rho == 0 && epsilon >= g.epsilon:
		return g.delta
	}
	b := g.mixed(expUp(zcdpLogDelta(sumUp(g.rho, g.halfSquares), epsilon)))
	if g.rho == 0 {
		return min(b, g.mixed(responseDelta(g.epsilon, epsilon)))
	}
	if epsilon < g.epsilon {
		return b
	}
	a := sumUp(g.delta, expUp(zcdpLogDelta(g.rho, differenceDown(epsilon, g.epsilon))))
	return min(a, b)
}

// mixed returns Σδ + (1−Σδ)·δ′ rounded up, at most 1.
func (g Guarantee) mixed(delta float64) float64 {
	if g.delta == 0 {
		return min(delta, 1)
	}
	return min(sumUp(g.delta, (1-g.delta)*delta*roundUp), 1)
}

// responseDelta returns (e^ε − e^ε′)/(1 + e^ε) rounded up, for 0 ≤ ε′ ≤ ε: the δ of randomized response at ε.
func responseDelta(epsilon, at float64) float64 {
	return min(1, -math.Expm1(at-epsilon)/(1+math.Exp(-epsilon))*roundUp)
}

// responseEpsilon returns the ε′ in [0, ε] with responseDelta(ε, ε′) = δ′, rounded up: ε + ln(1 − δ′·(1 + e^{−ε})).
func responseEpsilon(epsilon, delta float64) float64 {
	drop := delta * (1 + math.Exp(-epsilon)) * roundDown
	if drop >= 1 {
		return 0
	}
	fall := math.Log1p(-drop)
	return max(0, min(epsilon, epsilon+fall+(epsilon-fall)*0x1p-51))
}

// expUp returns e^x rounded up, for x ≤ 0: at least the least float64 > 0, except that e^{−∞} is 0.
func expUp(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return min(1, math.Nextafter(math.Exp(x)*roundUp, 2))
}

// negLogUp returns ln(1/δ) rounded up, for δ in [0, 1).
func negLogUp(delta float64) float64 { return -logOf(delta) * roundUp }
