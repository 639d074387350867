package noise

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Gaussian is the normal distribution N(0, σ²). Noise of the σ that [GaussianSigma] returns, in
// every coordinate, makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-differentially private.
//
// E|X| is σ·√(2/π). In the tails CDF, Survival and LogSurvival have a relative error of 1e-14, and
// so has Quantile.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Gaussian,
// which [NewGaussian] returns only with an error.
type Gaussian struct{ symmetric[gaussianFormulas] }

// NewGaussian returns the normal distribution of mean 0 and standard deviation sigma, in the units
// of the data. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewGaussian(sigma float64) (Gaussian, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return Gaussian{}, err
	}
	return gaussian(sigma), nil
}

func gaussian(sigma float64) Gaussian {
	return Gaussian{symmetric[gaussianFormulas]{gaussianFormulas{sigma}}}
}

// Sigma returns σ, the standard deviation.
func (d Gaussian) Sigma() float64 { return d.formulas.sigma }

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k the result is k·step with probability Pr[(k−½)·step < X <
// (k+½)·step], for the σ and step given as float64, with no error at all.
//
// step must be a power of two with σ/step ≤ 2⁴⁶; otherwise the result is NaN ([CheckStep]).
func (d Gaussian) Sample(src *Source, step float64) float64 {
	b, ok := gridScale(d.formulas.sigma, step)
	if !ok {
		return math.NaN()
	}
	z := drawNormal(src)
	k, decided := z.rounded(b)
	if !decided {
		k = roundLazily(src, b, z.known())
	}
	if z.negative {
		k = -k
	}
	return float64(k) * step
}

func (d Gaussian) draws(step float64) bool {
	_, ok := gridScale(d.formulas.sigma, step)
	return ok
}

// rounded returns ⌊b·|Z| + ½⌋, b ≤ 2⁴⁶, if it is the same for every continuation of Z's digits.
func (z *normalDraw) rounded(b float64) (int64, bool) {
	const mantissa, bias = 52, 1023 // of a float64
	// b = digits·2^(exponent−52), so b·[m, m+1)/2⁵⁸ is [product, product + digits) in units of
	// 2^−shift, and all of it is below 2¹¹⁴.
	word := math.Float64bits(b)
	digits, shift := word&(1<<mantissa-1)|1<<mantissa, bias+mantissa+fractions-word>>mantissa
	if z.m >= stripEnd || shift <= 64 {
		return 0, false
	}
	if shift > 115 {
		return 0, true // below ½
	}
	hi, lo := bits.Mul64(z.m, digits)
	// Add ½, then look at both ends.
	hi += 1 << (shift - 65)
	_, carry := bits.Add64(lo, digits-1, 0)
	first, last := hi>>(shift-64), (hi+carry)>>(shift-64)
	return int64(first), first == last
}

// roundLazily returns ⌊b·X + ½⌋, drawing more digits of X until that is decided.
func roundLazily(src *Source, b float64, x *lazy) int64 {
	scale := new(big.Rat).SetFloat64(b)
	for {
		// A right end on the boundary itself is not reached, so equality of the two floors is only
		// asked for too often, never too seldom.
		lower, upper := x.lower(), x.upper()
		least, most := roundRat(lower.Mul(lower, scale)), roundRat(upper.Mul(upper, scale))
		if least.Cmp(most) == 0 {
			return least.Int64()
		}
		x.refine(src)
	}
}

// gaussianFormulas are those of a Gaussian of a σ.
type gaussianFormulas struct{ sigma float64 }

func (d gaussianFormulas) valid() bool { return d.sigma > 0 }

func (d gaussianFormulas) upper(x float64) float64 { return normalTail(divide(x, d.sigma)) }

func (d gaussianFormulas) logUpper(x float64) float64 { return logNormalTail(divide(x, d.sigma)) }

func (d gaussianFormulas) upperQuantile(p float64) float64 { return -d.sigma * normalQuantile(p) }

func (d gaussianFormulas) density(x float64) float64 {
	return gaussKernel(divide(x, d.sigma)) / sqrt2Pi / d.sigma
}

func (d gaussianFormulas) logDensity(x float64) float64 {
	return logGaussKernel(divide(x, d.sigma)) - math.Log(sqrt2Pi*d.sigma)
}

func (d gaussianFormulas) variance() float64 { return d.sigma * d.sigma }

func (d gaussianFormulas) meanAbs() float64 { return d.sigma / sqrtHalfPi }

// GaussianSigmaZCDP returns σ ≥ Δ₂/√(2ρ), larger than that by at most a relative 2⁻⁵⁰: the
// parameter at which Gaussian and discrete Gaussian noise makes a release of ℓ₂ sensitivity Δ₂
// ρ-zCDP (Bun and Steinke, TCC 2016, arXiv 1605.02065, Proposition 1.6; arXiv 2004.00010, Theorem
// 4).
//
// rho is without unit, sensitivity and the result are in the units of the data. The error wraps
// [ErrParams] unless both are in [2⁻⁹⁰⁰, 2⁹⁰⁰] and so is the result.
func GaussianSigmaZCDP(rho, sensitivity float64) (float64, error) {
	if err := checkParam("rho", rho); err != nil {
		return math.NaN(), err
	}
	if err := checkParam("sensitivity", sensitivity); err != nil {
		return math.NaN(), err
	}
	return checkScale(exact.QuotientUp(sensitivity, exact.SqrtDown(2*rho)), sensitivity, "a number with σ = sensitivity/√(2·rho) in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
}

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
		mu := gaussianMu(t, root)
		if logDelta, _, ok := gaussLogDelta(t, mu); ok {
			return logDelta+deltaMargin <= target
		}
		return gaussComplement(t, mu)*(1-deltaMargin) >= 1-delta
	}
	// δ < φ(40)·R(40) < e^{−804} at the upper end is below every δ, and 1 − δ < 2·Q(40) at the
	// lower is above.
	t := exact.LeastFloat(-40, 40, safe)
	mu := gaussianMu(t, root) * (1 - 0x1p-50) // gaussianMu is within 3 units in the last place
	want := "a number with σ in [2⁻⁹⁰⁰, 2⁹⁰⁰] for these epsilon and delta"
	if !(mu >= leastParam) {
		// σ is above the sensitivity by 2⁹⁰⁰ or more; or ε = 0 and δ next to nothing
		return math.NaN(), check.ParamsError("noise", "sensitivity", sensitivity, want)
	}
	return checkScale(exact.QuotientUp(sensitivity, mu), sensitivity, want)
}

