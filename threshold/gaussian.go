package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// The exact δ of independent Gaussian noise with a threshold (TODS, Theorem 23; Karrer, Kifer, Wilkins and Zhang),
// in units of the per-key bound: a user changes at most l keys, each by at most 1. Keys stored, with a value ≠ 0, get N(0, σ²)
// and are released from T = 1 + τ on. Write F = Φ(τ/σ), s = −u·ln F, and for p, q the densities of N(μ, 1), N(0, 1)
//
//	BW(ε, μ) = ∫(p − e^ε·q)₊ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)   (BW(ε, 0) = (1 − e^ε)₊).
//
// Let u₁ keys be stored on side P only, u₂ on side Q only, and j on both. An output with one of the u₁ has Q = 0; one with one of the u₂ has
// P = 0; the rest costs P a factor F^u₁, Q a factor F^u₂. With stable keys far above T the others are a Gaussian shift by √j, so
//
//	H(P‖Q) = H(s₁, s₂) = 1 − e^{−s₁} + ∫(e^{−s₁}p − e^{ε−s₂}q)₊ = 1 − e^{−s₁}·(1 − BW(ε + s₁ − s₂, √j/σ)),   sᵢ = −uᵢ·ln F.
//
// All else is post-processing of this, key by key. A value a < 1 on one side only: of what is released for the value 1, keep a share, and draw
// its noisy value anew. Values a, b on both, |a − b| = d ≤ 1: d·N(1, σ²) + N(0, (1−d²)σ²) is N(d, σ²), shifted and cut at T. Unchanged keys
// are independent of the rest.
//
// H grows with j (BW grows with μ), with s₂ (plainly) and with s₁: ∂H/∂s₁ = e^{−s₁}·(1 − p{e^{−s₁}p > e^{ε−s₂}q}) ≥ 0. Hence:
//
// One sign (users come or go, contributions ≥ 0): one of u₁, u₂ is 0, and the larger side first dominates,
//
//	δ = max over 0 ≤ u ≤ l of A(u) = H(s, 0) = 1 − F^u·(1 − BW(ε + s, √(l−u)/σ)).
//
// The smaller first, B(u) = H(0, s) = BW(ε − s, √(l−u)/σ), is never more, so the third line of Theorem 23 is not needed. Proof. Let ψ(c) = ∫min(p, cq); then
// 1 − A = e^{−s}·ψ(e^{ε+s}) and 1 − B = ψ(e^{ε−s}). By the symmetry of p and q, ψ(c) = c·ψ(1/c), so ω(x) = ln ψ(e^x) − x/2 is even. It falls
// with |x|: (ln ψ)′ ≥ ½ for c = e^{−x} ≤ 1, since c·q{p ≥ cq} ≥ p{p < cq}, the ratio of the two being R(μ/2 − x/μ)/R(μ/2 + x/μ) with the Mills
// ratio R, which decreases. And 1 − A = exp((ε−s)/2 + ω(ε+s)), 1 − B = exp((ε−s)/2 + ω(ε−s)), |ε − s| ≤ ε + s. ∎
//
// Any signs (signed values, or replacing a user): a key that goes from a > 0 to −c < 0, a + c ≤ 1, is released with its own
// sign on either side, so it counts in u₁ and in u₂. In any case u₁, u₂ ≤ u = l − j, hence, as H grows with both,
//
//	δ ≤ max over 0 ≤ u ≤ l of D(u) = H(s, s) = 1 − F^u·(1 − BW(ε, √(l−u)/σ)).
//
// Blocks. A and D grow with s and with μ, separately, and s grows with u while μ falls. So for all u in [u₁, u₂] the term is at most the same
// expression with s at u₂ and μ at u₁.
//
// Rounding. −ln F is inflated by more than its error, so that A and D err upwards; ε + s is rounded downwards; BW is an upper bound to 4e-12.

// gaussianTerm returns the bound of A(u), or of D(u) if not oneSign, for all u in [u₁, u₂]; lambda is −ln F, rounded upwards.
func gaussianTerm(l int, oneSign bool, epsilon, sigma, lambda float64, u1, u2 int) float64 {
	sensitivity := sqrtAbove(float64(l - u1))
	if u2 == 0 {
		return shiftDelta(epsilon, sigma, sensitivity)
	}
	s := float64(u2) * lambda
	if oneSign {
		epsilon = math.Nextafter(epsilon+s, math.Inf(-1))
	}
	return min(1, (math.Exp(-s)*shiftDelta(epsilon, sigma, sensitivity)-math.Expm1(-s))*(1+0x1p-50))
}

