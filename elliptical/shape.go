package elliptical

import (
	"math"
	"slices"
)

// How noise is spread. Coordinate i has noise of scale τᵢ·s (standard deviation, or Laplace scale)
// with a common s that the guarantee decides, and sensitivity aᵢ; bᵢ of Algorithms 15 and 16 is in
// proportion to aᵢ/τᵢ.
//
// Privacy (Lemmas 4.6 and 4.9). Coordinate i divided by τᵢ is a query of sensitivity aᵢ/τᵢ, all of
// them together of ℓ₂ sensitivity ‖a/τ‖₂ (ℓ₁: ‖a/τ‖₁), and it gets noise of one scale s: the plain
// Gaussian (Laplace) mechanism. Multiplying by τᵢ is post-processing. So every τ is private with s
// calibrated to S = ‖a/τ‖: the shape is a matter of accuracy alone, and of public numbers. ∎
//
// The optimum (Lemmas 4.8 and 4.11), derived in another way. With q = 2 for Gaussian and q = 1 for
// Laplace noise, the error is a constant times Sᵖ·Σ τᵢᵖ. By Hölder's inequality with the exponents
// (p+q)/p and (p+q)/q,
//
//	Σ aᵢ^{pq/(p+q)} = Σ (aᵢ/τᵢ)^{pq/(p+q)}·τᵢ^{pq/(p+q)}
//	                ≤ (Σ (aᵢ/τᵢ)^q)^{p/(p+q)}·(Σ τᵢᵖ)^{q/(p+q)},
//
// so Sᵖ·Σ τᵢᵖ ≥ (Σ aᵢ^{pq/(p+q)})^{(p+q)/q} = ‖a‖ᵖ in the norm of index pq/(p+q), with equality
// where (aᵢ/τᵢ)^q ∝ τᵢᵖ: τᵢ = aᵢ^{q/(p+q)}. ∎ That is Theorems 4.1 and 4.2, for every p > 0. For
// the box no Gaussian noise of any covariance does better: with W the inverse covariance the
// constraint max vᵀWv ≤ 2ρ over the box is convex in W, and so is the error, Σ ((W⁻¹)ᵢᵢ)^{p/2} up
// to a constant, as 1/(W⁻¹)ᵢᵢ = min{vᵀWv : vᵢ = 1} is concave in W; both stay as they are when
// signs of coordinates are turned; averaging W over all turns leaves its diagonal, no worse. ∎

// shape returns τ, any multiple of it, for the sensitivities a, sensitivity i being that of many[i]
// coordinates. With Count there is one more τ, for the noise of the count; middle holds its
// factors.
func (p Params) shape(a, middle []float64, many []int) []float64 {
	if p.Weights.Len() > 0 {
		tau := make([]float64, len(a))
		for i, x := range a {
			tau[i] = x / p.Weights.At(i)
		}
		return tau
	}
	tau, middles := make([]float64, len(a), len(a)+1), slices.Clone(middle)
	for i, x := range a {
		unit := p.unit(i)
		tau[i], middles[i] = math.Pow(x/unit, p.exponent())*unit, middle[i]/unit
	}
	if p.Count {
		tau = append(tau, p.countScale(middles, many))
	}
	return tau
}

// unit returns what an error of coordinate i is counted in, in the units of the data.
//
// With u its units, errors ηᵢ/uᵢ are those of coordinates that were divided by u: their
// sensitivities are aᵢ/uᵢ and their scales τᵢ/uᵢ. So the optimum above holds for these, and no
// scale of one coordinate reaches another.
func (p *Params) unit(i int) float64 {
	if p.Relative {
		return p.interval(i).width()
	}
	return 1
}

// exponent returns q/(2+q).
func (p Params) exponent() float64 {
	if p.pure() {
		return 1. / 3
	}
	return 0.5
}

// countScale returns the τ of the noise η₀ of a count. Coordinate i has the noise ηᵢ + cᵢ·η₀ then,
// cᵢ the middle, and the count has the sensitivity 1. As Σ (τᵢ² + cᵢ²τ₀²) is Σ τᵢ² + ‖c‖₂²·τ₀², the
// count is one more coordinate, of the sensitivity ‖c‖₂. For Gaussian noise the error is
// (Σ aᵢ + ‖c‖₂)²/(2ρ); for intervals [0, Δᵢ], a = c = Δ/2, that is ((‖Δ‖₁ + ‖Δ‖₂)/2)²/(2ρ) instead
// of ‖Δ‖₁²/(2ρ).
func (p Params) countScale(middle []float64, many []int) float64 {
	norm := 0.0
	for i, c := range middle {
		norm = math.Hypot(norm, math.Sqrt(float64(many[i]))*c)
	}
	return math.Pow(norm, p.exponent()-1)
}
