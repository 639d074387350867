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

// Near returns the least n in [from, to] for which ok holds, or to if none below is; ok must stay
// true once it is, and is not asked of to. It looks at the guess first, doubles its steps away from
// there, then bisects: O(1 + log|n − guess|) calls.
func Near(from, to, guess int64, ok func(int64) bool) int64 {
	lo, hi := from-1, to // not ok(lo), and what is sought is at most hi
	at := max(min(guess, to-1), from)
	for step := int64(1); lo < at && at < hi; step *= 2 {
		if ok(at) {
			hi, at = at, at-step
		} else {
			lo, at = at, at+step
		}
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
