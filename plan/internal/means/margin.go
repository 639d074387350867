package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// How far beyond the released C rows are clipped.
//
// C is found where about k rows are longer, and k is as small as a private quantile can be; in few
// columns that is still so many rows that what they lose weighs as much as the noise. Clipping at
// g·C instead multiplies the noise by g. What is lost falls faster than that where the tail is
// light, and slower where it is heavy, and the released M₁ and C say which: their ratio tells how
// far the tail reaches. This is post-processing of both and costs no budget.
//
// The model. Norms beyond M₁ are taken for lognormal, with M₁ as the median: then C = M₁·exp(σz), z
// the normal quantile of 1 − k/n, and near C the tail falls like a power law of the exponent
//
//	a = z·h/ln(C/M₁),  h = φ(z)/(k/n) the hazard rate of the normal law at z.
//
// Beyond g·C such a tail has k·g^{−a} rows, which are longer by g·C/(a−1) on average, so together
// they lose A·g^{1−a} in units of the noise at g = 1, with
//
//	A = k/((a−1)·s·√(d/(2ρ))),  s the sensitivity of the sum in units of C,
//
// if all lose in one direction, and 1/√d of that if each loses in a coordinate of its own. The sum
// of the squares of A·g^{1−a} and g is least where g^{2a} = A²·(a−1). The rule takes 0.7·A/d^{1/3}
// for A, between both cases and a little less, as that is the mean error and not its square, and
// keeps a ≥ 2 and g ≤ 2, for tails that are not what their length says (a few rows far from all
// others). Entries of two passes have no sign, so what is lost is lost in one direction, that of the
// columns with the largest means, and A is not divided by d^{1/3}; but counts in rows of about the
// same length (a > 6) lose less than they would by more noise, and have g = 1. In the suite of examples/means it has less error than g = 1, and NoiseInterval covers
// what it did not.

const (
	marginPart = 0.7 // of A
	leastTail  = 2   // a
	mostChosen = 2   // g
	lightTail  = 6   // the a from which on two passes have g = 1
)

// choosesMargin reports whether valid Params leave g to the rule: M₁ must have been released, and
// the depth of depth.go chosen for skewed rows.
func (p Params) choosesMargin() bool {
	return p.Margin == 0 && (p.Method == Adaptive || p.Method == TwoPass) && !p.Symmetric && p.Steps.Clip == 0 && p.Steps.Base != quantile.Uniform
}

// marginFor returns g for a C that k of n rows were to exceed, and M₁.
func (p Params) marginFor(limit, typical, k, n float64) float64 {
	if !p.choosesMargin() {
		return max(p.Margin, 1)
	}
	reach, tail := math.Log(limit/typical), min(k/cap1(n), mostClipped)
	if !(reach > 0 && tail > 0) {
		return 1
	}
	z := math.Sqrt2 * math.Erfinv(1-2*tail)
	hazard := math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * tail)
	a, d := max(z*hazard/reach, leastTail), float64(p.Dim)
	lost := marginPart * k / ((a - 1) * p.sumSensitivity() * math.Sqrt(d/(2*p.Rho)))
	switch {
	case p.Method == Adaptive:
		lost /= math.Cbrt(d)
	case a > lightTail:
		return 1
	}
	return min(max(math.Pow(lost*lost*(a-1), 1/(2*a)), 1), mostChosen)
}
