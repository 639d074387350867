package noise

import "math"

// Group returns the guarantee for pairs of inputs that are at most m steps of the relation apart: for users with up to m
// records each, say, or for vectors at a distance of m·Δ. Group(1) is g. An m below 1 gives a Guarantee that promises nothing,
// and so does a group so large that no δ below 1 is left.
//
// Each release counts by itself, then they compose:
//
//   - (ε, δ)-DP becomes (mε, δ·(1 + e^ε + … + e^{(m−1)ε}))-DP: Pr[M(x₀) ∈ E] ≤ e^ε·Pr[M(x₁) ∈ E] + δ, and so on along
//     x₀, x₁, …, xₘ. A mechanism that attains it exists wherever that δ leaves room for one. The sum is (e^{mε} − 1)/(e^ε − 1),
//     where the usual statement has m·e^{mε} (Lebeda and Tětek, Better Differentially Private Approximate Histograms and Heavy
//     Hitters using the Misra-Gries Sketch, TODS, Lemma 19).
//   - ρ-zCDP becomes m²ρ-zCDP (Bun and Steinke, TCC 2016, Proposition 1.9).
//
// The result names the same [Relation]: it is the caller who knows that a step now stands for m. Composing
// it with guarantees for fewer steps is sound, and holds for the fewest.
func (g Guarantee) Group(m int) Guarantee {
	switch {
	case !g.promised || m < 1:
		return Guarantee{relation: g.relation}
	case m == 1:
		return g
	}
	// The releases behind g, each as a release on groups, are again of the kinds that a Guarantee stands for, with the sums
	// Σmεᵢ, Σ(mεᵢ)²/2, Σδᵢ·s(εᵢ) and Σm²ρᵢ, s the geometric sum. s increases, so s(εᵢ) ≤ s(Σε), and Σδ·s(Σε) bounds
	// the third. Nothing else enters into the bounds (A), (B), (C), and they increase with the sums.
	steps := float64(m)
	if steps >= 0x1p53 { // perhaps rounded
		steps = math.Nextafter(steps, math.Inf(1))
	}
	squared := productUp(steps, steps)
	group := Guarantee{
		relation:    g.relation,
		promised:    true,
		epsilon:     productUp(steps, g.epsilon),
		halfSquares: productUp(squared, g.halfSquares),
		delta:       groupDelta(g.delta, g.epsilon, steps),
		rho:         productUp(squared, g.rho),
	}
	if !(group.delta < 1) || math.IsInf(group.epsilon, 1) || math.IsInf(group.rho, 1) {
		return Guarantee{relation: g.relation}
	}
	return group
}

// groupDelta returns δ·(1 + e^ε + … + e^{(m−1)ε}) rounded up, where steps is m ≥ 2, or from 2⁵³ on the float64 above it. It is
// +Inf where that is far above 1.
func groupDelta(delta, epsilon, steps float64) float64 {
	switch {
	case delta == 0:
		return 0
	case epsilon == 0:
		return productUp(steps, delta)
	}
	// The sum is e^{(m−1)ε}·(1 − e^{−mε})/(1 − e^{−ε}). Up to 2⁵³ steps−1 is exact; above, it is rounded down by at most 1.
	last := productUp(steps-1, epsilon)
	if last > 746 { // δ ≥ 2⁻¹⁰⁷⁴ > e^{−745}
		return math.Inf(1)
	}
	ratio := math.Expm1(-productUp(steps, epsilon)) / math.Expm1(-epsilon)
	half := math.Exp(last / 2) // in two halves nothing overflows
	if last > 600 {            // and nothing underflows
		return delta * half * (half * ratio) * (1 + 0x1p-49)
	}
	return math.Nextafter(delta*(half*half*ratio*(1+0x1p-49)), 2)
}

// productUp returns the least float64 ≥ a·b, for a, b ≥ 0; below 2⁻⁹⁰⁰ it may be the one after. 0·∞ is 0.
func productUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if p < 0x1p-900 || math.FMA(a, b, -p) > 0 { // the remainder is exact from there on
		p = math.Nextafter(p, math.Inf(1))
	}
	return p
}
