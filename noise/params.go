package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/check"
)

// ErrParams reports a public parameter outside its range, and names all three.
var ErrParams = check.ErrParams

// Every scale, sensitivity, ε and ρ lies in [leastParam, mostParam]: powers of two so far from the
// ends of float64 that a quotient of two of them, and the remainder of that quotient, neither
// overflows nor underflows. A discrete scale is at most mostDiscrete, where a tail of 1e-300 still
// lies below 2⁶⁰.
const (
	leastParam   = 0x1p-900
	mostParam    = 0x1p900
	mostDiscrete = 0x1p50

	wantParam = "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]"
)

// within returns an error that wraps [ErrParams] unless v is in [least, most].
func within(field string, v, least, most float64, want string) error {
	if !(v >= least && v <= most) {
		return check.ParamsError("noise", field, v, want)
	}
	return nil
}

// made returns the distribution, or its zero value and the error.
func made[D any](d D, err error) (D, error) {
	if err != nil {
		var none D
		return none, err
	}
	return d, nil
}

// checkParam returns an error that wraps [ErrParams] unless v is in [leastParam, mostParam].
func checkParam(field string, v float64) error {
	if !(v >= leastParam && v <= mostParam) { // inlined: some draws make their distribution
		return check.ParamsError("noise", field, v, wantParam)
	}
	return nil
}

// checkDiscrete returns an error that wraps [ErrParams] unless v is in [leastParam, mostDiscrete].
func checkDiscrete(field string, v float64) error {
	return within(field, v, leastParam, mostDiscrete, "a number in [2⁻⁹⁰⁰, 2⁵⁰]")
}

// checkOrZero returns an error that wraps [ErrParams] unless v is 0 or in [leastParam, mostParam].
func checkOrZero(field string, v float64) error {
	if v == 0 {
		return nil
	}
	return within(field, v, leastParam, mostParam, "0 or "+wantParam)
}

// checkScale returns the calibrated scale, or an error that blames the sensitivity if no
// distribution has that scale.
func checkScale(scale, sensitivity float64, want string) (float64, error) {
	if !(scale >= leastParam && scale <= mostParam) {
		return math.NaN(), check.ParamsError("noise", "sensitivity", sensitivity, want)
	}
	return scale, nil
}

// CheckStep returns an error if Sample(src, step) of the distribution would be NaN. Call it where
// the distribution is made.
func CheckStep(distribution interface {
	Sample(src *Source, step float64) float64
	draws(step float64) bool
}, step float64) error {
	if !distribution.draws(step) {
		return check.ParamsError("noise", "step", step, "a power of two that is at least 2⁻⁴⁶ of the scale, which a constructor accepted")
	}
	return nil
}

// maxGridScale is the largest scale, in grid steps, that Sample draws at: the result and its sum
// with anything below 2⁵² steps are exact in a float64 (a draw leaves ±2⁵² with probability below
// e^{−64}).
const maxGridScale = 0x1p46

// gridScale returns scale in units of step, exactly, or false unless step is a power of two and the
// result at most maxGridScale.
func gridScale(scale, step float64) (float64, bool) {
	if !powerOfTwo(step) || !(scale > 0) {
		return 0, false
	}
	b := scale / step
	return b, b <= maxGridScale
}

// integerGrid reports whether integers of the given scale can be rounded to multiples of step as
// [gridScale] asks.
func integerGrid(scale, step float64) bool {
	_, ok := gridScale(scale, max(step, 1))
	return ok && powerOfTwo(step)
}

// powerOfTwo reports whether step is 2^n for an integer n.
func powerOfTwo(step float64) bool {
	const fraction, infinity = 1<<52 - 1, 0x7ff << 52
	b := math.Float64bits(step)
	if b > fraction {
		return b&fraction == 0 && b < infinity // normal and positive
	}
	return b != 0 && b&(b-1) == 0
}

// roundInt rounds k to a multiple of the power of two step, halves up.
func roundInt(k int64, step float64) float64 {
	if step <= 1 {
		return float64(k)
	}
	_, exp := math.Frexp(step)
	shift := exp - 1
	if shift > 61 { // |k| < 2⁶⁰
		return 0
	}
	return math.Ldexp(float64((k+1<<(shift-1))>>shift), shift)
}

// roundRat returns ⌊x + ½⌋.
func roundRat(x *big.Rat) *big.Int {
	x.Add(x, big.NewRat(1, 2))
	return new(big.Int).Div(x.Num(), x.Denom()) // a denominator is positive, so Div is the floor
}

// withSign returns k, negated if the lowest bit of coins is set.
func withSign(k int64, coins uint64) int64 {
	mask := -int64(coins & 1)
	return (k ^ mask) - mask
}
