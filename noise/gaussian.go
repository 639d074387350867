package noise

import "math"

// Gaussian is the normal distribution N(0, σ²). Noise of the σ that [GaussianSigma] returns, in
// every coordinate, makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-differentially private.
//
// E|X| is σ·√(2/π). In the tails CDF, Survival and LogSurvival have a relative error of 1e-14, and
// so has Quantile.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Gaussian,
// which [NewGaussian] returns only with an error.
type Gaussian struct{ symmetric[gaussianFormulas] }

// NewGaussian returns the normal distribution of mean 0 and standard deviation sigma, in the units
// of the data. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewGaussian(sigma float64) (Gaussian, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return Gaussian{}, err
	}
	return gaussian(sigma), nil
}

func gaussian(sigma float64) Gaussian {
	return Gaussian{symmetric[gaussianFormulas]{gaussianFormulas{sigma}}}
}

// Sigma returns σ, the standard deviation.
func (d Gaussian) Sigma() float64 { return d.law.sigma }

// gaussianFormulas are those of a Gaussian of a σ.
type gaussianFormulas struct{ sigma float64 }

func (d gaussianFormulas) valid() bool { return d.sigma > 0 }

func (d gaussianFormulas) upper(x float64) float64 { return normalTail(divide(x, d.sigma)) }

func (d gaussianFormulas) logUpper(x float64) float64 { return logNormalTail(divide(x, d.sigma)) }

func (d gaussianFormulas) upperQuantile(p float64) float64 { return -d.sigma * normalQuantile(p) }

func (d gaussianFormulas) density(x float64) float64 {
	return gaussKernel(divide(x, d.sigma)) / sqrt2Pi / d.sigma
}

func (d gaussianFormulas) logDensity(x float64) float64 {
	return logGaussKernel(divide(x, d.sigma)) - math.Log(sqrt2Pi*d.sigma)
}

func (d gaussianFormulas) variance() float64 { return d.sigma * d.sigma }

func (d gaussianFormulas) meanAbs() float64 { return d.sigma / sqrtHalfPi }
