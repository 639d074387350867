package noise

import (
	"math"
	"math/big"
)

// SampleInt draws X. Every integer k has probability exactly proportional to e^{−k²/(2σ²)}, for the
// σ given as a float64. For the zero DiscreteGaussian, which is no law, the draw is uniform over
// all int64.
//
// Canonne, Kamath and Steinke (arXiv 2004.00010), Algorithm 3: a discrete Laplace draw y of integer
// scale t = ⌊σ⌋ + 1 is accepted with probability exp(−(|y| − σ²/t)²/(2σ²)).
func (d DiscreteGaussian) SampleInt(src *Source) int64 {
	if !d.law.valid() {
		return unbuiltInt(src)
	}
	t := d.proposal.law.scale
	// centre is within 2⁻⁵² of σ²/t ≤ σ, so z is within 2⁻⁵¹·(1+|z|) and the exponent e = z²/2
	// within 2⁻⁴⁹·(1+|z|)² ≤ 2⁻⁴⁷·e^{e−½}, as (1+z)²·e^{−z²/2} is at most 4·e^{−½}, at z = 1. Where
	// that is more than ½, e is above 2⁴⁵. So it is as near as margin asks.
	centre := d.law.sigma * (d.law.sigma / t)
	for {
		y := d.proposal.SampleInt(src)
		z := (math.Abs(float64(y)) - centre) / d.law.sigma
		if bernoulliExp(src, z*z/2, func() *big.Rat { return cksExponent(y, d.law.sigma, t) }) {
			return y
		}
	}
}

// cksExponent returns (|y| − σ²/t)²/(2σ²).
func cksExponent(y int64, sigma, t float64) *big.Rat {
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	centre := new(big.Rat).SetFloat64(t)
	centre.Quo(variance, centre)
	z := new(big.Rat).SetInt64(max(y, -y))
	z.Sub(z, centre).Mul(z, z)
	return z.Quo(z, variance.Add(variance, variance))
}

// Sample draws X, an integer, and rounds it to a multiple of step, halves up. Where step ≤ 1
// nothing is rounded. The draw is exact (see [DiscreteGaussian.SampleInt]).
//
// step must be a power of two and σ ≤ 2⁴⁶·max(step, 1), so that the result is exact in a float64;
// otherwise the result is NaN.
func (d DiscreteGaussian) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.law.sigma, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}
