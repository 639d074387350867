package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/round"
)

// GaussianSigmaZCDP returns σ ≥ Δ₂/√(2ρ), larger than that by at most a relative 2⁻⁵⁰: the
// parameter at which Gaussian and discrete Gaussian noise makes a release of ℓ₂ sensitivity Δ₂
// ρ-zCDP (Bun and Steinke, TCC 2016, arXiv 1605.02065, Proposition 1.6; arXiv 2004.00010, Theorem
// 4).
//
// rho is without unit, sensitivity and the result are in the units of the data. The error wraps
// [ErrParams] unless both are in [2⁻⁹⁰⁰, 2⁹⁰⁰] and so is the result.
func GaussianSigmaZCDP(rho, sensitivity float64) (float64, error) {
	if err := checkParam("rho", rho); err != nil {
		return math.NaN(), err
	}
	if err := checkParam("sensitivity", sensitivity); err != nil {
		return math.NaN(), err
	}
	return checkScale(round.QuotientUp(sensitivity, round.SqrtDown(2*rho)), sensitivity, "a number with σ = sensitivity/√(2·rho) in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
}

// checkScale returns the calibrated scale, or an error that blames the sensitivity if no
// distribution has that scale.
func checkScale(scale, sensitivity float64, want string) (float64, error) {
	if !(scale >= leastParam && scale <= mostParam) {
		return math.NaN(), fault.Params("noise", "sensitivity", sensitivity, want)
	}
	return scale, nil
}

// checkDelta returns an error that wraps [ErrParams] unless delta is in [2⁻¹⁰²², 1).
func checkDelta(delta float64) error {
	if !(delta >= 0x1p-1022 && delta < 1) {
		return fault.Params("noise", "delta", delta, "a number in [2⁻¹⁰²², 1)")
	}
	return nil
}

// checkEpsilonOrZero returns an error that wraps [ErrParams] unless epsilon is 0 or in [leastParam,
// mostParam].
func checkEpsilonOrZero(epsilon float64) error {
	if epsilon != 0 && !(epsilon >= leastParam && epsilon <= mostParam) {
		return fault.Params("noise", "epsilon", epsilon, "0 or "+wantParam)
	}
	return nil
}
