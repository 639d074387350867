package noise

import "math"

// Gaussian is the normal distribution N(0, σ²). Noise of the σ that [GaussianSigma] returns, in
// every coordinate, makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-differentially private.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Gaussian,
// which [NewGaussian] returns only with an error.
type Gaussian struct{ sigma float64 }

// NewGaussian returns the normal distribution of mean 0 and standard deviation sigma, in the units
// of the data. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewGaussian(sigma float64) (Gaussian, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return Gaussian{}, err
	}
	return Gaussian{sigma}, nil
}

// Sigma returns σ, the standard deviation.
func (d Gaussian) Sigma() float64 { return d.sigma }

// valid reports whether d comes from [NewGaussian].
func (d Gaussian) valid() bool { return d.sigma > 0 }

// CDF returns Pr[X ≤ x], in the lower tail to a relative error of 1e-14.
func (d Gaussian) CDF(x float64) float64 { return d.Survival(-x) }

// Survival returns Pr[X > x], in the upper tail to a relative error of 1e-14.
func (d Gaussian) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return normalTail(divide(x, d.sigma))
}

// LogSurvival returns ln Pr[X > x] to a relative error of 1e-14, also where [Gaussian.Survival]
// underflows or rounds to 1.
func (d Gaussian) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return logNormalTail(divide(x, d.sigma))
}

// Quantile returns the x with CDF(x) = p to a relative error of 1e-14: −Inf at 0, +Inf at 1, NaN
// outside [0, 1].
func (d Gaussian) Quantile(p float64) float64 {
	if !d.valid() || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	return d.sigma * normalQuantile(p)
}

// Mean returns 0.
func (d Gaussian) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// Variance returns σ², +Inf or 0 where that is out of range.
func (d Gaussian) Variance() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return d.sigma * d.sigma
}

// MeanAbs returns E|X| = σ·√(2/π).
func (d Gaussian) MeanAbs() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return d.sigma / sqrtHalfPi
}

// Prob returns the density at x.
func (d Gaussian) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return gaussKernel(divide(x, d.sigma)) / sqrt2Pi / d.sigma
}

// LogProb returns the logarithm of the density at x.
func (d Gaussian) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return logGaussKernel(divide(x, d.sigma)) - math.Log(sqrt2Pi*d.sigma)
}
