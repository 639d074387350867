package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Discrete Gaussian noise G_σ, masses ∝ e^{−k²/(2σ²)}, is not divisible: the sum of n variables of
// parameter s = σ/√n has another distribution, P. But hardly another one.
//
// Theorem. Let η(τ) = 2·Σ_{m≥1} e^{−2π²τ²m²} and κ = Σ_{m=1}^{n−1} ln((1+η(τ_m))/(1−η(τ_m))) with
// τ_m² = s²·m/(m+1). For shifts of up to H,
//
//	(i)   e^{−κ} ≤ P(k)/G_σ(k) ≤ e^κ for all k;
//	(ii)  P is (ε, e^κ·δ(ε−κ))-DP for ε ≥ κ, where δ(ε) = max_a Pr[Z ≤ a] − e^ε·Pr[Z ≤ a−H],
//	      Z of distribution G_σ;
//	(iii) P is (√ρ + √κ)²-zCDP, where ρ = H²/(2σ²).
//
// The proof is in gaussian_proof.md.
//
// The lattice of [calibrateGaussian] is so fine that κ is below 10⁻³⁰⁰ for 2²⁰ parties; where it is
// not, the sum is accounted with it, and refused if that is too much.

// gaussianSpread returns κ, rounded up, for n variables of parameter s, or +Inf where the theorem
// says nothing. η(τ) ≤ 2q/(1−q), q = e^{−2π²τ²}. η decreases in τ, and τ_m increases: from the 64th
// term on all count as that.
func gaussianSpread(s float64, n int) float64 {
	if n <= 1 {
		return 0
	}
	kappa := 0.0
	term := func(m int) float64 {
		q := math.Exp(-2 * math.Pi * math.Pi * s * s * float64(m) / float64(m+1))
		eta := 2 * q / (1 - q)
		if !(eta < 1) {
			return math.Inf(1)
		}
		return 2 * math.Atanh(eta)
	}
	const terms = 64
	for m := 1; m < min(n, terms); m++ {
		kappa += term(m)
	}
	if n > terms {
		kappa += float64(n-terms) * term(terms)
	}
	return kappa*(1+0x1p-30) + 1e-300 // the latter where the exponential underflows
}

// gaussianDelta returns an upper bound on δ(ε) of G_σ for shifts of H. The worst a is the last with
// G_σ(a) > e^ε·G_σ(a−H), a < H/2 − σ²ε/H; where rounding takes the next one, that costs a small
// part of the slack, which is for the tails' relative error of 1e-13.
func gaussianDelta(d noise.DiscreteGaussian, epsilon float64, steps int64) float64 {
	const slack, logSlack = 0x1p-38, 0x1p-30
	h := float64(steps)
	a := math.Ceil(h/2-d.Sigma()*(d.Sigma()*epsilon/h)) - 1
	most := d.Survival(-a-1) * (1 + slack)
	if epsilon > 300 {
		// e^ε may overflow, and the tail underflow; their logarithms are below 2¹¹, to a relative
		// 1e-13
		return most - math.Exp(epsilon+d.LogSurvival(-a-1+h))*(1-logSlack)
	}
	return most - math.Exp(epsilon)*d.Survival(-a-1+h)*(1-slack)
}

// gaussianHolds reports whether it is proved that the sum of n discrete Gaussian variables, σ² the
// sum of their squared parameters, keeps the promise of the Params.
func (p Params) gaussianHolds(sigma float64, steps int64, n int) bool {
	kappa := gaussianSpread(sigma/math.Sqrt(float64(n)), n)
	if p.Rho > 0 {
		root := float64(steps)/(math.Sqrt2*sigma) + math.Sqrt(kappa)
		return root*root*(1+0x1p-46) <= p.Rho
	}
	d, err := noise.NewDiscreteGaussian(sigma)
	return err == nil && kappa < p.Epsilon && math.Exp(kappa)*gaussianDelta(d, p.Epsilon-kappa, steps) <= p.Delta
}

const (
	// gaussianSteps is the least σ, in steps of the lattice: then shares of 2²⁰ parties have an s
	// of 64, and rounding by each of them is 1e-4 of the variance.
	gaussianSteps = 1 << 16
	// leastGaussian is the least H: a power of two, or a multiple of an integer Δ.
	leastGaussian = 1 << 8
)

// calibrateGaussian returns discrete Gaussian noise that keeps the promise, of a σ within some 1e-6
// of the least unless ε and δ are tiny.
func calibrateGaussian(p Params) (distribution, error) {
	relative, err := noise.GaussianSigmaZCDP(p.Rho, 1)
	if p.Rho == 0 {
		relative, err = noise.GaussianSigma(p.Epsilon, p.Delta, 1)
	}
	if err != nil {
		return distribution{}, err
	}
	steps := int64(1)
	if delta := p.sensitivity(); p.Integers && delta*max(relative, 1) <= 1<<40 {
		steps = int64(delta)
	}
	for steps < leastGaussian || float64(steps)*relative < gaussianSteps {
		steps *= 2
	}
	sigma := coarse(relative * float64(steps))
	for widen := 0x1p-21; widen < 1; widen *= 2 {
		// at first by one unit of 20 digits; for the least ε and δ the slack of gaussianDelta takes
		// more
		if p.gaussianHolds(sigma, steps, 1) {
			return distribution{law: Gaussian, scale: sigma, size: steps, copies: 1}, nil
		}
		sigma = coarse(sigma * (1 + widen))
	}
	return distribution{}, lawError(p.Epsilon, Gaussian, "a number for which the search succeeds")
}

// shareSigma returns the parameter s ≥ σ/√n of a share of one in n, the same on every processor:
// the sum has one of 1 to 1 + 2⁻¹⁹ times σ.
func shareSigma(sigma float64, n uint64) float64 {
	if n == 1 {
		return sigma
	}
	return coarse(sigma / math.Sqrt(float64(n)) * (1 + 0x1p-40))
}
