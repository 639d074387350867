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
// others). In the suite of examples/evidence it has less error than g = 1, and NoiseInterval covers
// what it did not.
//
// Of two passes over rows without a sign the first has told the means, so in the second the sum of
// what is lost can be held against that of the noise over all columns, as ℓ₁ norms. A row of norm
// M₁ has the sum Q of the means, so rows that are longer by C/(a−1) lose Q·C/(M₁·(a−1)) each, and A
// is k of that, over the noise of the sums at C; all of it, as both are in one norm.

const (
	marginPart = 0.7 // of A
	leastTail  = 2   // a
	mostChosen = 2   // g
)

// choosesMargin reports whether valid Params leave g to the rule: M₁ must have been released, and
// the depth of depth.go chosen for skewed rows.
func (p Params) choosesMargin() bool {
	return p.Margin == 0 && (p.Method == Adaptive || p.Method == TwoPass) && !p.Symmetric && p.Steps.Clip == 0 && p.Steps.Base != quantile.Uniform
}

// noiseRows returns how many rows, each longer by C, weigh as much as the noise at C; +Inf for two
// passes, where the first has to tell.
func (p Params) noiseRows() float64 {
	if p.Method == TwoPass {
		return math.Inf(1)
	}
	d := float64(p.Dim)
	return p.sumSensitivity() * math.Sqrt(d/(2*p.Rho)) * math.Cbrt(d)
}

// noiseRows is that of the Params, or, in the second of two passes, what the first tells.
func (r *run) noiseRows(typical float64) float64 {
	if r.content == 0 {
		return r.p.noiseRows()
	}
	sum := 0.0
	for _, f := range r.factor {
		sum += 1 / math.Abs(f)
	}
	return marginPart * math.Sqrt(2/math.Pi) * r.p.sumSensitivity() * typical * sum / (math.Sqrt(2*r.budget.left()) * r.content)
}

// marginFor returns g for a C that k of n rows were to exceed, M₁, and the noise in rows.
func (p Params) marginFor(limit, typical, k, n, noise float64) float64 {
	if !p.choosesMargin() {
		return max(p.Margin, 1)
	}
	reach, tail := math.Log(limit/typical), min(k/cap1(n), secondClipped)
	if !(reach > 0 && tail > 0) {
		return 1
	}
	z := math.Sqrt2 * math.Erfinv(1-2*tail)
	hazard := math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * tail)
	a := max(z*hazard/reach, leastTail)
	lost := marginPart * k / ((a - 1) * noise)
	return min(max(math.Pow(lost*lost*(a-1), 1/(2*a)), 1), mostChosen)
}
