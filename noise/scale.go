package noise

// Scale returns the least scale of noise for a release of the given sensitivity. If rho is not 0,
// it is that of Gaussian noise for ρ-zCDP ([GaussianSigmaZCDP]). Else if delta is not 0, it is that
// of Gaussian noise for (ε, δ)-DP ([GaussianSigma]). Else it is that of Laplace noise for ε-DP
// ([LaplaceScale]). The sensitivity is in ℓ₂ for Gaussian and in ℓ₁ for Laplace noise. The error
// wraps [ErrParams]: then there is no scale.
func Scale(epsilon, delta, rho, sensitivity float64) (float64, error) {
	switch {
	case rho != 0:
		return GaussianSigmaZCDP(rho, sensitivity)
	case delta != 0:
		return GaussianSigma(epsilon, delta, sensitivity)
	}
	return LaplaceScale(epsilon, sensitivity)
}
