package noise

import (
	"math"
	"math/big"
)

// digitScale is where geometric stops trusting a single logarithm. Below, fewer than one draw in 2²³ is undecided.
const digitScale = 0x1p20

// geometric draws G ≥ 0 with Pr[G ≥ g] = e^{−g/b} exactly, for the float64 b itself, 0 ≤ b ≤ 2⁵².
//
// For b ≥ 2²⁰ write G = u + 2^m·v with 2^m ≤ b/2¹⁹ < 2^{m+1}. The law factors: u in [0, 2^m) has Pr ∝ e^{−u/b},
// drawn by rejection from the uniform law (almost always accepted), and v is geometric with b/2^m < 2²⁰ in
// place of b. So the digits that a float64 logarithm could not settle are drawn as integers.
func geometric(src *Source, b float64) int64 {
	if b < digitScale {
		return geometricLog(src, b)
	}
	_, exp := math.Frexp(b)
	m := exp - 20
	for {
		u := int64(src.Uint64() >> (64 - m))
		if bernoulliExp(src, float64(u)/b, func() *big.Rat { return ratio(u, b) }) {
			return u + geometricLog(src, math.Ldexp(b, -m))<<m
		}
	}
}

// negligible is a b below which geometric is 0 but for a probability of e^{−2^1000}; 1/b may overflow there.
const negligible = 0x1p-1000

// geometricLog is geometric for b < 2²⁰: the integer part of b·(−ln U). The float64 logarithm decides
// it unless b·(−ln U) is within its error of an integer; then U is compared exactly.
func geometricLog(src *Source, b float64) int64 {
	if b < negligible {
		return 0
	}
	w := src.Uint64()
	if floor, decided := floorLog64(w, b); decided {
		return floor
	}
	return geometricExact(src, newLazy(w), b)
}

// floorLog64 returns ⌊b·(−ln U)⌋ in float64 for U in [w, w+1)/2⁶⁴, if that is possible.
//
// U is within a relative 2/u + 2⁻⁵³ of u/2⁶⁴. The two logarithms (at most 44.4) and their difference are
// each within 2⁻⁴⁷ of the truth: math.Log is good to 1 ulp. The product adds 1 ulp.
func floorLog64(w uint64, b float64) (floor int64, decided bool) {
	if w < 1<<12 {
		return 0, false
	}
	u := float64(w)
	t := b * (64*math.Ln2 - math.Log(u))
	err := b*(4/u+0x1p-45) + t*0x1p-50
	floor = int64(math.Floor(t - err))
	return floor, floor == int64(math.Floor(t+err))
}

// geometricExact returns the largest v with U < e^{−v/b}, by galloping and bisection.
func geometricExact(src *Source, uniform *lazy, b float64) int64 {
	reached := func(v int64) bool { return uniform.belowExp(src, ratio(v, b)) }
	step := int64(1)
	for reached(step) {
		step *= 2
	}
	lo, hi := step/2, step // reached(lo), not reached(hi)
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; reached(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// ratio returns n/b.
func ratio(n int64, b float64) *big.Rat {
	x := new(big.Rat).SetFloat64(b)
	return x.Quo(new(big.Rat).SetInt64(n), x)
}
