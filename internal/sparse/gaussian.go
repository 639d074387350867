package sparse

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// The exact δ of independent Gaussian noise with a threshold (TODS, Theorem 23; Karrer, Kifer,
// Wilkins and Zhang), in units of the per-key bound: a user changes at most l keys, each by at most
// 1. Keys stored, with a value ≠ 0, get N(0, σ²) and are released from T = 1 + τ on. With
// F = Φ(τ/σ), s = −u·ln F and BW(ε, μ) the δ of a Gaussian shift by μ in units of its noise:
//
//	one sign   δ = max over 0 ≤ u ≤ l of A(u) = 1 − F^u·(1 − BW(ε + s, √(l−u)/σ))
//	any signs  δ ≤ max over 0 ≤ u ≤ l of D(u) = 1 − F^u·(1 − BW(ε, √(l−u)/σ))
//
// with √(l − u + ω) for √(l − u) where a number beside the keys has noise N(0, σ²/ω).
// One sign: users come or go, and contribute ≥ 0. A and D grow with s at fixed μ and with μ at
// fixed s, so both are bounded for all u in [u₁, u₂] by s at u₂ and μ at u₁. −ln F is inflated by
// more than its error, so that A and D err upwards. The proof is in gaussian_proof.md.

// unit is the normal law N(0, 1).
var unit, _ = noise.NewGaussian(1)

// gaussianTerm returns the bound of A(u), or of D(u) if not oneSign, for all u in [u₁, u₂]; lambda
// is −ln F, rounded upwards.
func gaussianTerm(l int, weight float64, oneSign bool, epsilon, sigma, lambda float64, u1, u2 int) float64 {
	if oneSign && u2 > 0 {
		epsilon = math.Nextafter(epsilon+float64(u2)*lambda, math.Inf(-1))
	}
	return escaped(gaussianShift(l, weight, epsilon, sigma, u1), lambda, u2)
}

// gaussianShift returns BW(ε, √(l−u₁+ω)/σ), rounded upwards.
func gaussianShift(l int, weight, epsilon, sigma float64, u1 int) float64 {
	sensitivity := exact.SqrtUp(float64(l-u1) + weight)
	return shiftDelta(epsilon, sigma, sensitivity)
}

// escaped returns 1 − F^u·(1 − δ), rounded upwards.
func escaped(delta, lambda float64, u int) float64 {
	if u == 0 {
		return delta
	}
	s := float64(u) * lambda
	return min(1, (math.Exp(-s)*delta-math.Expm1(-s))*(1+0x1p-50))
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

// gaussianDelta returns an upper bound on δ(σ, τ), exact to a relative 1e-11, for one sign or, in
// the sense above, for any.
func gaussianDelta(l int, weight float64, oneSign bool, epsilon, sigma, tau float64) float64 {
	lambda := logBelow(sigma, tau)
	_, bound := largest(l, 0, gaussianSlack, func(u1, u2 int) float64 { return gaussianTerm(l, weight, oneSign, epsilon, sigma, lambda, u1, u2) })
	return bound
}

// calibrateGaussian returns the σ and τ ≥ 0 with the least threshold 1 + τ at which δ(σ, τ) ≤ δ,
// and among them the least σ. The threshold is optimal to a relative 1e-6; the inequality holds for
// the numbers returned, as [gaussianDelta] computes them. It returns false unless 1 ≤ l ≤ 2⁵³, ε in
// [2⁻³⁰, 2¹⁰] and δ in [1e-300, 1).
//
// No σ below σ₀ = min{σ: BW(ε, √l/σ) ≤ δ} will do (u = 0), and no τ/σ below z = Φ⁻¹((1 − δ)^{1/l})
// (u = l). Where no u between asks for more, σ₀ and z·σ₀ are therefore optimal: always for l = 1,
// and mostly else, since going from u to u + 1 costs δ/l by escape and saves about ln(1/δ) times as
// much, (d ln BW/d ln μ)/2, by the smaller shift. Otherwise, as for δ near 1 or ε far below 1, a
// larger σ gains something.
func calibrateGaussian(l int, weight float64, oneSign bool, epsilon, delta float64) (sigma, tau float64, ok bool) {
	least, z, ok := leastGaussian(l, weight, epsilon, delta)
	if !ok {
		return 0, 0, false
	}
	effort := effort{gaussianSlack, gaussianSlack, 12, 28, 1 << 20}
	if l > 1<<12 {
		effort.coarse, effort.refine = 0x1p-18, 16
	}
	return effort.leastThresholdOverSigma(l, delta, least, z, func(sigma, tau float64) func(u1, u2 int) float64 {
		lambda := logBelow(sigma, tau)
		return func(u1, u2 int) float64 { return gaussianTerm(l, weight, oneSign, epsilon, sigma, lambda, u1, u2) }
	}, func(sigma, tau float64) bool { return gaussianDelta(l, weight, oneSign, epsilon, sigma, tau) <= delta })
}

// leastGaussian returns σ₀ and z of calibrateGaussian: no σ and no τ/σ is below.
func leastGaussian(l int, weight, epsilon, delta float64) (sigma, z float64, ok bool) {
	if !calibrable(l, epsilon, delta) {
		return 0, 0, false
	}
	sigma, err := noise.GaussianSigma(epsilon, delta, exact.SqrtUp(float64(l)+weight))
	return sigma, max(0, -unit.Quantile(-math.Expm1(math.Log1p(-delta)/float64(l)))), err == nil
}

// calibrable reports whether the parameters are in the range of the calibrations.
func calibrable(l int, epsilon, delta float64) bool {
	return l >= 1 && float64(l) <= 0x1p53 && epsilon >= 0x1p-30 && epsilon <= 0x1p10 && delta >= 1e-300 && delta < 1
}
