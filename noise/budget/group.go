package budget

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Group returns the guarantee for m units at once: for one user with up to m elements if g is for
// one element added or removed, for vectors at m times the distance, or for any group of m users,
// keys, rows or parties. Group(1) is g. If the group is so large that δ would reach 1, or g
// promises nothing, the result promises nothing.
//
// The rule is applied to each release, then the results compose:
//
//   - (ε, δ)-DP becomes (mε, δ·(1 + e^ε + … + e^{(m−1)ε}))-DP: Pr[M(x₀) ∈ E] ≤ e^ε·Pr[M(x₁) ∈ E] +
//     δ, and so on along x₀, x₁, …, xₘ. A mechanism that attains it exists wherever that δ leaves
//     room for one. The sum is (e^{mε} − 1)/(e^ε − 1), where the usual statement has m·e^{mε}
//     (Lebeda and Tětek, Better Differentially Private Approximate Histograms and Heavy Hitters
//     using the Misra-Gries Sketch, TODS, Lemma 19).
//   - ρ-zCDP becomes m²ρ-zCDP (Bun and Steinke, TCC 2016, Proposition 1.9), and μ-GDP becomes
//     mμ-GDP (Dong, Roth, Su, Theorem 3.1). The escapes beside Gaussian noise grow as its power
//     does (proof at besideEscape).
//
// The error wraps [ErrParams] unless m is in [1, 2³⁰], and [ErrMismatch] if the unit has no groups
// of that size.
func (g Guarantee) Group(m int) (Guarantee, error) {
	if m < 1 || m > mostMany {
		return Guarantee{}, check.ParamsError("budget", "the size of the group", m, "an integer in [1, 2³⁰]")
	}
	if !g.promised {
		return Guarantee{}, nil
	}
	unit := g.unit.times(m)
	if !unit.Valid() {
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, fmt.Sprintf("a group of %d", m))
	}
	return g.steps(m, unit, pathOf(g.unit, unit))
}

// along returns what g promises to a unit whose neighbours are at most m ≥ 1 steps of g's unit
// apart, and false if no rule is known.
func (g Guarantee) along(m int, u Unit, by path) (Guarantee, bool) {
	if m == 1 {
		return promise(u, g.sums, g.pair).under(g.on), true
	}
	// The releases behind g, each as a release on groups, are again of the kinds that a Guarantee
	// stands for, with the sums Σmεᵢ, Σmεᵢ·tanh(mεᵢ/2), Σδᵢ·s(εᵢ), Σm²ρᵢ and Σm²μᵢ², s the
	// geometric sum. s increases, so s(εᵢ) ≤ s(Σε), and Σδ·s(Σε) bounds the third. Nothing else
	// enters into the bounds (A) to (D), and they increase with the sums.
	steps := stepsUp(m)
	squared := exact.ProductUp(steps, steps)
	s := sums{
		epsilon: exact.ProductUp(steps, g.epsilon),
		// tanh(mx) ≤ m·tanh(x), and tanh increases
		responses: min(exact.ProductUp(squared, g.responses), responseRho(exact.ProductUp(steps, g.epsilon))),
		delta:     groupDelta(g.delta, g.epsilon, steps),
		rho:       exact.ProductUp(squared, g.rho),
		muSquares: exact.ProductUp(squared, g.muSquares),
	}
	if g.pair.beside > 0 && g.concentrated() > 0 { // some of δ may be beside what was asked by μ
		escape, ok := g.besideEscape(m)
		if !ok {
			return Guarantee{}, false
		}
		s.delta = exact.SumUp(s.delta, escape)
	}
	p, ok := g.pair.along(m, s, by)
	if !ok {
		return Guarantee{}, false
	}
	if pairOf(g.sums).bounds() == g.pair.bounds() {
		s.responses = min(s.responses, p.responses)
	}
	return promise(u, s, p).under(g.on), true
}

// besideEscape is pair.besideEscape for the sums that were asked for. No rule is known by ρ.
func (g Guarantee) besideEscape(m int) (escape float64, ok bool) {
	// ρ stands for any others
	asked := pair{escape: g.delta, muSquares: g.muSquares, beside: g.pair.beside, rho: g.epsilon}
	escape, ok = asked.besideEscape(m)
	return escape, ok && g.rho == 0
}

// groupDelta returns δ·(1 + e^ε + … + e^{(m−1)ε}) rounded up, where steps is m ≥ 2, or from 2⁵³ on
// the float64 above it. It is +Inf where that is far above 1.
func groupDelta(delta, epsilon, steps float64) float64 {
	switch {
	case delta == 0:
		return 0
	case epsilon == 0:
		return exact.ProductUp(steps, delta)
	}
	// The sum is e^{(m−1)ε}·(1 − e^{−mε})/(1 − e^{−ε}). Up to 2⁵³ steps−1 is exact; above, it is
	// rounded down by at most 1.
	last := exact.ProductUp(steps-1, epsilon)
	if last > 746 { // δ ≥ 2⁻¹⁰⁷⁴ > e^{−745}
		return math.Inf(1)
	}
	ratio := math.Expm1(-exact.ProductUp(steps, epsilon)) / math.Expm1(-epsilon)
	half := math.Exp(last / 2) // in two halves nothing overflows
	if last > 600 {            // and nothing underflows
		return delta * half * (half * ratio) * (1 + 0x1p-49)
	}
	return math.Nextafter(delta*(half*half*ratio*(1+0x1p-49)), 2)
}
