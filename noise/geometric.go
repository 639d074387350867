package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/search"
)

// geometric draws G ≥ 0 with Pr[G ≥ g] = e^{−g/b} exactly, for the float64 b itself, 0 ≤ b ≤ 2⁵²,
// and two fair coins besides, in the lowest bits of coins.
//
// For b ≥ 2²⁰ write G = u + 2^m·v with 2^m ≤ b/2¹⁹ < 2^{m+1}. The law factors: u in [0, 2^m) has Pr
// ∝ e^{−u/b}, drawn by rejection from the uniform law, and v is geometric with b/2^m < 2²⁰ in place
// of b. So the digits that a float64 logarithm could not settle are drawn as integers.
func geometric(src *Source, b float64) (g int64, coins uint64) {
	if b < 0x1p20 {
		w := src.Uint64()
		return geometricLog(src, w, b), w
	}
	const mantissa, bias = 52, 1023 // of a float64
	m := uint(math.Float64bits(b)>>mantissa) - bias - 19
	rest := 64 - m
	for {
		w, next := src.pair()
		u := int64(w >> rest)
		// The other digits of w are the first of U, and u is accepted if U < e^{−u/b}. As u/b <
		// 2⁻¹⁹ that holds unless U ≥ 1 − 2⁻¹⁹.
		const ones = 1<<19 - 1
		w &= 1<<rest - 1
		if w>>(rest-19) == ones && !newLazy(w, rest).belowExp(src, ratio(u, b)) {
			continue
		}
		// b/2^m
		v := geometricLog(src, next, math.Float64frombits(math.Float64bits(b)-uint64(m)<<mantissa))
		return u + v<<m, next
	}
}

// negligible is a b below which geometric is 0, except with probability e^{−2^1000}; 1/b may
// overflow there.
const negligible = 0x1p-1000

// geometricLog is geometric for b < 2²⁰: the integer part of b·(−ln U), U with all digits of w
// except the last two, and more. A quick logarithm decides it unless b·(−ln U) is within its error
// of an integer, then math.Log likewise; then U is compared exactly.
func geometricLog(src *Source, w uint64, b float64) int64 {
	if b < negligible {
		return 0
	}
	if floor, decided := quickFloor(w, b, 0); decided {
		return floor
	}
	if floor, decided := floorLog(w, b, 0); decided {
		return floor
	}
	return geometricExact(src, newLazy(w>>2, 62), b)
}

// floorLog returns ⌊b·(−ln U + shift)⌋, shift in [0, ln 2] to within 2⁻⁴⁹, in float64 for U in [w,
// w+4)/2⁶⁴, w a multiple of 4, if that is possible. It ignores the last two digits of w.
//
// U is within a relative 4/w + 2⁻⁵³ of w/2⁶⁴. The two logarithms (at most 44.4) and their
// difference are each within 2⁻⁴⁷ of the truth, and shift and its sum too: math.Log is good to 1
// ulp. The product adds 1 ulp.
func floorLog(w uint64, b, shift float64) (floor int64, decided bool) {
	u := float64(w &^ 3)
	t := b * (64*math.Ln2 - math.Log(u) + shift)
	err := b*(8/u+0x1p-44) + t*0x1p-50
	if !(t >= err && w >= 1<<12) {
		return 0, false
	}
	floor = int64(t - err)
	return floor, floor == int64(t+err)
}

// geometricExact returns the largest v with U < e^{−v/b}.
func geometricExact(src *Source, uniform *lazy, b float64) int64 {
	return search.Least(1, func(v int64) bool { return !uniform.belowExp(src, ratio(v, b)) }) - 1
}

// ratio returns n/b.
func ratio(n int64, b float64) *big.Rat {
	x := new(big.Rat).SetFloat64(b)
	return x.Quo(new(big.Rat).SetInt64(n), x)
}
