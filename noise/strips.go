package noise

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

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
	strips    = 512        // of width 1/64: up to 8
	fractions = 58         // binary digits after the point of normal.m
	stripEnd  = 8 << 58    // 8 in these units
	inStrip   = 52         // digits of U that are drawn at first
	quickV    = 11         // digits of V that are drawn at first
	rest      = strips + 1 // the outcome after the tail
	columns   = 1024       // of the alias table
	inColumn  = 64 - 10    // digits of a word that are compared
	column    = 1 << inColumn
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
	left[strips], left[rest] = tailHeight, -sum
	var small, large []int
	place := func(i int) {
		if left[i] < column {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for i := range left {
		place(i)
	}
	for len(small) > 0 && len(large) > 0 {
		i, j := small[len(small)-1], large[len(large)-1]
		small, large = small[:len(small)-1], large[:len(large)-1]
		table[i] = left[i]<<10 | uint64(j)
		left[j] -= column - left[i]
		place(j)
	}
	for _, i := range large { // exactly full
		table[i] = uint64(i)
	}
	return table
}

// normal is a draw of the standard normal law as far as it is known: ±Z for Z in [m, m+1)/2⁵⁸, if m
// is below stripEnd; and in the interval of digits, if there are any.
type normal struct {
	negative bool
	m        uint64
	digits   *lazy
}

// drawNormal draws from the standard normal law.
func drawNormal(src *Source) normal {
	for {
		pick, word := src.pair()
		entry := stripColumns[pick>>inColumn]
		i := pick >> inColumn
		if pick<<10>>10 >= entry>>10 {
			i = entry & (columns - 1)
		}
		u, v, negative := word>>12, word>>1&(1<<quickV-1), word&1 != 0
		if i < strips && atOnce(i, v) {
			return normal{negative, i<<inStrip | u, nil}
		}
		switch {
		case i < strips:
			if digits, ok := acceptStrip(src, i, u, v); ok {
				return normal{negative, i<<inStrip | u, digits}
			}
		case i == strips:
			if digits, ok := drawTail(src); ok {
				return normal{negative, math.MaxUint64, digits}
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
		least := enclose.ExpNeg(exponent(x.upper()), prec).Lo
		most := enclose.ExpNeg(exponent(x.lower()), prec).Hi
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

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k the result is k·step with probability Pr[(k−½)·step < X <
// (k+½)·step], for the σ and step given as float64, with no error at all.
//
// step must be a power of two with σ/step ≤ 2⁴⁶; otherwise the result is NaN ([CheckStep]).
func (d Gaussian) Sample(src *Source, step float64) float64 {
	b, ok := gridScale(d.law.sigma, step)
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

// rounded returns ⌊b·|Z| + ½⌋, b ≤ 2⁴⁶, if it is the same for every continuation of Z's digits.
func (z *normal) rounded(b float64) (int64, bool) {
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

// known returns all that is known of |Z|.
func (z *normal) known() *lazy {
	if z.digits == nil {
		z.digits = newLazy(z.m, fractions)
	}
	return z.digits
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
