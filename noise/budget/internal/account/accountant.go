package account

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// losses are certified distributions of the losses of releases: removed for an input with a unit
// more against one without, added the other way round. They differ only with samples.
type losses struct{ removed, added *loss.Measure }

// known reports whether there are any.
func (l losses) known() bool { return l.removed != nil }

// with returns the losses with those of one more symmetric distribution.
func (l losses) with(m *loss.Measure) losses {
	if !l.known() {
		return losses{m, m}
	}
	both := losses{removed: loss.Compose(l.removed, m, loss.Points)}
	if both.added = both.removed; l.added != l.removed {
		both.added = loss.Compose(l.added, m, loss.Points)
	}
	return both
}

// samplePoints is on how many points the losses of one release on a sample are kept.
const samplePoints = 1 << 14

// losses returns those of all releases, of samples on so many points: with fewer they are larger,
// and take less time. There are none where the accountant has none: no kinds, parameters out of its
// range, or so many releases that it would take seconds.
func (k Kinds) losses(points int) losses {
	var removed, added []*loss.Measure
	// squarings of 1,024 points, a millisecond each: no bytes may ask for minutes
	work, sampled := 0, false
	for _, x := range k {
		l, squarings := x.losses(points)
		if work += squarings; !l.known() || work > 1000 {
			return losses{}
		}
		sampled = sampled || x.Fraction < 1
		one := l.removed.Power(x.Count, loss.Points)
		removed = append(removed, one)
		if l.added != l.removed {
			one = l.added.Power(x.Count, loss.Points)
		}
		added = append(added, one)
	}
	whole := loss.All(removed, loss.Points)
	if !sampled {
		return losses{whole, whole}
	}
	return losses{whole, loss.All(added, loss.Points)}
}

// accountant answers by the exact composition of the losses, see package loss: those in Kinds on a
// lattice, those by ρ and μ by the profile of their sum. Its answers are never below the truth.
type accountant struct {
	Sums // of the pair: ρ, μ² and δ of what is not in losses, with the μ² of keys
	losses
	keys loss.Keys
	like float64 // μ² of Gaussian noise that is much like all of it
}

// Composes reports whether the accountant can be better than the sums: releases of known kinds, and
// not a single one alone of which no more is known than ε, for which the sums are exact.
func (r Releases) Composes() bool {
	p := r.Pair
	if p.unknown() {
		return false
	}
	alone := p.Kinds.Single() && p.Rho == 0 && p.MuSquares == 0 && p.Escape == r.Asked.Delta && p.Kinds[0].Size == r.Asked.Epsilon
	return p.HasKeys() || len(p.Kinds) > 0 && !alone || p.Rho > 0 && p.MuSquares > 0
}

// accountant returns that of r, with the losses of its Kinds, and false if there are none. Of two
// profiles, by ρ and by μ, only one can be the last: Gaussian noise is put on the lattice; and
// where keys ask for a profile at many ε.
func (r Releases) accountant(l losses) (accountant, bool) {
	p := r.Pair
	if len(p.Kinds) > 0 && !l.known() {
		return accountant{}, false
	}
	a := accountant{Sums{Delta: p.Escape, Rho: p.Rho, MuSquares: exact.SumUp(p.MuSquares, p.Keys.MuSquares())}, l, p.Keys, 0}
	a.like = exact.SumUp(a.MuSquares, 2*(p.ResponseRho+p.Rho))
	if mu := exact.SqrtUp(a.MuSquares); (a.Rho > 0 || p.HasKeys() && l.known()) && mu >= loss.Least && mu <= loss.MostMu {
		a.losses, a.MuSquares = l.with(loss.Gaussian(mu, loss.Points)), 0
	}
	return a, a.known() || p.HasKeys()
}

// at returns an upper bound on δ(ε), for any real ε.
func (a accountant) at(epsilon float64) float64 {
	whole := func(epsilon float64) float64 { return a.mixed(a.profile(epsilon)) }
	switch {
	case a.keys == loss.Keys{}:
		return whole(epsilon)
	case !a.known() && a.Rho == 0:
		return a.keys.Delta(epsilon, whole)
	}
	// The κ that is best with Gaussian noise of the same ρ is nearly the best.
	kappa := a.keys.Best(epsilon, func(epsilon float64) float64 { return a.mixed(GaussianDelta(a.like, epsilon)) })
	return a.keys.DeltaBy(kappa, epsilon, whole)
}

// profile returns an upper bound on δ(ε) of all but the escapes, for any real ε.
func (a accountant) profile(epsilon float64) float64 {
	last := a.last()
	of := func(m *loss.Measure) float64 {
		if a.Concentrated() == 0 {
			return m.Delta(epsilon)
		}
		return m.DeltaWith(epsilon, last)
	}
	switch {
	case !a.known():
		return last(epsilon)
	case a.added == a.removed:
		return of(a.removed)
	}
	return max(of(a.removed), of(a.added))
}

// last returns an upper bound on the profile of the releases by ρ and μ.
func (a accountant) last() func(float64) float64 {
	switch {
	case a.Concentrated() == 0:
		return func(epsilon float64) float64 {
			if epsilon >= 0 {
				return 0
			}
			return min(1, -math.Expm1(epsilon)*exact.Up)
		}
	case a.Rho == 0:
		return func(epsilon float64) float64 { return GaussianDelta(a.MuSquares, epsilon) }
	}
	return loss.ConcentratedProfile(a.Concentrated())
}

// epsilonAt returns the least of most, a bound already known, and what the accountant finds: an ε
// of which within holds, the least up to a relative 10⁻¹³.
func (a accountant) epsilonAt(delta, most float64) float64 {
	profile, delta := a.target(delta)
	if !(delta > 0) || !(most > 0) {
		return most
	}
	if profile(0) <= delta {
		return 0
	}
	excess := func(epsilon float64) float64 {
		at := profile(epsilon)
		if by := exact.Log(at) - exact.Log(delta); at > delta {
			return max(by, math.SmallestNonzeroFloat64)
		} else {
			return min(by, 0)
		}
	}
	if end := min(most, 0x1p40); excess(end) <= 0 {
		return exact.LeastRoot(0, end, excess)
	}
	return most
}

// within reports whether the whole is (ε, δ)-DP.
func (a accountant) within(epsilon, delta float64) bool {
	profile, delta := a.target(delta)
	return delta > 0 && profile(epsilon) <= delta
}

// target returns a function that bounds δ(ε) and what it has to come down to for δ; or the same for
// all but the escapes, with keys. What is not above 0 is out of reach.
func (a accountant) target(delta float64) (func(epsilon float64) float64, float64) {
	if delta < a.Delta && delta >= a.Delta*exact.Down {
		delta = a.Delta
	}
	if a.keys == (loss.Keys{}) {
		return a.profile, a.Fraction(delta)
	}
	return a.at, delta
}
