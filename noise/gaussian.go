package noise

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Gaussian is the normal distribution N(0, σ²); E|X| is σ·√(2/π). Noise of the σ that
// [GaussianSigma] returns, in every coordinate, makes a release of ℓ₂ sensitivity Δ₂ (ε,
// δ)-differentially private.
type Gaussian struct{ symmetric[gaussianFormulas] }

// NewGaussian returns the normal distribution of standard deviation sigma, in the units of the
// data. The error wraps [ErrParams] unless sigma is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
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

// Sample draws X exactly, rounded to the nearest multiple of step, a power of two with σ/step ≤
// 2⁴⁶; else the result is NaN.
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

// GaussianSigmaZCDP returns σ ≥ Δ₂/√(2ρ), larger by at most a relative 2⁻⁵⁰: the parameter at which
// Gaussian and discrete Gaussian noise makes a release of ℓ₂ sensitivity Δ₂ ρ-zCDP (Bun and
// Steinke, TCC 2016, Proposition 1.6; arXiv 2004.00010, Theorem 4). sensitivity and the result are
// in the units of the data. The error wraps [ErrParams] unless both arguments and the result are in
// [2⁻⁹⁰⁰, 2⁹⁰⁰].
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

// GaussianSigma returns the least σ, rounded up by at most a relative 1e-11, at which N(0, σ²)
// noise in every coordinate makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-differentially private: the
// analytic Gaussian mechanism (arXiv 1805.06530). sensitivity and the result are in the units of
// the data. The error wraps [ErrParams] unless ε is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], δ in [2⁻¹⁰²², 1), and
// the sensitivity and the result in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func GaussianSigma(epsilon, delta, sensitivity float64) (float64, error) {
	// Algorithm 1 of that paper, solved for t₁ in place of σ: then μ = √(t₁² + 2ε) − t₁ and t₂ =
	// √(t₁² + 2ε) without cancellation, for every ε.
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
// sensitivity Δ₂ (ε, δ)-differentially private: an upper bound on the exact δ, larger by at most a
// relative 4e-12 (for δ near 1, 4e-12 of 1 − δ; below e^{−800}, 4e-15 of ln δ), and never 0. At the
// σ of GaussianSigma it is at most the given δ. epsilon may be negative, as composition needs. The
// error wraps [ErrParams] unless |ε| is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], and σ and the sensitivity in [2⁻⁹⁰⁰,
// 2⁹⁰⁰].
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

// GaussianLogDelta returns ln of GaussianDelta, also where δ underflows, and −Inf only where the
// logarithm itself overflows.
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

// This file draws |Z| for a standard normal Z, exactly, by rejection from a histogram above its
// density (as Marsaglia and Tsang's ziggurat does, Journal of Statistical Software 5, 2000, but
// with strips of equal width, so that nothing has to be computed with rounded edges).
//
// Let f(x) = e^{−x²/2}, w = 1/64, C = stripDensity and hᵢ = stripHeights[i] ≥ C·f(i·w). A word
// picks strip i with probability hᵢ/2⁶⁴, the tail with T/2⁶⁴, T = tailHeight ≥ 128·C·f(8), and
// nothing, which starts again, with what is left. In strip i, X = w·(i + U) for a uniform U,
// accepted if V·hᵢ < C·f(X) for a uniform V: an X near x is accepted with density
//
//	hᵢ/2⁶⁴ · 1/w · C·f(x)/hᵢ = 64·C/2⁶⁴ · f(x),
//
// and C·f(x) ≤ C·f(i·w) ≤ hᵢ there. In the tail j has probability 2^−(j+1), X = 8 + j + U, accepted
// if V·T < 128·C·2ʲ·f(X): density T/2⁶⁴ · 2^−(j+1) · 128·C·2ʲ·f(x)/T, the same, and 2ʲ·f(8 + j) ≤
// f(8) makes that a probability. So an accepted X has the density of |Z|, whatever C, hᵢ and T are,
// as long as these inequalities hold; a test checks them with rational numbers.
//
// U and V are drawn as far as they are needed: 52 digits of U, 11 of V and the sign are one word.

