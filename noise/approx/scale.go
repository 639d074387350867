package approx

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// This file calibrates noise for private approximation (Tětek, Additive Noise Mechanisms for Making Randomized Value Algorithms
// Differentially Private). A randomized algorithm A approximates g, a function of sensitivity Δ₁; its error R = A(x) − g(x) is not bounded, but concentrated.
// Released is A(x) + Y. For neighbours x, x′ write R, R′ for the errors and z for the output less g(x): with h the density of Y up to a factor,
// the densities of the releases are E h(z − R) and E h(z − δ − R′), |δ| ≤ Δ₁, the expectation over the algorithm's randomness. All three bounds below are on
// the logarithm of their ratio, hold for every ε > 0, and are the best possible.
//
// Moments. Let ‖R‖_α = (E|R|^α)^{1/α} ≤ Δ₂ for every input, α ≥ 1, and T = Δ₁ + 2Δ₂.
//
// Theorem 1 (in the place of Tětek's Theorem 14). With zero-symmetric Pareto noise, h(z) = (1+|z|/s)^{−α}, the release is ε-DP if and only if s ≥ T/(e^{ε/α} − 1).
//
// Theorem 2. With Student-type noise, h(z) = (1+z²/s²)^{−α/2}, and α ≥ 2 it is ε-DP if and only if s ≥ T/(2·sinh(ε/α)).
//
// Proof. (1) For y ≥ 0 the function φ(u) = h(y + u^{1/α}) is falling and convex on u ≥ 0. With v = u^{1/α} its slope is, up to a factor, −(1+(y+v)/s)^{−α−1}·v^{1−α} for
// Pareto, of falling size as α ≥ 1; for Student −(1+(y+v)²/s²)^{−α/2−1}·(y+v)·v^{1−α}, whose logarithm has in v a slope of at most 1/(y+v) + (1−α)/v ≤ (2−α)/v ≤ 0.
// So by Jensen E h(z − δ − R′) ≥ E φ(|R′|^α) ≥ φ(Δ₂^α) = h(|z−δ| + Δ₂) ≥ h(|z| + Δ₁ + Δ₂), where y = |z−δ|.
//
// (2) As |z| ≤ |z−R| + |R|, the ratio is at most E[(w(|z−R| + D)/w(|z−R|))^α] with w = h^{−1/α}, D = Δ₁ + Δ₂ + |R|, and ‖D‖_α ≤ T by Minkowski. Pareto: w(x+D)/w(x) ≤ 1 + D/s,
// whose norm is at most 1 + T/s: the loss is at most α·ln(1 + T/s). Student: w(x) = √(1+x²/s²), and w(x+D)/w(x) is largest where x² + Dx = s²: it is F(τ) = τ + √(1+τ²) at τ = D/(2s). By
// Minkowski, in L^α and for the square in L^{α/2}, ‖F(τ)‖_α ≤ ‖τ‖_α + √(1 + ‖τ‖_α²), so the loss is at most α·ln F(T/(2s)) = α·asinh(T/(2s)).
//
// (3) Necessity: g(x) − g(x′) = Δ₁, R = Δ₂ and R′ = −Δ₂ with certainty shift the density by T, and sup_z ln h(z)/h(z+T) is the bound. ∎
//
// Subexponential error. Let Pr[|R| ≥ t] ≤ 2e^{−t/Δ₂} for all t, and h(z) = e^{−|z|/b}.
//
// Theorem 3 (in the place of Theorem 10). One release is ε-DP if ε ≥ Δ₁/b + ln(4^d·(1+d)/(1−d)), d = Δ₂/b < 1, and for no less. For k releases from one
// execution, of which each may be chosen after seeing those before, ε ≥ kΔ₁/b + (1 + 2·ln 2)·D − ln(1−D) with D = kΔ₂/b < 1 is enough.
//
// Proof. |R| is stochastically at most Δ₂·ln(2/U), U uniform. k = 1: E e^{|R|/b} ≤ E(2/U)^d = 2^d/(1−d) and E e^{−|R′|/b} ≥ 2^{−d}/(1+d). k > 1, fixed queries: by Hölder
// E e^{Σ|Rᵢ|/b} ≤ Π(E e^{k|Rᵢ|/b})^{1/k} ≤ 2^D/(1−D), however the errors depend on one another, and by Jensen E e^{−Σ|Rᵢ|/b} ≥ e^{−Σ E|Rᵢ|/b} ≥ e^{−D(1+ln 2)}. Adaptive queries are
// covered by Tětek's Lemma 9, as every fixed sequence is. Tight at k = 1: with |R| of exactly that law, R = min(|R|, y) against −|R′|, y → ∞. ∎
//
// Theorem 10 has the scale c·k·(Δ₁+Δ₂)/ε; its proof loses the factor 1/ln 2 of Fact 5 and a factor 3 in Lemma 6, and is limited to small ε. With Δ₁ = 0 and Δ₂ = 1 at ε = 1:
//
//	                      printed          here
//	subexponential k = 1  3.77             3.45
//	              k = 10  113              35.6
//	moment α = 3, ε = 0.1 55 (not private) Pareto 59.0, Student 30.0, both with E|Y| = s
//	             ε = 1    5.5              Pareto 5.06, Student 2.94
//	             ε = 4    1.375            Pareto 0.716, Student 0.567

