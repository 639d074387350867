package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/search"
)

// The exact privacy of Gaussian noise (Balle and Wang, ICML 2018, arXiv 1805.06530, Theorem 8).
// With μ = Δ₂/σ,
//
//	δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) = Q(t₁) − e^ε·Q(t₂),  t₁ = ε/μ − μ/2,  t₂ = ε/μ + μ/2.
//
// As e^ε·φ(t₂) = φ(t₁) and t₂ − t₁ = μ, in terms of the Mills ratio R and its slope
//
//	δ = φ(t₁)·(R(t₁) − R(t₁ + μ)) = φ(t₁)·∫_{t₁}^{t₁+μ} (1 − u·R(u)) du,
//
// where nothing cancels; and 1 − δ = Q(−t₁) + φ(t₁)·R(t₂) for t₁ < 0, a sum of positive terms. δ
// increases with μ (∂δ/∂μ = φ(t₁)), and for fixed ε so does −t₁.

// deltaMargin is the relative error allowed for: the calibration uses all of it, a reported δ half.
// The evaluation errs by less than a quarter, 9e-13, for |t₁| ≤ 40: at most 7e-13 from t₁²/2
// (2⁻⁵¹·t₁²), 8e-14 from ln δ itself, 1e-14 from R, 2e-14 from the slope.
const deltaMargin = 0x1p-38

// GaussianSigma returns the least σ, up to rounding up by at most a relative 1e-11, at which N(0,
// σ²) noise in every coordinate makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-differentially private.
// It never returns less than the ideal σ.
//
// epsilon and delta are without unit, sensitivity and the result in the units of the data. The
// error wraps [ErrParams] unless ε is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], δ in [2⁻¹⁰²², 1), and the sensitivity
// and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
//
// It is the analytic Gaussian mechanism (arXiv 1805.06530, Algorithm 1), solved for t₁ in place of
// σ: then μ = √(t₁² + 2ε) − t₁ and t₂ = √(t₁² + 2ε) without cancellation, for every ε.
func GaussianSigma(epsilon, delta, sensitivity float64) (float64, error) {
	if err := checkEpsilonOrZero(epsilon); err != nil {
		return math.NaN(), err
	}
	if err := checkDelta(delta); err != nil {
		return math.NaN(), err
	}
	if err := checkParam("sensitivity", sensitivity); err != nil {
		return math.NaN(), err
	}
	root, target := math.Sqrt(2*epsilon), math.Log(delta)
	safe := func(t float64) bool {
		mu := shift(t, root)
		if logDelta, _, ok := gaussLogDelta(t, mu); ok {
			return logDelta+deltaMargin <= target
		}
		return gaussComplement(t, mu)*(1-deltaMargin) >= 1-delta
	}
	// δ < φ(40)·R(40) < e^{−804} at the upper end is below every δ, and 1 − δ < 2·Q(40) at the
	// lower is above.
	t := search.Float(-40, 40, safe)
	mu := shift(t, root) * (1 - 0x1p-50) // shift is within 3 units in the last place
	want := "a number with σ in [2⁻⁹⁰⁰, 2⁹⁰⁰] for these epsilon and delta"
	if !(mu >= leastParam) {
		// σ is above the sensitivity by 2⁹⁰⁰ or more; or ε = 0 and δ next to nothing
		return math.NaN(), fault.Params("noise", "sensitivity", sensitivity, want)
	}
	return checkScale(round.QuotientUp(sensitivity, mu), sensitivity, want)
}

// shift returns μ = √(t² + 2ε) − t, the ratio Δ₂/σ that belongs to t₁ = t, given root = √(2ε).
func shift(t, root float64) float64 {
	h := math.Hypot(t, root)
	if t > 0 {
		return root * (root / (h + t))
	}
	return h - t
}

// gaussLogDelta returns ln δ for t₁ = t ≥ −μ/2, to an absolute error of deltaMargin/4 for |t| ≤ 40.
// drop is R(t₁) − R(t₁+μ). It returns false where δ is between 0.2 and 1 and [gaussComplement] is
// the better number: t < 0 and μ ≥ 1.
func gaussLogDelta(t, mu float64) (logDelta, drop float64, ok bool) {
	if t < 0 && mu >= 1 {
		return 0, 0, false
	}
	if math.IsInf(t, 1) {
		return math.Inf(-1), 0, true
	}
	drop = millsDrop(t, mu)
	return -float64(t*t)/2 - logSqrt2Pi + math.Log(drop), drop, true
}

// gaussComplement returns 1 − δ for t₁ = t < 0.
func gaussComplement(t, mu float64) float64 {
	return normalTail(-t, 0) + gaussKernel(t, 0)*mills(t+mu)/sqrt2Pi
}

// millsDrop returns R(t) − R(t+μ) > 0 for t ≥ −½.
//
// For a short interval [t, t + μ] it integrates −R′ = 1 − u·R(u) > 0 by 10-point Gauss–Legendre.
// −R′ is entire and varies on the scale 1 + u, of which the half-width is at most a quarter: the
// error is below 6e-19, computed with 50 digits for t from −½ to 40 at the longest interval, and
// tends to that of 1/u² on [1, 3/2] for large t. 5 points will do, with 2e-17, where the interval
// is an eighth of that. For a long one R(t+μ) ≤ 0.75·R(t) and the difference loses a factor of 4.
func millsDrop(t, mu float64) float64 {
	if mu > (1+max(t, 0))/2 {
		return mills(t) - mills(t+mu)
	}
	half, rule := mu/2, legendre10[:]
	if mu <= (1+max(t, 0))/16 {
		rule = legendre5[:]
	}
	sum := 0.0
	for _, g := range rule { // t + μ itself may round to t
		sum += g.weight * (millsSlope(t+float64(half*(1-g.x))) + millsSlope(t+float64(half*(1+g.x))))
	}
	return half * sum
}

