package search

import "math"

// Float returns the least float64 t of [lo, hi] for which safe(t) holds, where safe is monotone and
// safe(hi) holds; in any case a t with safe(t), or hi. It bisects the ordered float64, so the
// result is precise in relative terms also next to 0.
func Float(lo, hi float64, safe func(float64) bool) float64 {
	a, b := orderedBits(lo), orderedBits(hi)
	for a+1 < b {
		mid := a + int64(uint64(b-a)/2)
		if safe(fromOrderedBits(mid)) {
			b = mid
		} else {
			a = mid
		}
	}
	return fromOrderedBits(b)
}

// orderedBits maps float64 to integers in the same order, −0 and 0 to 0. A difference of two may
// overflow an int64, modulo 2⁶⁴, but is right as a uint64.
func orderedBits(x float64) int64 {
	if x < 0 {
		return -int64(math.Float64bits(-x))
	}
	return int64(math.Float64bits(math.Abs(x)))
}

func fromOrderedBits(n int64) float64 {
	if n < 0 {
		return -math.Float64frombits(uint64(-n))
	}
	return math.Float64frombits(uint64(n))
}