// The ranges of private approximation.
const (
	leastParam = 0x1p-900 // of all that is in the units of the data
	mostParam  = 0x1p900
	wantParam  = "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]"
	mostMoment = 0x1p10 // the largest shape of noise.Student

	leastEpsilon = 0x1p-30
	mostEpsilon  = 0x1p10
	mostQueries  = 1 << 30
)

// ParetoScale returns s ≥ (Δ₁+2Δ₂)/(e^{ε/α} − 1), larger by at most a relative 1e-12: the scale at which [noise.Pareto] noise of shape α makes an estimate of
// a function of sensitivity Δ₁, with an error of (E|R|^α)^{1/α} ≤ Δ₂ on every input, ε-differentially private (Theorem 1 in scale.go). No smaller scale does.
//
// epsilon and shape are without unit, sensitivity Δ₁, moment Δ₂ and the result in the units of the data. The error wraps [ErrParams] unless epsilon
// is in [2⁻³⁰, 2¹⁰], shape in (1, 2²⁰], sensitivity and moment 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰] and not both 0, and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func ParetoScale(epsilon, sensitivity, moment, shape float64) (float64, error) {
	if err := checkNumbers(epsilon, sensitivity, "moment", moment); err != nil {
		return math.NaN(), err
	}
	if _, err := noise.NewPareto(shape, 1); err != nil {
		return math.NaN(), err
	}
	y := epsilon / shape
	return momentScale(y, math.Expm1(y), sensitivity, moment)
}

// StudentScale returns s ≥ (Δ₁+2Δ₂)/(2·sinh(ε/α)), larger by at most a relative 1e-12: the same as [ParetoScale] for [noise.Student] noise of shape α
// (Theorem 2 in scale.go). The error wraps [ErrParams] likewise, and unless shape is in [2, 2¹⁰].
func StudentScale(epsilon, sensitivity, moment, shape float64) (float64, error) {
	if err := checkNumbers(epsilon, sensitivity, "moment", moment); err != nil {
		return math.NaN(), err
	}
	if _, err := noise.NewStudent(shape, 1); err != nil {
		return math.NaN(), err
	}
	y := epsilon / shape
	grown := math.Expm1(y) // e^y − e^{−y} = grown + grown/(1 + grown)
	return momentScale(y, grown+grown/(1+grown), sensitivity, moment)
}

// momentScale returns (Δ₁+2Δ₂)/growth, rounded up. growth is e^y − 1 or e^y − e^{−y}, and y = ε/α was rounded by a relative 2⁻⁵³, which moves it by a relative
// (1+y)·2⁻⁵³; its own roundings and those below are less than 6·2⁻⁵³.
func momentScale(y, growth, sensitivity, moment float64) (float64, error) {
	scale := round.SumUp(sensitivity, 2*moment) / growth * (1 + (y+8)*0x1p-52)
	return checkScale(scale, max(sensitivity, moment))
}

