package noise

import (
	"math"
	"math/big"
	"math/bits"
)

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// Exact: for every integer k the result is k·step with probability Pr[(k−½)·step < X < (k+½)·step],
// for the σ and step given as float64, with no error at all.
//
// step must be a power of two with σ/step ≤ 2⁴⁶; otherwise the result is NaN.
func (d Gaussian) Sample(src *Source, step float64) float64 {
	b, ok := gridScale(d.sigma, step)
	if !ok {
		return math.NaN()
	}
	return float64(withSign(roundedHalfNormal(src, b), src.Uint64())) * step
}

// roundedHalfNormal draws ⌊b·|Z| + ½⌋ for a standard normal Z.
func roundedHalfNormal(src *Source, b float64) int64 {
	k, x, digits := halfNormal(src)
	if digits == nil && k < 16 {
		if r, decided := roundProduct(b, k, x); decided {
			return r
		}
	}
	if digits == nil {
		digits = newLazy(x, 64)
	}
	return roundLazily(src, b, k, digits)
}

// halfNormal draws |Z| for a standard normal Z, by Karney's algorithm (arXiv 1303.6257) on
// intervals: |Z| = k + x with k ≥ 0 an integer, Pr ∝ e^{−k²/2}, and x uniform in [0, 1), accepted
// with probability e^{−x(2k+x)/2}. Of x 64 bits are drawn, and more if a comparison or, later, the
// rounding needs them: digits is nil or holds all the bits so far, of which first are the first 64.
func halfNormal(src *Source) (k int64, first uint64, digits *lazy) {
	for {
		k := halfNormalInt(src)
		x := src.Uint64()
		if digits, ok := acceptFraction(src, k, x); ok {
			return k, x, digits
		}
	}
}

// expHalves[j−1] is ⌊2⁶⁴·e^{−j/2}⌋. A test recomputes it.
var expHalves = [8]uint64{
	0x9b4597e37cb04ff3, 0x5e2d58d8b3bcdf1a, 0x391f0ee496b83ac8, 0x22a555477f03973f,
	0x150385c094f424a7, 0xcbed86667585764, 0x7bb0406393fd97d, 0x4b0556e084f3d1d,
}

// halfNormalInt draws k ≥ 0 with Pr ∝ e^{−k²/2} = e^{−k/2}·e^{−k(k−1)/2}: geometric, then accepted.
func halfNormalInt(src *Source) int64 {
	for {
		k := geometricHalf(src)
		exponent := k * (k - 1) / 2
		if exponent == 0 || bernoulliExp(src, float64(exponent), func() *big.Rat { return new(big.Rat).SetInt64(exponent) }) {
			return k
		}
	}
}

// geometricHalf draws k with Pr[k ≥ j] = e^{−j/2}: the number of powers that U is below.
func geometricHalf(src *Source) int64 {
	w := src.Uint64()
	for k, power := range expHalves {
		if w > power {
			return int64(k)
		}
		if w == power { // undecided, one draw in 2⁶⁴
			return geometricExact(src, newLazy(w, 64), 2)
		}
	}
	beyond, _ := geometricLog(src, 2) // memoryless
	return int64(len(expHalves)) + beyond
}

// acceptFraction accepts x with probability e^{−x(2k+x)/2}. Where it had to refine x it returns the
// digits.
func acceptFraction(src *Source, k int64, x uint64) (*lazy, bool) {
	w := src.Uint64()
	if k < 16 { // |x − xf| ≤ 2⁻⁵³ moves the exponent by less than 17·2⁻⁵³, which margin allows for
		xf := float64(x>>11) * 0x1p-53
		if below, decided := compareExp64(float64(w>>11)*0x1p-53, xf*(2*float64(k)+xf)/2); decided {
			return nil, below
		}
	}
	fraction, uniform := newLazy(x, 64), newLazy(w, 64)
	exponent := func(x *big.Rat) *big.Rat {
		e := new(big.Rat).SetInt64(2 * k)
		e.Add(e, x).Mul(e, x)
		return e.Quo(e, new(big.Rat).SetInt64(2))
	}
	for {
		if below, decided := uniform.compareExp(exponent(fraction.lower()), exponent(fraction.upper())); decided {
			return fraction, below
		}
		uniform.refine(src)
		fraction.refine(src)
	}
}

// roundProduct returns ⌊b·(k + x/2⁶⁴) + ½⌋ for k < 16 if it is the same for every continuation of
// x's digits.
func roundProduct(b float64, k int64, x uint64) (int64, bool) {
	frac, exp := math.Frexp(b)
	mantissa := uint64(frac * (1 << 53)) // b = mantissa·2^(exp−53)
	shift := uint(64 + 53 - exp)         // the product in units of 2^−shift: (k·2⁶⁴ + x)·mantissa < 2¹²¹
	if shift > 122 {
		return 0, true // below ½
	}
	if shift < 65 {
		return 0, false
	}
	hi, lo := bits.Mul64(x, mantissa)
	hi += uint64(k) * mantissa
	// Add ½, then look at both ends of [product, product + mantissa).
	var carry uint64
	hi += uint64(1) << (shift - 65)
	_, carry = bits.Add64(lo, mantissa-1, 0)
	first, last := hi>>(shift-64), (hi+carry)>>(shift-64)
	return int64(first), first == last
}

// roundLazily is roundProduct in rational arithmetic, drawing more digits of x until the rounding
// is decided.
func roundLazily(src *Source, b float64, k int64, digits *lazy) int64 {
	scale := new(big.Rat).SetFloat64(b)
	round := func(x *big.Rat) *big.Int {
		y := new(big.Rat).SetInt64(k)
		y.Add(y, x).Mul(y, scale)
		y.Add(y, big.NewRat(1, 2))
		return new(big.Int).Quo(y.Num(), y.Denom())
	}
	for {
		// A right end on the boundary itself is not reached, so equality of the two floors is only
		// asked for too often, never too seldom.
		least, most := round(digits.lower()), round(digits.upper())
		if least.Cmp(most) == 0 {
			return least.Int64()
		}
		digits.refine(src)
	}
}
