// Package search finds where a condition on integers turns true.
package search

// Least returns the least n ≥ from for which ok holds; ok must hold for some n far below 2⁶², and
// stay true once it is. It gallops, then bisects: O(log(n − from)) calls.
func Least(from int64, ok func(int64) bool) int64 {
	step := int64(1)
	for !ok(from + step - 1) {
		step *= 2
	}
	lo, hi := from+step/2-1, from+step-1 // not ok(lo) or lo = from−1; ok(hi)
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