// gaussianMu returns μ = √(t² + 2ε) − t, the ratio Δ₂/σ that belongs to t₁ = t, given root = √(2ε).
func gaussianMu(t, root float64) float64 {
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
		return exact.DifferenceUp(1, bound.complement), nil
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
		return math.Log1p(-bound.complement), nil
	}
	return bound.log, nil
}

// deltaBound is an upper bound on δ: 1 − complement where nearOne, else e^log (and then below 0.6).
type deltaBound struct {
	log, complement float64
	nearOne         bool
}

// gaussianBound returns the bound of [GaussianDelta].
func gaussianBound(sigma, epsilon, sensitivity float64) (deltaBound, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return deltaBound{}, err
	}
	if checkEpsilonOrZero(math.Abs(epsilon)) != nil {
		return deltaBound{}, check.ParamsError("noise", "epsilon", epsilon, "0 or ± "+wantParam)
	}
	if err := checkParam("sensitivity", sensitivity); err != nil {
		return deltaBound{}, err
	}
	mu, low := divide(sensitivity, sigma)
	if !(mu >= leastParam && mu <= mostParam) {
		return deltaBound{}, check.ParamsError("noise", "sensitivity", sensitivity, "a number with sensitivity/sigma in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	}
	bound := boundAbove(math.Abs(epsilon), mu, low)
	if epsilon >= 0 {
		return bound, nil
	}
	// The divergence of two Gaussians is symmetric, so 1 − δ(ε) = e^ε·(1 − δ(−ε)).
	rest := bound.complement
	if !bound.nearOne {
		if delta := math.Exp(epsilon+bound.log) - math.Expm1(epsilon); delta < 0.5 {
			return deltaBound{log: math.Log(delta) + deltaMargin/4}, nil
		}
		rest = -math.Expm1(bound.log)
	}
	return deltaBound{complement: math.Exp(epsilon) * rest * (1 - deltaMargin/4), nearOne: true}, nil
}

// boundAbove returns the bound for ε ≥ 0 and μ = mu + low.
func boundAbove(epsilon, mu, low float64) deltaBound {
	// Two roundings, so that t²/2 is off by at most 2⁻⁵¹·t². At −μ/2 also where μ² overflows.
	t := max(math.FMA(-mu/2, mu, epsilon)/mu, -mu/2)
	logDelta, drop, ok := gaussLogDelta(t, mu)
	if !ok {
		rest := gaussComplement(t, mu) - low*gaussKernel(t, 0)/sqrt2Pi // ∂δ/∂μ = φ(t₁)
		return deltaBound{complement: max(0, rest) * (1 - deltaMargin/2), nearOne: true}
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