// SubexponentialScale returns the least b, up to a relative 1e-12 and rounded up, at which [noise.Laplace] noise in each of up to queries answers from one execution of an
// estimator makes them ε-differentially private together: answers for a function of sensitivity Δ₁ each, with an error of subexponential diameter Δ₂ on every
// input, Pr[|R| ≥ t] ≤ 2e^{−t/Δ₂} (Theorem 3 in scale.go). The queries may be chosen adaptively; the randomness of the estimator stays secret.
//
// epsilon is without unit, sensitivity Δ₁, diameter Δ₂ and the result in the units of the data. The error wraps [ErrParams] unless epsilon is in
// [2⁻³⁰, 2¹⁰], sensitivity and diameter 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰] and not both 0, queries in [1, 2³⁰], and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func SubexponentialScale(epsilon, sensitivity, diameter float64, queries int) (float64, error) {
	if err := checkNumbers(epsilon, sensitivity, "diameter", diameter); err != nil {
		return math.NaN(), err
	}
	if queries < 1 || queries > mostQueries {
		return math.NaN(), fault.Params("approx", "queries", queries, "an integer in [1, 2³⁰]")
	}
	k := float64(queries)
	// In the unit of the larger Δ nothing overflows. At the upper end D ≤ min(¼, ε/16), so the terms in D are below 3.6·D < ε/4, and kΔ₁/b ≤ ε/2.
	unit := max(sensitivity, diameter)
	delta1, delta2 := sensitivity/unit, diameter/unit
	most := 2 * k * (delta1/epsilon + delta2*max(2, 8/epsilon))
	scale := search.Float(most*0x1p-60, most, func(b float64) bool { return subexponentialLoss(b, delta1, delta2, queries) <= epsilon })
	return checkScale(scale*unit*(1+0x1p-50), unit)
}

// subexponentialLoss returns an upper bound of the ε of Theorem 3, at most a relative 1e-14 above it. kΔ/b is rounded twice, so 2⁻⁵¹ makes
// it an upper bound; all terms are positive, and none loses more than 2⁻⁵¹ of itself.
func subexponentialLoss(b, delta1, delta2 float64, queries int) float64 {
	k := float64(queries)
	shift, d := k*delta1/b*(1+0x1p-51), k*delta2/b*(1+0x1p-51)
	if d >= 1 {
		return math.Inf(1)
	}
	loss := shift - math.Log1p(-d)
	if queries == 1 {
		loss += 2*math.Ln2*d + math.Log1p(d)
	} else {
		loss += (1 + 2*math.Ln2) * d
	}
	return loss * (1 + 0x1p-49)
}

// checkNumbers checks what the scales have in common.
func checkNumbers(epsilon, sensitivity float64, field string, bound float64) error {
	const want = "0 or a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]"
	inRange := func(x float64) bool { return x == 0 || x >= leastParam && x <= mostParam }
	switch {
	case !(epsilon >= leastEpsilon && epsilon <= mostEpsilon):
		return fault.Params("approx", "epsilon", epsilon, "a number in [2⁻³⁰, 2¹⁰]")
	case !inRange(sensitivity):
		return fault.Params("approx", "sensitivity", sensitivity, want)
	case !inRange(bound):
		return fault.Params("approx", field, bound, want)
	case sensitivity == 0 && bound == 0:
		return fault.Params("approx", "sensitivity", sensitivity, "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰], the bound on the error being 0")
	}
	return nil
}

// checkScale returns the scale, or an error that blames the larger of Δ₁ and Δ₂ if no distribution has it.
func checkScale(scale, unit float64) (float64, error) {
	if !(scale >= leastParam && scale <= mostParam) {
		return math.NaN(), fault.Params("approx", "sensitivity", unit, "numbers with a scale in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	}
	return scale, nil
}