// shiftDelta returns BW(ε, Δ/σ), rounded upwards by a relative 4e-12 at most, for any ε and Δ ≥ 0.
func shiftDelta(epsilon, sigma, sensitivity float64) float64 {
	if sensitivity == 0 {
		return max(0, -math.Expm1(epsilon)*(1+0x1p-52))
	}
	delta, err := noise.GaussianDelta(sigma, epsilon, sensitivity)
	if err != nil {
		return 1 // out of the range of float64
	}
	return delta
}

// sqrtAbove returns a float64 ≥ √x.
func sqrtAbove(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(math.Sqrt(x), math.Inf(1))
}

// logBelow returns −ln Φ(τ/σ), rounded upwards by a relative 3e-14.
func logBelow(sigma, tau float64) float64 {
	d, err := noise.NewGaussian(sigma)
	if err != nil {
		return math.Inf(1)
	}
	return -d.LogSurvival(-tau) * (1 + 0x1p-45)
}

// gaussianSlack is the relative slack in gaussianDelta.
const gaussianSlack = 0x1p-40

// gaussianDelta returns an upper bound on δ(σ, τ), exact to a relative 1e-11, for one sign or, in the sense above, for any.
func gaussianDelta(l int, oneSign bool, epsilon, sigma, tau float64) float64 {
	lambda := logBelow(sigma, tau)
	_, bound := largest(l, 0, gaussianSlack, func(u1, u2 int) float64 { return gaussianTerm(l, oneSign, epsilon, sigma, lambda, u1, u2) })
	return bound
}

// calibrateGaussian returns the σ and τ ≥ 0 with the least threshold 1 + τ at which δ(σ, τ) ≤ δ, and among them the least σ.
// The threshold is optimal to a relative 1e-6; the inequality holds for the numbers returned, as [gaussianDelta] computes them.
// It returns false unless 1 ≤ l ≤ 2⁵³, ε in [2⁻³⁰, 2¹⁰] and δ in [1e-300, 1).
//
// No σ below σ₀ = min{σ: BW(ε, √l/σ) ≤ δ} will do (u = 0), and no τ/σ below z = Φ⁻¹((1 − δ)^{1/l}) (u = l). Where no u between asks for
// more, σ₀ and z·σ₀ are therefore optimal: always for l = 1, and mostly else, since going from u to u + 1 costs δ/l by escape and saves about
// ln(1/δ) times as much, (d ln BW/d ln μ)/2, by the smaller shift. Otherwise, as for δ near 1 or ε far below 1, a larger σ gains something.
func calibrateGaussian(l int, oneSign bool, epsilon, delta float64) (sigma, tau float64, ok bool) {
	if !calibrable(l, epsilon, delta) {
		return 0, 0, false
	}
	least, err := noise.GaussianSigma(epsilon, delta, sqrtAbove(float64(l)))
	if err != nil {
		return 0, 0, false
	}
	// A(l) = 1 − F^l ≤ δ is a lower bound on τ/σ.
	effort := effort{gaussianSlack, gaussianSlack, 12, 28}
	if l > 1<<12 {
		effort.coarse = 0x1p-18
	}
	unit, _ := noise.NewGaussian(1)
	z := max(0, -unit.Quantile(-math.Expm1(math.Log1p(-delta)/float64(l))))
	return effort.leastThresholdOverSigma(l, delta, least, z, func(sigma, tau float64) func(u1, u2 int) float64 {
		lambda := logBelow(sigma, tau)
		return func(u1, u2 int) float64 { return gaussianTerm(l, oneSign, epsilon, sigma, lambda, u1, u2) }
	}, func(sigma, tau float64) bool { return gaussianDelta(l, oneSign, epsilon, sigma, tau) <= delta })
}

// calibrable reports whether the parameters are in the range of the calibrations.
func calibrable(l int, epsilon, delta float64) bool {
	return l >= 1 && float64(l) <= 0x1p53 && epsilon >= 0x1p-30 && epsilon <= 0x1p10 && delta >= 1e-300 && delta < 1
}
