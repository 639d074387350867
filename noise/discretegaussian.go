package noise

import "math"

// DiscreteGaussian is the discrete normal distribution on the integers, Pr[X = k] ∝ e^{−k²/(2σ²)}.
// Noise of parameter σ = Δ₂/√(2ρ), in every coordinate, makes an integer release of ℓ₂ sensitivity
// Δ₂ ρ-zCDP (Canonne, Kamath, Steinke, NeurIPS 2020, arXiv 2004.00010, Theorem 4).
//
// σ is the parameter and not the standard deviation, which is smaller: by 2e-7 of it at σ = 1, by
// less than a rounding error from σ = 2 on.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero
// DiscreteGaussian, which [NewDiscreteGaussian] returns only with an error.
type DiscreteGaussian struct {
	sigma    float64
	proposal DiscreteLaplace // of scale ⌊σ⌋ + 1
}

// NewDiscreteGaussian returns the discrete normal distribution of parameter sigma, in units of the
// integer grid. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewDiscreteGaussian(sigma float64) (DiscreteGaussian, error) {
	if err := checkDiscrete("sigma", sigma); err != nil {
		return DiscreteGaussian{}, err
	}
	return DiscreteGaussian{sigma, discreteLaplace(math.Floor(sigma) + 1)}, nil
}

// Sigma returns the parameter σ.
func (d DiscreteGaussian) Sigma() float64 { return d.sigma }

// valid reports whether d comes from [NewDiscreteGaussian].
func (d DiscreteGaussian) valid() bool { return d.sigma > 0 }

// CDF returns Pr[X ≤ x], in the lower tail to a relative error of 1e-13.
func (d DiscreteGaussian) CDF(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return d.beyond(-j, -0.5).value()
	}
	return 1 - d.beyond(j, 0.5).value()
}

// Survival returns Pr[X > x], in the upper tail to a relative error of 1e-13.
func (d DiscreteGaussian) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return 1 - d.beyond(-j, -0.5).value()
	}
	return d.beyond(j, 0.5).value()
}

// LogSurvival returns ln Pr[X > x] to a relative error of 1e-13, also where
// [DiscreteGaussian.Survival] underflows or rounds to 1.
func (d DiscreteGaussian) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return math.Log1p(-d.beyond(-j, -0.5).value())
	}
	return d.beyond(j, 0.5).log()
}

// Quantile returns the least integer k with CDF(k) ≥ p: −Inf at 0, +Inf at 1, NaN outside [0, 1].
// Beyond 2⁵² it is a float64 next to that integer.
func (d DiscreteGaussian) Quantile(p float64) float64 {
	switch {
	case !d.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0 || p == 1:
		return normalQuantile(p)
	}
	return settleQuantile(math.Ceil(d.sigma*normalQuantile(p)-0.5), p, d.CDF, d.Survival)
}

// Mean returns 0.
func (d DiscreteGaussian) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// Prob returns Pr[X = x], 0 unless x is an integer.
func (d DiscreteGaussian) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x != math.Floor(x) {
		return 0
	}
	return gaussKernel(divide(x, d.sigma)) / d.normalizer()
}

// LogProb returns ln Pr[X = x], −Inf unless x is an integer.
func (d DiscreteGaussian) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x != math.Floor(x) {
		return math.Inf(-1)
	}
	return logGaussKernel(divide(x, d.sigma)) - math.Log(d.normalizer())
}
