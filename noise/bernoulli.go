package noise

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Bernoulli is a bit that is 1 with probability exactly K/2⁶⁴; others are rounded in the direction
// that the guarantee needs: [BernoulliAtLeast] or [BernoulliAtMost]. The zero value is a fair coin.
type Bernoulli struct {
	fromHalf uint64 // k ⊕ 2⁶³, so that 0 stands for k = 2⁶³
}

const half = 1 << 63 // of 2⁶⁴

// NewBernoulli returns probability k/2⁶⁴.
func NewBernoulli(k uint64) Bernoulli { return Bernoulli{k ^ half} }

// BernoulliAtMost returns the largest k/2⁶⁴ ≤ p, for p in [0, 1); for p = 1 it is 1 − 2⁻⁶⁴.
func BernoulliAtMost(p float64) (Bernoulli, error) {
	if !(p >= 0 && p <= 1) {
		return Bernoulli{}, check.ParamsError("noise", "p", p, "a probability in [0, 1]")
	}
	if p == 1 {
		return NewBernoulli(math.MaxUint64), nil
	}
	return NewBernoulli(uint64(p * 0x1p64)), nil // exact except for the truncation
}

// BernoulliAtLeast returns the least k/2⁶⁴ ≥ p, for p in [0, 1 − 2⁻⁶⁴].
func BernoulliAtLeast(p float64) (Bernoulli, error) {
	if !(p >= 0 && p < 1) {
		return Bernoulli{}, check.ParamsError("noise", "p", p, "a probability in [0, 1)")
	}
	return NewBernoulli(uint64(math.Ceil(p * 0x1p64))), nil // p ≤ 1 − 2⁻⁵³
}

// RandomizedResponse returns the flips ([Bernoulli.Flip]) of ε-DP randomized response: the least
// k/2⁶⁴ ≥ 1/(e^ε + 1), for epsilon in [0, 44].
func RandomizedResponse(epsilon float64) (Bernoulli, error) {
	if !(epsilon >= 0 && epsilon <= 44) {
		return Bernoulli{}, check.ParamsError("noise", "epsilon", epsilon, "a number in [0, 44]")
	}
	if epsilon == 0 {
		return NewBernoulli(half), nil
	}
	// exp, the sum and the quotient are each within 1 ulp: together within 2⁻⁵⁰, half of what is
	// added.
	p := 1 / (math.Exp(epsilon) + 1) * (1 + 0x1p-49)
	return BernoulliAtLeast(min(p, 0.5))
}

// K returns k.
func (b Bernoulli) K() uint64 { return b.fromHalf ^ half }

// Prob returns k/2⁶⁴, rounded to a float64.
func (b Bernoulli) Prob() float64 { return float64(b.K()) * 0x1p-64 }

// Sample draws one bit.
func (b Bernoulli) Sample(src *Source) bool { return src.Uint64() < b.K() }

// threshold is k/2⁶⁴ spread out for the comparison with 64 numbers at a time.
type threshold struct {
	digits [64]uint64 // 64 copies of each binary digit of k, from the top
	length int        // digits behind are 0
}

func newThreshold(k uint64) *threshold {
	t := &threshold{length: 64 - bits.TrailingZeros64(k)}
	for i := range t.length {
		t.digits[i] = -(k >> (63 - i) & 1)
	}
	return t
}

// below compares 64 uniform numbers with k/2⁶⁴ and returns a bit each, set if the number is less,
// and how many words it read.
//
// The numbers are compared digit by digit from the top: word i of random holds digit i of all of
// them. A number is decided at the first digit that differs from k's, so each word decides half of
// what is open, and 7.3 words on average decide all. A number that agrees with all 64 digits is not
// below, and neither is one that is open when only zeros are left of k. The first eight digits,
// which mostly decide everything, are taken without asking.
func (t *threshold) below(random *[512]byte) (word uint64, read int) {
	open := ^uint64(0)
	if t.length >= 8 {
		for i := range 8 {
			digits := binary.NativeEndian.Uint64(random[8*i:])
			word |= open & t.digits[i] &^ digits
			open &^= digits ^ t.digits[i]
		}
		read = 8
	}
	for open != 0 && read < t.length {
		digits := binary.NativeEndian.Uint64(random[8*(read&63):])
		word |= open & t.digits[read&63] &^ digits
		open &^= digits ^ t.digits[read&63]
		read++
	}
	return word, read
}

// longWords is the number of words that Flip draws at a time for a long table.
const longWords = 4096

// Flip flips every bit of table independently with probability k/2⁶⁴.
func (b Bernoulli) Flip(src *Source, table []uint64) {
	t := newThreshold(b.K())
	if len(table) < longWords/8 {
		for i := range table {
			word, read := t.below((*[512]byte)(src.reserve(64)))
			src.drop(read)
			table[i] ^= word
		}
		return
	}
	// Long tables take their randomness in long pieces, which cost half as much a word.
	random := make([]byte, 8*longWords)
	for len(table) > 0 {
		src.fillBytes(random)
		for used := 0; len(table) > 0 && used <= len(random)-512; table = table[1:] {
			word, read := t.below((*[512]byte)(random[used:]))
			used += 8 * read
			table[0] ^= word
		}
	}
	clear(random)
}

// RandomizedRound rounds x to one of the two multiples of step around it, with mean x. For x = NaN
// or ±Inf, or a step that is no power of two, it returns NaN.
func RandomizedRound(src *Source, x, step float64) float64 {
	y := math.Abs(x) / step
	if !powerOfTwo(step) || math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN()
	}
	if y >= 1<<53 { // an integer, or too large for the quotient: x is a multiple of step
		return x
	}
	if y < 0x1p-1000 { // the quotient may have lost digits: take it from the exponents
		if x == 0 || !bernoulliScaled(src, math.Abs(x), step) {
			return math.Copysign(0, x)
		}
		return math.Copysign(step, x)
	}
	whole := math.Floor(y)
	if bernoulliScaled(src, y-whole, 1) { // the difference is exact
		whole++
	}
	return math.Copysign(whole*step, x)
}

// bernoulliScaled returns true with probability exactly p/step, for 0 ≤ p < step, step a power of
// two.
func bernoulliScaled(src *Source, p, step float64) bool {
	frac, exp := math.Frexp(p)
	_, unit := math.Frexp(step)
	// p/step = frac·2^−zeros: that many digits of U must be 0, the rest below frac
	zeros := unit - 1 - exp
	for ; zeros >= 64; zeros -= 64 {
		if src.Uint64() != 0 {
			return false
		}
	}
	if zeros > 0 && src.Uint64()>>(64-zeros) != 0 {
		return false
	}
	return src.Uint64() < uint64(frac*0x1p64) // frac has 53 digits
}
