package loss

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

const (
	kappas   = 16          // κ for which Keys has a bound
	keySums  = 3 + kappas  // numbers of Keys
	mostTerm = 8           // small keys shown together whose loss is looked at
	mostSum  = 0x1p100     // far from what promises anything
	off      = 1 + 0x1p-44 // a few exponentials, products and a sum of ten terms
)

// Keys bounds releases of keys that nobody listed together, one after the other: Σμ², Σλ, ΣΛ and,
// for 16 values of κ, ΣG(κ). No rule reads Σμ² alone. loss_proof.md (Keys) says what these are for
// one release, and proves [Keys.Delta]. The zero Keys is no release.
type Keys [keySums]float64

// LogKappa returns ln κ, from 2⁻⁷ to 1.5, for i from 0 to 15.
func LogKappa(i int) float64 { return math.Ldexp(float64(2+i%2), i/2-8) }

// NewKeys returns that of one release, as far as it is that of keys: Gaussian noise of μ² in all,
// for the keys and what is shown beside them; at most λ small keys shown on average under any
// input; a loss of Λ for small keys that are hidden; and, for each ln κ, a mass of G(ln κ) where
// the ratio of densities is beyond κ for each small key that is shown. Where G is 1, more, or NaN,
// there is no bound.
func NewKeys(muSquares, lambda, drift float64, escape func(logKappa float64) float64) Keys {
	k := Keys{muSquares, lambda, drift}
	for i := range kappas {
		if k[3+i] = 1; escape(LogKappa(i)) < 1 {
			k[3+i] = escape(LogKappa(i))
		}
	}
	return k
}

// Valid reports whether there are such sums, of any number of releases.
func (k Keys) Valid() bool {
	for _, x := range k {
		if !(x >= 0 && x <= mostSum) || x == 0 && math.Signbit(x) {
			return false
		}
	}
	return k[0] > 0 || k == Keys{}
}

// MuSquares returns Σμ².
func (k Keys) MuSquares() float64 { return k[0] }

// Plus returns the bound for the releases of both, rounded up.
func (k Keys) Plus(l Keys) Keys {
	for i, x := range l {
		k[i] = exact.SumUp(k[i], x)
	}
	return k
}

// Times returns the bound for n such releases, rounded up.
func (k Keys) Times(n float64) Keys {
	for i, x := range k {
		k[i] = exact.ProductUp(n, x)
	}
	return k
}

// Delta returns an upper bound on δ(ε), for real ε, where rest bounds at every real ε the profile
// of Gaussian noise of Σμ² and of all other releases: of the best κ.
func (k Keys) Delta(epsilon float64, rest func(epsilon float64) float64) float64 {
	return k.DeltaBy(k.Best(epsilon, rest), epsilon, rest)
}

// Best returns the κ for which DeltaBy is least.
func (k Keys) Best(epsilon float64, rest func(epsilon float64) float64) (best int) {
	least := 2.0
	for i := kappas - 1; i >= 0; i-- {
		if k[3+i] >= least {
			continue
		}
		if delta := k.DeltaBy(i, epsilon, rest); delta < least {
			best, least = i, delta
		}
	}
	return best
}

// DeltaBy returns the bound on δ(ε) by κ number i,
//
//	G(κ) + Σ_n e^{−λ}·λⁿ/n!·κⁿ·e^Λ·rest(ε − n·ln κ − Λ),
//
// where rest counts as 1 from the term on where that makes no difference, from n = 9 at the latest.
func (k Keys) DeltaBy(i int, epsilon float64, rest func(epsilon float64) float64) float64 {
	lambda, drift, kappa := k[1], k[2], LogKappa(i)
	sum, each := k[3+i], lambda*math.Exp(kappa)
	mass := math.Exp(drift - lambda)        // of no small key shown, and so on
	left := math.Exp(drift - lambda + each) // bounds all terms from here on, by Σ xⁿ/n! ≤ e^x
	for n := range mostTerm + 1 {
		if left <= 1e-9*sum {
			break
		}
		at := float64(n)*kappa + drift
		sum += mass * rest(epsilon-at-(math.Abs(epsilon)+at)*0x1p-50)
		mass, left = mass*each/float64(n+1), left*each/float64(n+1)
	}
	// Sums of Λ and λ are small where there is a bound: e^x is off by x·2⁻⁵².
	return atMostOne((sum + left) * off * (1 + (drift+lambda+each)*0x1p-50))
}
