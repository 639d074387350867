package noise

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Gaussian is the normal distribution N(0, σ²); E|X| is σ·√(2/π).
type Gaussian struct{ symmetric[gaussianFormulas] }

// NewGaussian returns the distribution of standard deviation sigma.
func NewGaussian(sigma float64) (Gaussian, error) {
	if err := checkParam("sigma", sigma); err != nil {
		return Gaussian{}, err
	}
	return gaussian(sigma), nil
}

func gaussian(sigma float64) Gaussian {
	return Gaussian{symmetric[gaussianFormulas]{gaussianFormulas{sigma}}}
}

// Sigma returns σ.
func (d Gaussian) Sigma() float64 { return d.formulas.sigma }

// Sample draws X, NaN unless σ/step ≤ 2⁴⁶.
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
	// A right end on the boundary itself is not reached, so equality of the two floors is only
	// asked for too often, never too seldom.
	scale := exact.Rat(b)
	return x.rounded(src, func(x *big.Rat) *big.Int { return roundRat(x.Mul(x, scale)) })
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

// GaussianSigmaZCDP returns σ ≥ Δ₂/√(2ρ), larger by at most a relative 2⁻⁵⁰, for Gaussian and
// discrete Gaussian noise.
func GaussianSigmaZCDP(rho, sensitivity float64) (float64, error) {
	if err := cmp.Or(checkParam("rho", rho), checkParam("sensitivity", sensitivity)); err != nil {
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
// noise makes a release of ℓ₂ sensitivity Δ₂ (ε, δ)-DP: the analytic Gaussian mechanism. epsilon
// may be 0; delta is in [2⁻¹⁰²², 1).
func GaussianSigma(epsilon, delta, sensitivity float64) (float64, error) {
	// Algorithm 1 of that paper, solved for t₁ in place of σ: then μ = √(t₁² + 2ε) − t₁ and t₂ =
	// √(t₁² + 2ε) without cancellation, for every ε.
	err := cmp.Or(checkOrZero("epsilon", epsilon), within("delta", delta, 0x1p-1022, 1-0x1p-53, "a number in [2⁻¹⁰²², 1)"),
		checkParam("sensitivity", sensitivity))
	if err != nil {
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

// GaussianDelta returns the δ at which N(0, σ²) noise makes a release of ℓ₂ sensitivity Δ₂ (ε,
// δ)-DP, rounded up by at most a relative 4e-12 (for δ near 1, 4e-12 of 1 − δ; below e^{−800},
// 4e-15 of ln δ), never 0. At the σ of [GaussianSigma] it is at most the given δ. epsilon may be
// negative, as composition needs, and 0.
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

// GaussianLogDelta returns ln of [GaussianDelta], −Inf only where that overflows.
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
	mu, low := divide(sensitivity, sigma)
	err := cmp.Or(checkParam("sigma", sigma), checkParam("sensitivity", sensitivity))
	switch {
	case err != nil:
		return deltaBound{}, err
	case checkOrZero("epsilon", math.Abs(epsilon)) != nil:
		return deltaBound{}, check.ParamsError("noise", "epsilon", epsilon, "0 or ± "+wantParam)
	case !(mu >= leastParam && mu <= mostParam):
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
	return settle(src, func() (bool, bool) {
		prec := v.bits + guard
		least := exact.ExpNeg(exponent(x.upper()), prec).Lo
		most := exact.ExpNeg(exponent(x.lower()), prec).Hi
		left := new(big.Int).Mul(v.n, h) // in units of 2^−prec
		left.Lsh(left, guard)
		if left.Cmp(most.Mul(most, c)) >= 0 {
			return false, true
		}
		left.Add(left, new(big.Int).Lsh(h, guard))
		return true, left.Cmp(least.Mul(least, c)) <= 0
	}, v, x)
}

// known returns all that is known of |Z|.
func (z *normalDraw) known() *lazy {
	if z.digits == nil {
		z.digits = newLazy(z.m, fractions)
	}
	return z.digits
}

// stripDensity is the largest C for which the heights of the strips and of the tail add up to at
// most 2⁶⁴. tailHeight is 128·C·e^{−32}, rounded up.
const (
	stripDensity = 228549907379046801
	tailHeight   = 370483
)

// stripHeights[i] is C·e^{−x²/2} at x = i/64, rounded up.
var stripHeights = newStripHeights()

// newStripHeights multiplies e^{−(2i+1)/2¹³} from strip to strip. The products are off by less than
// 2⁻⁵⁰, and no height is as near above an integer (a test encloses them all).
func newStripHeights() (heights [strips]uint64) {
	const prec = 128
	height := new(big.Int).Lsh(big.NewInt(stripDensity), prec)
	height.Sub(height, big.NewInt(1)) // the first is an integer
	fall := exact.ExpNeg(big.NewRat(1, 1<<13), prec).Hi
	change := exact.ExpNeg(big.NewRat(1, 1<<12), prec).Hi
	for i := range heights {
		heights[i] = new(big.Int).Rsh(height, prec).Uint64() + 1
		height.Mul(height, fall).Rsh(height, prec)
		fall.Mul(fall, change).Rsh(fall, prec)
	}
	return heights
}
