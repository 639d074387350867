package noise

import "math"

// DiscreteGaussian is the discrete normal distribution on the integers, Pr[X = k] ∝ e^{−k²/(2σ²)}.
// Noise of parameter σ = Δ₂/√(2ρ), in every coordinate, makes an integer release of ℓ₂ sensitivity
// Δ₂ ρ-zCDP (Canonne, Kamath, Steinke, NeurIPS 2020, arXiv 2004.00010, Theorem 4).
//
// σ is the parameter and not the standard deviation, which is smaller: by 2e-7 of it at σ = 1, by
// less than a rounding error from σ = 2 on.
//
// The variance is close to σ² for σ ≥ 1, and to 2e^{−1/(2σ²)} for small σ; E|X| is close to
// σ·√(2/π). In the tails CDF, Survival and LogSurvival have a relative error of 1e-13.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero
// DiscreteGaussian, which [NewDiscreteGaussian] returns only with an error.
type DiscreteGaussian struct {
	integer[discreteNormalFormulas]
	proposal DiscreteLaplace // of scale ⌊σ⌋ + 1
}

// NewDiscreteGaussian returns the discrete normal distribution of parameter sigma, in units of the
// integer grid. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewDiscreteGaussian(sigma float64) (DiscreteGaussian, error) {
	if err := checkDiscrete("sigma", sigma); err != nil {
		return DiscreteGaussian{}, err
	}
	return DiscreteGaussian{integer[discreteNormalFormulas]{discreteNormalFormulas{sigma}}, discreteLaplace(math.Floor(sigma) + 1)}, nil
}

// Sigma returns the parameter σ.
func (d DiscreteGaussian) Sigma() float64 { return d.law.sigma }

// discreteNormalFormulas are those of a DiscreteGaussian of a σ.
type discreteNormalFormulas struct{ sigma float64 }

func (d discreteNormalFormulas) valid() bool { return d.sigma > 0 }

func (d discreteNormalFormulas) atMost(j float64) float64 {
	if j < 0 {
		return d.beyond(-j, -0.5).value()
	}
	return 1 - d.beyond(j, 0.5).value()
}

func (d discreteNormalFormulas) above(j float64) float64 {
	if j < 0 {
		return 1 - d.beyond(-j, -0.5).value()
	}
	return d.beyond(j, 0.5).value()
}

func (d discreteNormalFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return math.Log1p(-d.beyond(-j, -0.5).value())
	}
	return d.beyond(j, 0.5).log()
}

func (d discreteNormalFormulas) quantile(p float64) float64 {
	if p == 0 || p == 1 {
		return normalQuantile(p)
	}
	return settleQuantile(math.Ceil(d.sigma*normalQuantile(p)-0.5), p, d)
}

func (d discreteNormalFormulas) mean() float64 { return 0 }

func (d discreteNormalFormulas) mass(j float64) float64 {
	return gaussKernel(divide(j, d.sigma)) / d.normalizer()
}

func (d discreteNormalFormulas) logMass(j float64) float64 {
	return logGaussKernel(divide(j, d.sigma)) - math.Log(d.normalizer())
}
