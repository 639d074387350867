package noise

// Scale returns the least scale of noise that gives a release of the sensitivity what is asked for:
// ρ-zCDP by Gaussian noise where rho is not 0, which is [GaussianSigmaZCDP]; else (ε, δ)-DP by
// Gaussian noise where delta is not 0, [GaussianSigma]; else ε-DP by Laplace noise, [LaplaceScale].
// The sensitivity is in ℓ₂ for Gaussian and in ℓ₁ for Laplace noise. The error wraps [ErrParams]:
// then there is no scale.
func Scale(epsilon, delta, rho, sensitivity float64) (float64, error) {
	switch {
	case rho != 0:
		return GaussianSigmaZCDP(rho, sensitivity)
	case delta != 0:
		return GaussianSigma(epsilon, delta, sensitivity)
	}
	return LaplaceScale(epsilon, sensitivity)
}