// quadrature is a pair of nodes ±x of a Gauss–Legendre rule on [−1, 1], with the weight of each.
type quadrature struct{ x, weight float64 }

var (
	legendre10 = [5]quadrature{
		{0.148874338981631210884826, 0.295524224714752870173893}, {0.4333953941292471907992659, 0.2692667193099963550912269},
		{0.6794095682990244062343274, 0.2190863625159820439955349}, {0.8650633666889845107320967, 0.1494513491505805931457763},
		{0.973906528517171720077964, 0.06667134430868813759356881},
	}
	legendre5 = [3]quadrature{{0, 0.2844444444444444444444444}, {0.538469310105683091036314421, 0.478628670499366468041291515}, {0.906179845938663992797626878, 0.236926885056189087514264041}}
)

// GaussianDelta returns the δ at which N(0, σ²) noise in every coordinate makes a release of ℓ₂
// sensitivity Δ₂ (ε, δ)-differentially private. The result is an upper bound on the exact δ, larger
// by at most a relative 4e-12 (for δ near 1, 4e-12 of 1 − δ; below e^{−800}, 4e-15 of ln δ), and
// never 0. [GaussianSigma] inverts it: at the σ that GaussianSigma returns, GaussianDelta is at
// most the given δ.
//
// epsilon, without unit, may be negative: the δ is then the divergence that exact composition
// arguments use, at least 1 − e^ε. The error wraps [ErrParams] unless |ε| is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰],
// and σ and the sensitivity in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func GaussianDelta(sigma, epsilon, sensitivity float64) (float64, error) {
	bound, err := gaussianBound(sigma, epsilon, sensitivity)
	switch {
	case err != nil:
		return math.NaN(), err
	case bound.nearOne:
		return round.DifferenceUp(1, bound.rest), nil
	}
	// math.Exp is within one unit in the last place, and near underflow one unit is the least
	// float64.
	return math.Nextafter(math.Exp(bound.log), 1), nil
}

// GaussianLogDelta returns the natural logarithm of [GaussianDelta], also where δ underflows, and
// −Inf only where the logarithm itself overflows. The error is the same.
func GaussianLogDelta(sigma, epsilon, sensitivity float64) (float64, error) {
	bound, err := gaussianBound(sigma, epsilon, sensitivity)
	if err != nil {
		return math.NaN(), err
	}
	if bound.nearOne {
		return math.Log1p(-bound.rest), nil
	}
	return bound.log, nil
}

// deltaBound is an upper bound on δ: 1 − rest where nearOne, else e^log (and then below 0.6).
type deltaBound struct {
	log, rest float64
	nearOne   bool
}

// gaussianBound returns the bound of [GaussianDelta].
func gaussianBound(sigma, epsilon, sensitivity float64) (deltaBound, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return deltaBound{}, err
	}
	if checkEpsilonOrZero(math.Abs(epsilon)) != nil {
		return deltaBound{}, fault.Params("noise", "epsilon", epsilon, "0 or ± "+wantParam)
	}
	if err := checkParam("sensitivity", sensitivity); err != nil {
		return deltaBound{}, err
	}
	mu, low := divide(sensitivity, sigma)
	if !(mu >= leastParam && mu <= mostParam) {
		return deltaBound{}, fault.Params("noise", "sensitivity", sensitivity, "a number with sensitivity/sigma in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	}
	bound := boundAbove(math.Abs(epsilon), mu, low)
	if epsilon >= 0 {
		return bound, nil
	}
	// The divergence of two Gaussians is symmetric, so 1 − δ(ε) = e^ε·(1 − δ(−ε)).
	rest := bound.rest
	if !bound.nearOne {
		if delta := math.Exp(epsilon+bound.log) - math.Expm1(epsilon); delta < 0.5 {
			return deltaBound{log: math.Log(delta) + deltaMargin/4}, nil
		}
		rest = -math.Expm1(bound.log)
	}
	return deltaBound{rest: math.Exp(epsilon) * rest * (1 - deltaMargin/4), nearOne: true}, nil
}

// boundAbove returns the bound for ε ≥ 0 and μ = mu + low.
func boundAbove(epsilon, mu, low float64) deltaBound {
	// Two roundings, so that t²/2 is off by at most 2⁻⁵¹·t². At −μ/2 also where μ² overflows.
	t := max(math.FMA(-mu/2, mu, epsilon)/mu, -mu/2)
	logDelta, drop, ok := gaussLogDelta(t, mu)
	if !ok {
		rest := gaussComplement(t, mu) - low*gaussKernel(t, 0)/sqrt2Pi // ∂δ/∂μ = φ(t₁)
		return deltaBound{rest: max(0, rest) * (1 - deltaMargin/2), nearOne: true}
	}
	if math.IsInf(logDelta, -1) {
		return deltaBound{log: logDelta}
	}
	// ∂ ln δ/∂μ = φ(t₁)/δ = 1/(R(t₁) − R(t₁+μ)).
	bound := logDelta + low/drop + deltaMargin/2
	if t > 40 {
		bound -= logDelta * 0x1p-48
	}
	return deltaBound{log: bound}
}
