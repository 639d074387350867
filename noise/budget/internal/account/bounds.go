package account

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
)

// EpsilonAt returns the least ε of the bounds (A) to (E), rounded up, +Inf where there is none.
func (r Releases) EpsilonAt(delta float64) float64 {
	return r.epsilonAt(delta, func(k Kinds) losses { return k.losses(samplePoints) })
}

// epsilonAt is EpsilonAt with a function that returns the losses of the Kinds.
func (r Releases) epsilonAt(delta float64, of func(Kinds) losses) float64 {
	most := r.Bound(delta)
	if most > 0 && r.Composes() {
		if a, ok := r.accountant(of(r.Pair.Kinds)); ok {
			return a.epsilonAt(delta, most)
		}
	}
	return most
}

// Bound returns the least ε of the bounds (A) to (D), without the accountant.
func (r Releases) Bound(delta float64) float64 {
	most := r.Asked.epsilonAt(delta)
	if bounds := r.Pair.bounds(); bounds != r.Asked.pair().bounds() {
		return min(most, bounds.epsilonAt(delta))
	}
	return most
}

// bounds returns sums for which the bounds (B) and (D) hold: none with keys.
func (p Pair) bounds() Sums {
	s := Sums{ResponseRho: p.ResponseRho, Delta: p.Escape, Rho: p.Rho, MuSquares: p.MuSquares}
	if p.HasKeys() {
		s.ResponseRho = math.Inf(1)
	}
	if s.ResponseRho > 0 {
		s.Epsilon = math.Inf(1)
	}
	return s
}

// Fraction returns the δ′ with Σδ + (1−Σδ)·δ′ ≤ δ, for δ ≥ Σδ.
func (s Sums) Fraction(delta float64) float64 {
	return exact.DifferenceDown(delta, min(s.Delta, delta)) / (1 - s.Delta) * exact.Down
}

// epsilonAt returns the least of the bounds (A) to (D).
func (s Sums) epsilonAt(delta float64) float64 {
	if delta < s.Delta && delta >= s.Delta*exact.Down {
		delta = s.Delta
	}
	switch {
	case delta >= 1:
		return 0
	case !(delta >= s.Delta): // also NaN
		return math.Inf(1)
	case s.Concentrated() == 0 && delta == s.Delta:
		return s.Epsilon
	}
	left := exact.DifferenceDown(delta, s.Delta)
	fraction := s.Fraction(delta)
	if left == 0 {
		return math.Inf(1) // zCDP alone leaves no ε at δ = 0
	}
	rho := s.Concentrated()
	b := ConcentratedEpsilon(exact.SumUp(rho, s.ResponseRho), fraction)
	switch {
	case rho == 0:
		return min(b, responseEpsilon(s.Epsilon, fraction))
	case s.gaussian():
		return min(b, GaussianEpsilon(s.MuSquares, fraction))
	}
	return min(b, exact.SumUp(s.Epsilon, ConcentratedEpsilon(rho, left)))
}

// DeltaAt returns the least δ of the bounds (A) to (E) for epsilon ≥ 0, rounded up, 1 where there
// is none.
func (r Releases) DeltaAt(epsilon float64) float64 {
	most := min(r.Asked.deltaAt(epsilon), r.Pair.bounds().deltaAt(epsilon))
	if most > r.Pair.Escape && r.Composes() {
		if a, ok := r.accountant(r.Pair.Kinds.losses(samplePoints)); ok {
			return min(most, a.at(epsilon))
		}
	}
	return most
}

// deltaAt returns the least of the bounds (A) to (D), for ε ≥ 0.
func (s Sums) deltaAt(epsilon float64) float64 {
	if s.Concentrated() == 0 && epsilon >= s.Epsilon {
		return s.Delta
	}
	rho := s.Concentrated()
	b := s.mixed(loss.ExpUp(loss.ConcentratedLogDelta(exact.SumUp(rho, s.ResponseRho), epsilon)))
	switch {
	case rho == 0:
		return min(b, s.mixed(responseDelta(s.Epsilon, epsilon)))
	case s.gaussian():
		return min(b, s.mixed(GaussianDelta(s.MuSquares, epsilon)))
	case epsilon < s.Epsilon || math.IsInf(s.Epsilon, 1):
		return b
	}
	a := exact.SumUp(s.Delta, loss.ExpUp(loss.ConcentratedLogDelta(rho, exact.DifferenceDown(epsilon, s.Epsilon))))
	return min(a, b)
}

// Concentrated returns the ρ of all that is not (ε, δ)-DP: Σρ + ½Σμ², rounded up.
func (s Sums) Concentrated() float64 {
	return exact.SumUp(s.Rho, exact.ProductUp(0.5, s.MuSquares))
}

// gaussian reports whether there is nothing but releases by μ, and δ.
func (s Sums) gaussian() bool { return s.MuSquares > 0 && s.Epsilon == 0 && s.Rho == 0 }

// GaussianDelta returns the δ of Gaussian noise of σ = 1/μ at sensitivity 1 and ε, rounded up; 1
// where package noise has no answer.
func GaussianDelta(muSquares, epsilon float64) float64 {
	delta, err := noise.GaussianDelta(1, epsilon, exact.SqrtUp(muSquares))
	if err != nil {
		return 1
	}
	return delta
}

// GaussianEpsilon returns an ε with GaussianDelta(μ², ε) ≤ δ, the least up to rounding; +Inf if
// there is none below 2⁵⁰⁰.
func GaussianEpsilon(muSquares, delta float64) float64 {
	const most = 0x1p500
	if epsilon := exact.LeastFloat(0, most, func(epsilon float64) bool { return GaussianDelta(muSquares, epsilon) <= delta }); epsilon < most {
		return epsilon
	}
	return math.Inf(1)
}

// mixed returns Σδ + (1−Σδ)·δ′ rounded up, at most 1.
func (s Sums) mixed(delta float64) float64 {
	if s.Delta == 0 {
		return min(delta, 1)
	}
	return min(exact.SumUp(s.Delta, (1-s.Delta)*delta*exact.Up), 1)
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

// ConcentratedEpsilon returns the ε at which ρ-zCDP is (ε, δ)-DP, rounded up.
func ConcentratedEpsilon(rho, delta float64) float64 {
	return loss.ConcentratedEpsilon(rho, -exact.Log(delta)*exact.Up)
}
