package elliptical

import (
	"math"
)

// planned is the Plan of valid Params, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan()
	return plan
}

// spherical returns the Params with the same noise in every coordinate.
func (p Params) spherical() Params {
	a, _ := p.resolved().sensitivities()
	p.Weights = VectorOf(a...)
	return p
}

// volume returns the Params with the ellipsoid of minimum volume.
func (p Params) volume() Params {
	weights := make([]float64, p.Min.Len())
	for i := range weights {
		weights[i] = 1
	}
	p.Weights = VectorOf(weights...)
	return p
}

// errorOf returns E‖η‖ₚᵖ, NaN for invalid Params.
func (p Params) errorOf(power float64) float64 { return planned(p).Error(power) }

// deviation returns that of coordinate i, NaN for invalid Params.
func (p Params) deviation(i int) float64 {
	if plan, err := p.Plan(); err == nil {
		return plan.StdDev(i)
	}
	return math.NaN()
}