const (
	strips     = 512        // of width 1/64: up to 8
	fractions  = 58         // binary digits after the point of normalDraw.m
	stripEnd   = 8 << 58    // 8 in these units
	inStrip    = 52         // digits of U that are drawn at first
	quickV     = 11         // digits of V that are drawn at first
	restart    = strips + 1 // the outcome after the tail: draw again
	columns    = 1024       // of the alias table
	inColumn   = 64 - 10    // digits of a word that are compared
	fullColumn = 1 << inColumn
)

// stripColumns is the alias table (Walker, Electronics Letters 10, 1974) of the histogram, in
// integers: column c stands for outcome c below the bound in its upper 54 bits, and for the one in
// its lower 10 bits from there on.
var stripColumns = newStripColumns()

func newStripColumns() (table [columns]uint64) {
	var left [columns]uint64 // what is to be placed of each outcome, of 2⁶⁴ in all
	sum := uint64(tailHeight)
	for i, h := range stripHeights {
		left[i] = h
		sum += h
	}
	left[strips], left[restart] = tailHeight, -sum
	var small, large []int
	sortIn := func(i int) {
		if left[i] < fullColumn {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for i := range left {
		sortIn(i)
	}
	for len(small) > 0 && len(large) > 0 {
		i, j := small[len(small)-1], large[len(large)-1]
		small, large = small[:len(small)-1], large[:len(large)-1]
		table[i] = left[i]<<10 | uint64(j)
		left[j] -= fullColumn - left[i]
		sortIn(j)
	}
	for _, i := range large { // exactly full
		table[i] = uint64(i)
	}
	return table
}

// normalDraw is a draw of the standard normal distribution as far as it is known: ±Z for Z in [m,
// m+1)/2⁵⁸, if m is below stripEnd; and in the interval of digits, if there are any.
type normalDraw struct {
	negative bool
	m        uint64
	digits   *lazy
}

// drawNormal draws from the standard normal distribution.
func drawNormal(src *Source) normalDraw {
	for {
		columnWord, stripWord := src.pair()
		entry := stripColumns[columnWord>>inColumn]
		i := columnWord >> inColumn
		if columnWord<<10>>10 >= entry>>10 {
			i = entry & (columns - 1)
		}
		u, v, negative := stripWord>>12, stripWord>>1&(1<<quickV-1), stripWord&1 != 0
		if i < strips && atOnce(i, v) {
			return normalDraw{negative, i<<inStrip | u, nil}
		}
		switch {
		case i < strips:
			if digits, ok := acceptStrip(src, i, u, v); ok {
				return normalDraw{negative, i<<inStrip | u, digits}
			}
		case i == strips:
			if digits, ok := drawTail(src); ok {
				return normalDraw{negative, math.MaxUint64, digits}
			}
		}
	}
}

// atOnce reports whether strip i is so flat that V < (v + 1)/2¹¹ is accepted whatever U is: where V
// ≤ 1 − t, t = (2i+1)/2¹³, as f falls in the strip by the factor e^{−t} ≥ 1 − t + t²/2 − t³/6 and
// hᵢ < C·f(i·w) + 1, so that (1−t)·hᵢ ≤ C·f(X) as long as hᵢ·(e^{−t} − 1 + t) ≥ 1. A test looks at
// all strips. This decides 98.7 % of the draws.
func atOnce(i, v uint64) bool { return 4*(v+1)+2*i+1 <= 1<<(quickV+2) }

// acceptStrip accepts X = (i + U)/64, u and v the first digits of U and V, with the probability
// above. Where it had to refine X it returns the digits.
func acceptStrip(src *Source, i, u, v uint64) (digits *lazy, ok bool) {
	more := src.Uint64() // the next digits of V
	if below, decided := acceptQuickly(i, u, v, more); decided {
		return nil, below
	}
	digits = newLazy(i<<inStrip|u, fractions)
	height := newLazy(v, quickV)
	height.extend(more)
	ok = belowDensity(src, height, stripHeights[i], 0, digits)
	return digits, ok
}

// acceptQuickly decides V < C·f(X)/hᵢ in float64, if that is possible, from the first digits of U
// and those of V, v and then more. The right side is e^{−y}, y = (X² − x²)/2 ≤ 1/8 at the left end
// x of the strip, to within 1/hᵢ. 2⁻⁵⁸ off in X and the roundings move y by less than 2⁻⁵⁴: as near
// as [margin] asks.
func acceptQuickly(i, u, v, more uint64) (below, decided bool) {
	x, d := float64(i)/64, float64(u)*0x1p-58
	p := math.Exp(-d * (2*x + d) / 2)
	slack := margin + 1/float64(stripHeights[i])
	height := float64(v<<42|more>>22) * 0x1p-53
	return height < p, height < p-slack || height > p+slack
}

// drawTail draws |Z| given that it is at least 8, or returns false to start again.
func drawTail(src *Source) (digits *lazy, ok bool) {
	j := uint64(0) // Pr[j] = 2^−(j+1)
	for {
		zeros := uint64(bits.LeadingZeros64(src.Uint64()))
		j += zeros
		if zeros < 64 {
			break
		}
	}
	digits = newLazy(8+j, 0)
	digits.refine(src)
	return digits, belowDensity(src, newLazy(src.Uint64(), 64), tailHeight, uint(7+j), digits)
}

// belowDensity decides V·height < 2^shift·C·e^{−X²/2}, drawing more digits of both until that is
// certain.
func belowDensity(src *Source, v *lazy, height uint64, shift uint, x *lazy) bool {
	const guard = 64
	h, c := new(big.Int).SetUint64(height), new(big.Int).SetUint64(stripDensity)
	c.Lsh(c, shift)
	exponent := func(x *big.Rat) *big.Rat { return x.Mul(x, x).Quo(x, big.NewRat(2, 1)) }
	for {
		prec := v.bits + guard
		least := exact.ExpNeg(exponent(x.upper()), prec).Lo
		most := exact.ExpNeg(exponent(x.lower()), prec).Hi
		left := new(big.Int).Mul(v.n, h) // in units of 2^−prec
		left.Lsh(left, guard)
		if left.Cmp(most.Mul(most, c)) >= 0 {
			return false
		}
		left.Add(left, new(big.Int).Lsh(h, guard))
		if left.Cmp(least.Mul(least, c)) <= 0 {
			return true
		}
		v.refine(src)
		x.refine(src)
	}
}

// known returns all that is known of |Z|.
func (z *normalDraw) known() *lazy {
	if z.digits == nil {
		z.digits = newLazy(z.m, fractions)
	}
	return z.digits
}

// The heights of the strips: stripHeights[i] is stripDensity·e^{−x²/2} at x = i/64, rounded up, and
// tailHeight is 128·stripDensity·e^{−32}, rounded up. A test recomputes them; their sum is at most
// 2⁶⁴, and stripDensity is the largest number for which it is.
const (
	stripDensity = 228549907379046801
	tailHeight   = 370483
)

var stripHeights = [strips]uint64{
	0x32bf8ee0ac6c991, 0x32bdf8ea8d48276, 0x32b937544b3a4d7, 0x32b14b02209a4ba, 0x32a635701f6bfab,
	0x3297f8b1baafd00, 0x328697712081f63, 0x327214ee6550f37, 0x325a74fe8088c88, 0x323fbc0a1b23ad7,
	0x3221ef0c30a58cb, 0x32011390831b0fa, 0x31dd2fb1e2c8695, 0x31b64a184a470a1, 0x318c69f6cfe3f4e,
	0x315f97096d228d0, 0x312fd9929d594f7, 0x30fd3a58d46efed, 0x30c7c2a3cecf4eb, 0x308f7c39bbbe029,
	0x3054715c433ebc1, 0x3016acc568d6511, 0x2fd639a44c786b9, 0x2f932399cb0167e, 0x2f4d76b4ffa8d63,
	0x2f053f6fa7e4b29, 0x2eba8aaa6b40458, 0x2e6d65a908b3b22, 0x2e1dde0e6b12727, 0x2dcc01d8a62f664,
	0x2d77df5cde5ca18, 0x2d2185431bf3cef, 0x2cc902820c99c67, 0x2c6e665ab3f4d87, 0x2c11c0540d9154d,
	0x2bb32036a1b2ee3, 0x2b5296080ed3d41, 0x2af032068993b35, 0x2a8c04a454d93d6, 0x2a261e8333e8673,
	0x29be906fd82e433, 0x29556b5d4c812d6, 0x28eac0605f90fd6, 0x287ea0ab0f3f180, 0x28111d87f6918f4,
	0x27a24855bfef076, 0x273232829d4ad96, 0x26c0ed87c7e1e85, 0x264e8ae50920e33, 0x25db1c1c4e44381,
	0x2566b2ad4838dc6, 0x24f16011193b430, 0x247b35b611a76d4, 0x240444fb7d62028, 0x238c9f2d8336c1a,
	0x23145581177c85e, 0x229b79100342774, 0x22221ad5013cec5, 0x21a84ba7f19afcf, 0x212e1c3a25dfdd1,
	0x20b39d12c5cccf1, 0x2038de8b4e59e45, 0x1fbdf0cc2bacde3, 0x1f42e3c96eee5cc, 0x1ec7c73fa0ce2da,
	0x1e4caab0b17801d, 0x1dd19d6106aa240, 0x1d56ae54a88fff1, 0x1cdbec4c8df2673, 0x1c6165c4083fb4a,
	0x1be728ee4fddd93, 0x1b6d43b43128be6, 0x1af3c3b1da6f6f1, 0x1a7ab634cb32dff, 0x1a022839e4d99b6,
	0x198a266b9cfc339, 0x1912bd20515f2b4, 0x189bf858bda00ff, 0x1825e3be928cc94, 0x17b08aa32f0db5f,
	0x173bf7fe7a7d0e2, 0x16c8366de0383cb, 0x165550336c2a70c, 0x15e34f3508029fd, 0x15723cfbd8ba897,
	0x150222b3bc08145, 0x1493092ae546940, 0x1424f8d1995a320, 0x13b7f9ba0904d93, 0x134c13984919a31,
	0x12e14dc267f1e75, 0x1277af309f7db06, 0x120f3e7da3407f8, 0x11a801e70982f97, 0x1141ff4dcefa4b2,
	0x10dd3c36f41ed94, 0x1079bdcc3365176, 0x101788dccf853d3, 0xfb6a1de78f8f36, 0xf570cee49d101f,
	0xef8cdd1d700861, 0xe9be7f85637397, 0xe405e7bd760e82, 0xde6342290dd481, 0xd8d6b603d81058,
	0xd3606578b6efb9, 0xce006db9ad7377, 0xc8b6e718ba8899, 0xc383e5219410fa, 0xbe6776b432a3de,
	0xb961a6201ed86f, 0xb472794070fca2, 0xaf99f1987432ae, 0xaad80c70de0dc4, 0xa62cc2f58beba5,
	0xa1980a53b7740d, 0x9d19d3d893d82d, 0x98b20d1045a396, 0x94609fe5272c87, 0x902572bf4bf34e,
	0x8c0068a4358720, 0x87f16156acd236, 0x83f83976b2fe7a, 0x8014caa17d77f5, 0x7c46eb9170e972,
	0x788e703e0f6ac5, 0x74eb29fbce7630, 0x715ce79bc99b2c, 0x6de3758b474860, 0x6a7e9df3056c40,
	0x672e28d6441378, 0x63f1dc318495ac, 0x60c97c18f44be6, 0x5db4cad67a37e5, 0x5ab389075f706e,
	0x57c575b98a940c, 0x54ea4e8846f182, 0x5221cfb89082ff, 0x4f6bb454de4701, 0x4cc7b64864ef01,
	0x4a358e79cc48f4, 0x47b4f4e552348c, 0x4545a0b656601c, 0x42e748604a72b4, 0x4099a1b702b17c,
	0x3e5c62066394f2, 0x3c2f3e296927c9, 0x3a11eaa0856c38, 0x38041ba7536593, 0x360585499cc2f2,
	0x3415db77b0840d, 0x3234d21a094bbe, 0x30621d24426afa, 0x2e9d70a75b0413, 0x2ce680e346f830,
	0x2b3d0257cda049, 0x29a0a9d4b69f67, 0x28112c89456576, 0x268e4013044071, 0x25179a8be01d3d,
	0x23acf2979659e5, 0x224dff70764857, 0x20fa78f3783ad3, 0x1fb217abac2a8e, 0x1e7494dd023ccd,
	0x1d41aa8e6f9bdc, 0x1c1913937246d8, 0x1afa8b94f6a620, 0x19e5cf19a1d9db, 0x18da9b8d83dcad,
	0x17d8af4934b66c, 0x16dfc99860195b, 0x15efaabfc2e069, 0x150814029dfdec, 0x1428c7a7a280b5,
	0x135188fd5a68ed, 0x12821c5e121719, 0x11ba4733462e41, 0x10f9cff899cddf, 0x10407e3e59121a,
	0xf8e1aab8bcfbd, 0xee26eff9c8697, 0xe3d4613978791, 0xd9e6bdb064ca0, 0xd05ad646aff88,
	0xc72d8d9602921, 0xbe5bd7e607dff, 0xb5e2bb23ab6ae, 0xadbf4ed355955, 0xa5eebbfe650e7,
	0x9e6e3d1c2229a, 0x973b1df6685ca, 0x9052bb8a41497, 0x89b283e4abc3f, 0x8357f5fbc843f,
	0x7d40a184a31db, 0x776a26c5d3ba5, 0x71d2366726d90, 0x6c76913e88a3f, 0x6755081a62202,
	0x626b7b899c287, 0x5db7dba178cfd, 0x593827c172a02, 0x54ea6e554fc67, 0x50cccc9595cd6,
	0x4cdd6e4689171, 0x491a8d75e1d10, 0x458272375ea55, 0x421372605bf4d, 0x3ecbf14294eaa,
	0x3baa5f6632421, 0x38ad3a43491dc, 0x35d30bfaeadb7, 0x331a6b0fe558b, 0x3081fa1f51af6,
	0x2e0867990e019, 0x2bac6d783d867, 0x296cd0fbe8a42, 0x2748625fd586f, 0x253dfc95b04c8,
	0x234c84fe98894, 0x2172eb2528a2d, 0x1fb028780a379, 0x1e034005298e3, 0x1c6b3e3598d42,
	0x1ae7388a32c62, 0x19764d590b380, 0x1817a38bbad7c, 0x16ca6a5e9271d, 0x158dd920c0f45,
	0x14612ef5766bf, 0x1343b2960d3cd, 0x1234b21541ea4, 0x113382a380d7b, 0x103f805450924,
	0xf580de4de599, 0xe7c9483b1d59, 0xdac83998c22b, 0xce7509375a2d, 0xc2c76adfd503,
	0xb7b76c1aba73, 0xad3d710aa9a0, 0xa352315a3692, 0x99eeb53d2acd, 0x910c52852513,
	0x88a4a9c98c9b, 0x80b1a3a2c44b, 0x792d6df8839e, 0x72127963342b, 0x6b5b76a02ca6,
	0x650354189c75, 0x5f053b7af5ab, 0x595c8f669e45, 0x5404e929ad19, 0x4efa169072b7,
	0x4a3817c68abf, 0x45bb1d492ebb, 0x417f85ea8099, 0x3d81dce57fec, 0x39bed8025ae5,
	0x363355cac9ac, 0x32dc5bce20eb, 0x2fb714f4c6d6, 0x2cc0cfe2b498, 0x29f6fd68ad00,
	0x27572f03d062, 0x24df156b3519, 0x228c7f2b2b84, 0x205d574dd443, 0x1e4fa410af4d,
	0x1c6185a6caad, 0x1a91350737f7, 0x18dd02c76fe8, 0x174356014c57, 0x15c2ab444126,
	0x145993917dde, 0x1306b362a274, 0x11c8c1bab2d2, 0x109e8740f5c6, 0xf86dd656d52,
	0xe80ad8e9785, 0xd8af050286b, 0xca4acaa6f11, 0xbccf7521909, 0xb02f200096d,
	0xa45cac8f9e3, 0x994bb7c9db9, 0x8ef090c00e7, 0x85402f6de51, 0x7c302bfaa60,
	0x73b6b6610a3, 0x6bca8e7a4fb, 0x6462fc68a62, 0x5d77c95d32b, 0x570138b603e,
	0x50f80170685, 0x4b5547ec371, 0x461297fcb25, 0x4129df43c82, 0x3c9567d48e8,
	0x384fd319f28, 0x345414feab6, 0x309d6f539c5, 0x2d276d71e6a, 0x29ede016095,
	0x26ecd9717f9, 0x2420a97069c, 0x2185da30e25, 0x1f192ca9b5e, 0x1cd7957e4d6,
	0x1abe39fdad1, 0x18ca6d4a800, 0x16f9adaa3dc, 0x1549a1f989f, 0x13b8174400e,
	0x1242fe7db8c, 0x10e86a5ccee, 0xfa68d516bd, 0xe7bb79ab99, 0xd665577577,
	0xc64ed6fe81, 0xb761eba64a, 0xa989fb4f03, 0x9cb3c76f36, 0x90cd577588,
	0x85c5e46cb9, 0x7b8dc5cf05, 0x72165f78c0, 0x695210aad1, 0x6134240e6c,
	0x59b0c0ac0e, 0x52bcdbc880, 0x4c4e2b9b35, 0x465b1ad20c, 0x40dabcd6fc,
	0x3bc4c2ccdd, 0x37117138f4, 0x32b9964f82, 0x2eb680da01, 0x2b01f7ae52,
	0x279631ae6a, 0x246dce48a0, 0x2183ce7125, 0x1ed38e0d6b, 0x1c58bdcaec,
	0x1a0f5d5acc, 0x17f3b60c68, 0x160255c11f, 0x14380a33e6, 0x1291dc8fa5,
	0x110d0d4f79, 0xfa7106471, 0xe5d899c5b, 0xd2e4945be, 0xc17490d10,
	0xb16a90fb0, 0xa2aad2130, 0x951ba3fc7, 0x88a5434ec, 0x7d31b5f4f,
	0x72acaa377, 0x69035809d, 0x60246475b, 0x57ffc7002, 0x5086b0e88,
	0x49ab76216, 0x436177e62, 0x3d9d10d2e, 0x385382638, 0x337ae3c32,
	0x2f0a11d4b, 0x2af8a05f4, 0x273ecc4b6, 0x23d56edd8, 0x20b5f1dcf,
	0x1dda44974, 0x1b3cd1b04, 0x18d875b0c, 0x16a876470, 0x14a87a2be,
	0x12d481a1b, 0x1128df81b, 0xfa232cdc, 0xe3d60bd8, 0xcf78f3dd,
	0xbce1fd9f, 0xabeab07d, 0x9c6fbcf1, 0x8e50bc54, 0x816ff584,
	0x75b2261f, 0x6afe4fec, 0x613d8a35, 0x585ad6b8, 0x5042f9f4,
	0x48e45694, 0x422ecba9, 0x3c13959e, 0x36853190, 0x317742f2,
	0x2cde7b47, 0x28b083c9, 0x24e3e8db, 0x21700722, 0x1e4cfa20,
	0x1b738c3a, 0x18dd2807, 0x1683cad0, 0x1461f82d, 0x1272ae9f,
	0x10b15d23, 0xf19d997, 0xda857ef, 0xc596222, 0xb29d0ca,
	0xa16c452, 0x91d9ecb, 0x83bfe2e, 0x76fb731, 0x6b6d077,
	0x60f7e37, 0x5781e3a, 0x4ef3435, 0x473666c, 0x4037aa7,
	0x39e5362, 0x342ed44, 0x2f05cc6, 0x2a5cc0f, 0x2627909,
	0x225b393, 0x1eedbe5, 0x1bd6115, 0x190bfbf, 0x16880c6,
	0x144383c, 0x1238454, 0x1060c7c, 0xeb807e, 0xd397bf,
	0xbe1085, 0xaaaf5c, 0x993e79, 0x898d38, 0x7b6fa0,
	0x6ebdef, 0x63543b, 0x591212, 0x4fda23, 0x4791fa,
	0x4021b4, 0x3973c1, 0x3374af, 0x2e12f4, 0x293ebd,
	0x24e9c9, 0x21073d, 0x1d8b83, 0x1a6c2f, 0x179fda,
	0x151e0f, 0x12df32, 0x10dc68, 0xf0f87, 0xd7305,
	0xc01e5, 0xab7ad, 0x99055, 0x8883f, 0x79c2c,
	0x6c930, 0x60cad, 0x56448, 0x4cde6, 0x447a2,
	0x3cfc9, 0x364d6, 0x3056b, 0x2b050, 0x2646c,
	0x220c4, 0x1e477, 0x1aebc, 0x17edf, 0x1543e,
	0x12e49, 0x10c7f, 0xee6e, 0xd3ad, 0xbbe1,
	0xa6b7, 0x93e6, 0x832d, 0x7451, 0x671d,
	0x5b63, 0x50f9, 0x47bb, 0x3f87, 0x383f,
	0x31ca, 0x2c10, 0x26fc, 0x227c, 0x1e7f,
	0x1af6, 0x17d5, 0x150f, 0x129b, 0x106f,
	0xe83, 0xcd0,
}
