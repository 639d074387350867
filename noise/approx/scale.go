package approx

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// This file calibrates noise for private approximation. A randomized algorithm A approximates g, a
// function of sensitivity Δ₁; its error R = A(x) − g(x) is not bounded, but concentrated. Released
// is A(x) + Y. scale_proof.md proves the three theorems, which hold for every ε > 0.
//
// Theorem 1 (in the place of Tětek's Theorem 14). If (E|R|^α)^{1/α} ≤ Δ₂ on every input,
// zero-symmetric Pareto noise makes the release ε-DP if and only if s ≥ (Δ₁+2Δ₂)/(e^{ε/α} − 1).
//
// Theorem 2. Under the same condition, with α ≥ 2, Student-type noise makes it ε-DP if and only if
// s ≥ (Δ₁+2Δ₂)/(2·sinh(ε/α)).
//
// Theorem 3 (in the place of Theorem 10). If Pr[|R| ≥ t] ≤ 2e^{−t/Δ₂} on every input, Laplace noise
// makes one release ε-DP if ε ≥ Δ₁/b + ln(4^d·(1+d)/(1−d)), d = Δ₂/b < 1, and for no less. For k
// releases from one execution, of which each may be chosen after seeing those before, it is enough
// that ε ≥ kΔ₁/b + (1 + 2·ln 2)·D − ln(1−D) with D = kΔ₂/b < 1.
//
// The paper's constants, for Δ₁ = 0 and Δ₂ = 1:
//
//	                             printed            here
//	subexponential, ε = 1, k = 1   3.77             3.45
//	                      k = 10   113              35.6
//	moment α = 3, ε = 0.1          55 (not private) Pareto 59.0, Student 30.0, both with E|Y| = s
//	              ε = 1            5.5              Pareto 5.06, Student 2.94
//	              ε = 4            1.375            Pareto 0.716, Student 0.567

// The ranges of private approximation.
const (
	leastParam = 0x1p-900 // of all that is in the units of the data
	mostParam  = 0x1p900
	wantParam  = "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]"
	mostMoment = 0x1p10 // the largest shape of noise.Student

	mostQueries = 1 << 30
)

// paretoScale returns s ≥ (Δ₁+2Δ₂)/(e^{ε/α} − 1), larger by at most a relative 1e-12: the scale at
// which [noise.Pareto] noise of shape α makes an estimate of a function of sensitivity Δ₁, with an
// error of (E|R|^α)^{1/α} ≤ Δ₂ on every input, ε-differentially private (Theorem 1 in scale.go). No
// smaller scale does.
//
// epsilon and shape are without unit, sensitivity Δ₁, moment Δ₂ and the result in the units of the
// data. The error wraps [ErrParams] unless epsilon is in [2⁻³⁰, 2¹⁰], shape in (1, 2²⁰],
// sensitivity and moment 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰] and not both 0, and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func paretoScale(epsilon, sensitivity, moment, shape float64) (float64, error) {
	if err := checkNumbers(epsilon, sensitivity, "moment", moment); err != nil {
		return math.NaN(), err
	}
	if _, err := noise.NewPareto(shape, 1); err != nil {
		return math.NaN(), err
	}
	y := epsilon / shape
	return momentScale(y, math.Expm1(y), sensitivity, moment)
}

// studentScale returns s ≥ (Δ₁+2Δ₂)/(2·sinh(ε/α)), larger by at most a relative 1e-12: the same as
// [paretoScale] for [noise.Student] noise of shape α (Theorem 2 in scale.go). The error wraps
// [ErrParams] likewise, and unless shape is in [2, 2¹⁰].
func studentScale(epsilon, sensitivity, moment, shape float64) (float64, error) {
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

// momentScale returns (Δ₁+2Δ₂)/growth, rounded up. growth is e^y − 1 or e^y − e^{−y}, and y = ε/α
// was rounded by a relative 2⁻⁵³, which moves it by a relative (1+y)·2⁻⁵³; its own roundings and
// those below are less than 6·2⁻⁵³.
func momentScale(y, growth, sensitivity, moment float64) (float64, error) {
	scale := exact.SumUp(sensitivity, 2*moment) / growth * (1 + (y+8)*0x1p-52)
	return checkScale(scale, max(sensitivity, moment))
}

// subexponentialScale returns the least b, up to a relative 1e-12 and rounded up, at which
// [noise.Laplace] noise in each of up to queries answers from one execution of an estimator makes
// them ε-differentially private together: answers for a function of sensitivity Δ₁ each, with an
// error of subexponential diameter Δ₂ on every input, Pr[|R| ≥ t] ≤ 2e^{−t/Δ₂} (Theorem 3 in
// scale.go). The queries may be chosen adaptively; the randomness of the estimator stays secret.
//
// epsilon is without unit, sensitivity Δ₁, diameter Δ₂ and the result in the units of the data. The
// error wraps [ErrParams] unless epsilon is in [2⁻³⁰, 2¹⁰], sensitivity and diameter 0 or in
// [2⁻⁹⁰⁰, 2⁹⁰⁰] and not both 0, queries in [1, 2³⁰], and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func subexponentialScale(epsilon, sensitivity, diameter float64, queries int) (float64, error) {
	if err := checkNumbers(epsilon, sensitivity, "diameter", diameter); err != nil {
		return math.NaN(), err
	}
	if queries < 1 || queries > mostQueries {
		return math.NaN(), check.ParamsError("approx", "queries", queries, "an integer in [1, 2³⁰]")
	}
	k := float64(queries)
	// In the unit of the larger Δ nothing overflows. At the upper end D ≤ min(¼, ε/16), so the
	// terms in D are below 3.6·D < ε/4, and kΔ₁/b ≤ ε/2.
	unit := max(sensitivity, diameter)
	delta1, delta2 := sensitivity/unit, diameter/unit
	most := 2 * k * (delta1/epsilon + delta2*max(2, 8/epsilon))
	scale := exact.LeastFloat(most*0x1p-60, most, func(b float64) bool { return subexponentialLoss(b, delta1, delta2, queries) <= epsilon })
	return checkScale(scale*unit*(1+0x1p-50), unit)
}

// subexponentialLoss returns an upper bound of the ε of Theorem 3, at most a relative 1e-14 above
// it. kΔ/b is rounded twice, so 2⁻⁵¹ makes it an upper bound; all terms are positive, and none
// loses more than 2⁻⁵¹ of itself.
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
	if err := check.Epsilon("approx", epsilon, check.MaxEpsilon); err != nil {
		return err
	}
	switch {
	case !inRange(sensitivity):
		return check.ParamsError("approx", "Sensitivity", sensitivity, want)
	case !inRange(bound):
		return check.ParamsError("approx", field, bound, want)
	case sensitivity == 0 && bound == 0:
		return check.ParamsError("approx", "Sensitivity", sensitivity, "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰], the bound on the error being 0")
	}
	return nil
}

// checkScale returns the scale, or an error that blames the larger of Δ₁ and Δ₂ if no distribution
// has it.
func checkScale(scale, unit float64) (float64, error) {
	if !(scale >= leastParam && scale <= mostParam) {
		return math.NaN(), check.ParamsError("approx", "Sensitivity", unit, "numbers with a scale in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	}
	return scale, nil
}
