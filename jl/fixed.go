package jl

import (
	"math"
	"math/bits"
)

// fixed is the number whole + frac/2⁶⁴, in steps of the grid. Values are kept to 2⁻⁶³ of a step
// while they are summed, and the sums are rounded to whole steps once, on release: so a release is
// off by a step for each sum, and not for each value. See sensitivity_proof.md.
type fixed struct {
	whole int64
	frac  uint64
}

// most is where sums of steps saturate.
const most = 1 << 61

// toFixed returns y, rounded towards 0 to a multiple of 2⁻⁶³, for |y| < 2⁶². It is odd, and moves
// no two values apart by more than 2⁻⁶³. The rest of y is exact, and is brought into the digits of
// frac as a number in two's complement, whose sign goes to whole.
func toFixed(y float64) fixed {
	whole := int64(y)
	rest := int64((y - float64(whole)) * 0x1p63)
	return fixed{whole + rest>>63, uint64(rest) << 1}
}

// quickFixed is toFixed for |y| ≤ 2⁴⁰, in fewer instructions. 1.5·2⁵² + y, rounded to an integer,
// has the nearest whole number in its last digits. What is left of y is exact, between −½ and ½,
// and y itself where that number is 0; else y has no digit beyond 2⁻⁵³, and nothing is cut.
func quickFixed(y float64) fixed {
	const middle = 0x1.8p52
	z := y + middle
	whole := int64(math.Float64bits(z) - math.Float64bits(middle))
	rest := int64((y - (z - middle)) * 0x1p63)
	return fixed{whole: whole + rest>>63, frac: uint64(rest) << 1}
}

// saturated returns ±limit for numbers beyond that, and 0 for NaN.
func saturated(y float64, limit int64) fixed {
	switch {
	case y > 0:
		return fixed{whole: limit}
	case y < 0:
		return fixed{whole: -limit}
	}
	return fixed{}
}

// add returns v + w, where that does not overflow.
func (v fixed) add(w fixed) fixed {
	frac, carry := bits.Add64(v.frac, w.frac, 0)
	return fixed{v.whole + w.whole + int64(carry), frac}
}

// subtractOrAdd returns v − w for a sign of 1 and v + w for 0, clamped to ±2⁶¹.
func (v fixed) subtractOrAdd(w fixed, sign uint64) fixed {
	mask := -sign
	frac, carry := bits.Add64(v.frac, w.frac^mask, sign)
	whole := v.whole + (w.whole ^ int64(mask)) + int64(carry)
	if uint64(whole+most) >= 2*most {
		return fixed{max(min(whole, most), -most), 0}
	}
	return fixed{whole, frac}
}

// clamped returns v, at most ±limit.
func (v fixed) clamped(limit int64) fixed {
	switch {
	case v.whole >= limit:
		return fixed{whole: limit}
	case v.whole < -limit:
		return fixed{whole: -limit}
	}
	return v
}

// rounded returns the nearest integer, halves upwards.
func (v fixed) rounded() int64 { return v.whole + int64(v.frac>>63) }
