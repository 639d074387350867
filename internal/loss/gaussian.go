package loss

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/integrate/quad"
)

// The ranges of the Gaussian leaves: of the μ of [Gaussian], and of the σ of [DiscreteGaussian],
// which bounds its shift as well.
const (
	MostMu     = 8
	LeastSigma = 0x1p-10
	MostSigma  = 1 << 10
	// MostSampledMu is that of a sample. There are more cells from MostMu on, at least 2¹⁴.
	MostSampledMu = 65
)

// far is how many standard deviations are kept: the mass beyond, on one side, is below beyond =
// e^{−far²/2}, and counts as a loss of ∞.
const (
	far    = 17
	beyond = 0x1p-208
)

// Gaussian returns the distribution of N(0, 1) on a number that moves by μ: losses N(μ²/2, μ²). It
// bounds Gaussian noise in any number of coordinates where the ℓ₂ norm of the moves, each in units
// of the σ of its coordinate, is at most μ. μ is in [Least, MostSampledMu], and the lattice has
// that many cells, rounded up to a power of two, at least 1,024, or 2¹⁴ above MostMu. The
// distribution is symmetric: point i and the last but i have losses ±l, and the Q-mass of one is
// the P-mass of the other.
//
// With the density p(l) of the loss under P, a cell [L, L+h] has ∫p(l)·(1 − e^{−(l−L)})dl/(1 −
// e^{−h}) at its upper end and ∫p(l)·e^{−(l−L)}·(1 − e^{−(L+h−l)})dl/(1 − e^{−h}) at its lower one:
// positive integrands, so nothing cancels. Both are summed by the formula of Gauss and Legendre
// with ten nodes, whose error is below 2⁻⁶⁰ of the integral (loss_proof.md).
func Gaussian(mu float64, cells int) *Measure {
	least := 1024
	if mu > MostMu {
		least = 1 << 14
	}
	cells = 1 << bits.Len(uint(max(cells, least)-1))
	h := up(mu * (mu/2 + far) / float64(cells/2))
	m := &Measure{base: -h * float64(cells/2), step: h, mass: make([]float64, cells+1), releases: 1}
	// In units of μ: l = μ·(x + μ/2) with x ~ N(0, 1) under P.
	var nodes, weights [10]float64
	width := h / mu
	quad.Legendre{}.FixedLocations(nodes[:], weights[:], 0, width)
	scale := 1 / math.Sqrt(2*math.Pi) / -math.Expm1(-h)
	var lower, upper [10]float64
	for j, t := range nodes {
		lower[j] = weights[j] * scale * math.Exp(-mu*t) * -math.Expm1(-mu*(width-t))
		upper[j] = weights[j] * scale * -math.Expm1(-mu*t)
	}
	for i := range cells {
		at := float64(i-cells/2)*width - mu/2
		for j, t := range nodes {
			p := math.Exp(-(at + t) * (at + t) / 2)
			m.mass[i] += p * lower[j]
			m.mass[i+1] += p * upper[j]
		}
	}
	// x is off by a relative 2⁻⁵⁰, so x²/2 by 2⁻⁵⁰·x²; the others are a few roundings.
	most := far + mu
	for i := range m.mass {
		m.mass[i] = m.mass[i]*(1+(most*most+64)*0x1p-49) + floor
	}
	m.infinite = 2 * beyond // below −h·cells/2 and above
	return m
}

// DiscreteGaussian returns the distribution of discrete Gaussian noise of P-mass ∝ e^{−x²/2σ²} on
// the integers, on a number that moves by steps ≥ 1: the loss at the integer x is (steps² −
// 2·steps·x)/2σ². σ is in [LeastSigma, MostSigma] and steps at most MostSigma. The distribution is
// symmetric, as that of [Gaussian].
func DiscreteGaussian(sigma float64, steps int) *Measure {
	reach := int(math.Ceil(far*sigma)) + 1
	density := func(x int) float64 { return math.Exp(-float64(x) * float64(x) / (2 * sigma * sigma)) }
	sum := 0.0
	for x := -reach; x <= reach; x++ {
		sum += density(x) // no more than the sum over all integers, apart from rounding
	}
	n := 2*reach + steps // x from reach + steps down to −reach
	each := float64(steps) / (sigma * sigma)
	// The losses (i − n/2)·each, moved up by more than each is off.
	m := &Measure{base: -float64(n) / 2 * each * (1 - 0x1p-50), step: up(each * (1 + 0x1p-52)), mass: make([]float64, n+1), releases: 1}
	for i := range m.mass {
		x := float64(reach+steps-i) / sigma
		m.mass[i] = density(reach+steps-i)/sum*(1+(x*x+float64(n)+64)*0x1p-51) + floor
	}
	m.infinite = 4 * beyond
	return m
}
