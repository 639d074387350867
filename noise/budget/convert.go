package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
)

// EpsilonAt returns the least ε for which the bounds of [Guarantee] show (ε, δ)-differential
// privacy, rounded up, or +Inf if there is none or unless delta ≥ 0; 0 if delta ≥ 1. Apart from
// rounding it never increases with delta.
//
// A delta below Σδ by a relative 2⁻⁵⁰ or less counts as Σδ: a caller who adds the parts' δ in
// float64 means Σδ, even if rounding has made the sum smaller.
func (g Guarantee) EpsilonAt(delta float64) float64 {
	if !g.promised {
		if delta >= 1 {
			return 0
		}
		return math.Inf(1)
	}
	most := g.boundAt(delta)
	if most > 0 && g.exactable() {
		if a, ok := g.account(g.pair.kinds.measure()); ok {
			return a.epsilonAt(delta, most)
		}
	}
	return most
}

// boundAt returns the least of the bounds (A) to (D), without the accountant.
func (g Guarantee) boundAt(delta float64) float64 {
	most := g.sums.epsilonAt(delta)
	if pairOf(g.sums).bounds() == g.pair.bounds() {
		return most
	}
	return min(most, g.pair.bounds().epsilonAt(delta))
}

// fraction returns the δ′ with Σδ + (1−Σδ)·δ′ ≤ δ, for δ ≥ Σδ.
func (g sums) fraction(delta float64) float64 {
	return exact.DifferenceDown(delta, min(g.delta, delta)) / (1 - g.delta) * exact.Down
}

// epsilonAt returns the least of the bounds (A) to (D).
func (g sums) epsilonAt(delta float64) float64 {
	if delta < g.delta && delta >= g.delta*exact.Down {
		delta = g.delta
	}
	switch {
	case delta >= 1:
		return 0
	case !(delta >= g.delta): // also NaN
		return math.Inf(1)
	case g.concentrated() == 0 && delta == g.delta:
		return g.epsilon
	}
	left := exact.DifferenceDown(delta, g.delta)
	fraction := g.fraction(delta)
	if left == 0 {
		return math.Inf(1) // zCDP alone leaves no ε at δ = 0
	}
	rho := g.concentrated()
	b := loss.ConcentratedEpsilon(exact.SumUp(rho, g.responses), negLogUp(fraction))
	switch {
	case rho == 0:
		return min(b, responseEpsilon(g.epsilon, fraction))
	case g.gaussian():
		return min(b, gaussianEpsilon(g.muSquares, fraction))
	}
	return min(b, exact.SumUp(g.epsilon, loss.ConcentratedEpsilon(rho, negLogUp(left))))
}

// DeltaAt returns the least δ for which the bounds of [Guarantee] show (ε, δ)-differential privacy,
// rounded up, or 1 if there is none or unless epsilon ≥ 0. Apart from rounding it never increases
// with epsilon.
func (g Guarantee) DeltaAt(epsilon float64) float64 {
	if !g.promised || !(epsilon >= 0) {
		return 1
	}
	most := min(g.sums.deltaAt(epsilon), g.pair.bounds().deltaAt(epsilon))
	if most > g.pair.escape && g.exactable() {
		if a, ok := g.account(g.pair.kinds.measure()); ok {
			return min(most, a.at(epsilon))
		}
	}
	return most
}

// deltaAt returns the least of the bounds (A) to (D), for ε ≥ 0.
func (g sums) deltaAt(epsilon float64) float64 {
	switch {
	case g.concentrated() == 0 && epsilon >= g.epsilon:
		return g.delta
	}
	rho := g.concentrated()
	b := g.mixed(loss.ExpUp(loss.ConcentratedLogDelta(exact.SumUp(rho, g.responses), epsilon)))
	switch {
	case rho == 0:
		return min(b, g.mixed(responseDelta(g.epsilon, epsilon)))
	case g.gaussian():
		return min(b, g.mixed(gaussianDelta(g.muSquares, epsilon)))
	case epsilon < g.epsilon || math.IsInf(g.epsilon, 1):
		return b
	}
	a := exact.SumUp(g.delta, loss.ExpUp(loss.ConcentratedLogDelta(rho, exact.DifferenceDown(epsilon, g.epsilon))))
	return min(a, b)
}

// concentrated returns the ρ of all that is not (ε, δ)-DP: Σρ + ½Σμ², rounded up.
func (g sums) concentrated() float64 {
	return exact.SumUp(g.rho, exact.ProductUp(0.5, g.muSquares))
}

// gaussian reports whether there is nothing but releases by μ, and δ.
func (g sums) gaussian() bool { return g.muSquares > 0 && g.epsilon == 0 && g.rho == 0 }

// gaussianDelta returns the δ of Gaussian noise of σ = 1/μ at sensitivity 1 and ε, rounded up; 1
// where package noise has no answer.
func gaussianDelta(muSquares, epsilon float64) float64 {
	delta, err := noise.GaussianDelta(1, epsilon, exact.SqrtUp(muSquares))
	if err != nil {
		return 1
	}
	return delta
}

// gaussianEpsilon returns an ε with gaussianDelta(μ², ε) ≤ δ, the least up to rounding; +Inf if
// there is none below 2⁵⁰⁰.
func gaussianEpsilon(muSquares, delta float64) float64 {
	const most = 0x1p500
	if epsilon := exact.LeastFloat(0, most, func(epsilon float64) bool { return gaussianDelta(muSquares, epsilon) <= delta }); epsilon < most {
		return epsilon
	}
	return math.Inf(1)
}

// mixed returns Σδ + (1−Σδ)·δ′ rounded up, at most 1.
func (g sums) mixed(delta float64) float64 {
	if g.delta == 0 {
		return min(delta, 1)
	}
	return min(exact.SumUp(g.delta, (1-g.delta)*delta*exact.Up), 1)
}

// responseDelta returns (e^ε − e^ε′)/(1 + e^ε) rounded up, for 0 ≤ ε′ ≤ ε: the δ of randomized
// response at ε.
func responseDelta(epsilon, at float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	return min(1, -math.Expm1(at-epsilon)/(1+math.Exp(-epsilon))*exact.Up)
}

// responseEpsilon returns the ε′ in [0, ε] with responseDelta(ε, ε′) = δ′, rounded up: ε + ln(1 −
// δ′·(1 + e^{−ε})).
func responseEpsilon(epsilon, delta float64) float64 {
	drop := delta * (1 + math.Exp(-epsilon)) * exact.Down
	if drop >= 1 {
		return 0
	}
	fall := math.Log1p(-drop)
	return max(0, min(epsilon, epsilon+fall+(epsilon-fall)*0x1p-51))
}

// negLogUp returns ln(1/δ) rounded up, for δ in [0, 1).
func negLogUp(delta float64) float64 { return -exact.Log(delta) * exact.Up }
