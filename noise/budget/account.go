package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// account answers for the releases behind a Guarantee by the exact composition of their losses, see
// package loss: those of known law on a lattice, those by ρ and μ by the profile of their sum. Its
// answers are certified: never below the truth.
type account struct {
	sums // of the pair: ρ, μ² and δ of what is not in laws, with the μ² of keys
	laws
	keys loss.Keys
	like float64 // μ² of Gaussian noise that is much like all of it
}

// exactable reports whether the accountant can be better than the sums: releases of known law, and
// not a single one alone of which no more is known than ε, for which the sums are exact.
func (g Guarantee) exactable() bool {
	p := g.pair
	if p.unknown() {
		return false
	}
	alone := p.kinds.single() && p.rho == 0 && p.muSquares == 0 && p.escape == g.delta && p.kinds.at(0).size == g.epsilon
	return p.hasKeys() || p.kinds != "" && !alone || p.rho > 0 && p.muSquares > 0
}

// account returns the account of g, with the laws of g.pair.kinds, and false if there are none. Of
// two profiles, by ρ and by μ, only one can be the last: Gaussian noise is put on the lattice; and
// where keys ask for a profile at many ε.
func (g Guarantee) account(l laws) (account, bool) {
	p := g.pair
	if p.kinds != "" && !l.known() {
		return account{}, false
	}
	a := account{sums{delta: p.escape, rho: p.rho, muSquares: exact.SumUp(p.muSquares, p.keys.MuSquares())}, l, p.keys, 0}
	a.like = exact.SumUp(a.muSquares, 2*(p.responses+p.rho))
	if mu := exact.SqrtUp(a.muSquares); (a.rho > 0 || p.hasKeys() && l.known()) && mu >= loss.Least && mu <= loss.MostMu {
		a.laws, a.muSquares = l.with(loss.Gaussian(mu, loss.Points)), 0
	}
	return a, a.known() || p.hasKeys()
}

// at returns an upper bound on δ(ε), for any real ε.
func (a account) at(epsilon float64) float64 {
	whole := func(epsilon float64) float64 { return a.mixed(a.profile(epsilon)) }
	switch {
	case a.keys == loss.Keys{}:
		return whole(epsilon)
	case !a.known() && a.rho == 0:
		return a.keys.Delta(epsilon, whole)
	}
	// The κ that is best beside Gaussian noise of the same ρ is nearly the best.
	kappa := a.keys.Best(epsilon, func(epsilon float64) float64 { return a.mixed(gaussianDelta(a.like, epsilon)) })
	return a.keys.DeltaBy(kappa, epsilon, whole)
}

// profile returns an upper bound on δ(ε) of all but the escapes, for any real ε.
func (a account) profile(epsilon float64) float64 {
	last := a.last()
	of := func(m *loss.Measure) float64 {
		if a.concentrated() == 0 {
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
func (a account) last() func(float64) float64 {
	switch {
	case a.concentrated() == 0:
		return func(epsilon float64) float64 {
			if epsilon >= 0 {
				return 0
			}
			return min(1, -math.Expm1(epsilon)*exact.Up)
		}
	case a.rho == 0:
		return func(epsilon float64) float64 { return gaussianDelta(a.muSquares, epsilon) }
	}
	return loss.ConcentratedProfile(a.concentrated())
}

// epsilonAt returns the least of most, a bound already known, and what the accountant finds: an ε
// of which within holds, the least up to a relative 10⁻¹³.
func (a account) epsilonAt(delta, most float64) float64 {
	profile, delta := a.target(delta)
	if !(delta > 0) || !(most > 0) {
		return most
	}
	if profile(0) <= delta {
		return 0
	}
	excess := func(epsilon float64) float64 {
		at := profile(epsilon)
		if at <= delta {
			return min(exact.Log(at)-exact.Log(delta), 0)
		}
		return max(exact.Log(at)-exact.Log(delta), math.SmallestNonzeroFloat64)
	}
	if end := min(most, 0x1p40); excess(end) <= 0 {
		return exact.LeastRoot(0, end, excess)
	}
	return most
}

// within reports whether the whole is (ε, δ)-DP.
func (a account) within(epsilon, delta float64) bool {
	profile, delta := a.target(delta)
	return delta > 0 && profile(epsilon) <= delta
}

// target returns a function that bounds δ(ε) and what it has to come down to for δ; or the same for
// all but the escapes, where these are beside everything. What is not above 0 is out of reach.
func (a account) target(delta float64) (func(epsilon float64) float64, float64) {
	if delta < a.delta && delta >= a.delta*exact.Down {
		delta = a.delta
	}
	if a.keys == (loss.Keys{}) {
		return a.profile, a.fraction(delta)
	}
	return a.at, delta
}
