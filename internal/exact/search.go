package exact

import "math"

// LeastInt returns the least n ≥ from for which ok holds; ok must hold for some n far below 2⁶²,
// and stay true once it is. It gallops, then bisects: O(log(n − from)) calls.
func LeastInt(from int64, ok func(int64) bool) int64 {
	step := int64(1)
	for !ok(from + step - 1) {
		step *= 2
	}
	return bisect(from+step/2-1, from+step-1, ok) // not ok of the first, unless it is from−1
}

// bisect returns the least n in (lo, hi) for which ok holds, or hi.
func bisect(lo, hi int64, ok func(int64) bool) int64 {
	for lo+1 < hi {
		if mid := lo + int64(uint64(hi-lo)/2); ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// LeastNear returns the least n in [from, to] for which ok holds, or to if none below is; ok must
// stay true once it is, and is not asked of to. It looks at the guess first, doubles its steps away
// from there, then bisects: O(1 + log|n − guess|) calls.
func LeastNear(from, to, guess int64, ok func(int64) bool) int64 {
	lo, hi := from-1, to // not ok(lo), and what is sought is at most hi
	at := max(min(guess, to-1), from)
	for step := int64(1); lo < at && at < hi; step *= 2 {
		if ok(at) {
			hi, at = at, at-step
		} else {
			lo, at = at, at+step
		}
	}
	return bisect(lo, hi, ok)
}

// LeastFloat returns the least float64 t of [lo, hi] for which safe(t) holds, where safe is
// monotone and safe(hi) holds; in any case a t with safe(t), or hi. It bisects the ordered float64,
// so the result is precise in relative terms also next to 0.
func LeastFloat(lo, hi float64, safe func(float64) bool) float64 {
	return fromOrderedBits(bisect(orderedBits(lo), orderedBits(hi), func(n int64) bool { return safe(fromOrderedBits(n)) }))
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

// LeastRoot returns a number of (lo, hi] where the decreasing function f is ≤ 0, the least up to a
// relative 10⁻¹³, or hi. It is for functions that are not positive at few points of the interval
// only by a rounding: it interpolates (Illinois), with bisections where that does not help.
func LeastRoot(lo, hi float64, f func(float64) float64) float64 {
	flo, fhi := f(lo), f(hi)
	side := 0
	for i := range 90 {
		size := max(math.Abs(lo), math.Abs(hi))
		if hi-lo <= 1e-13*size {
			break
		}
		mid := lo + (hi-lo)/2
		if i%3 != 2 && flo < 600 && fhi > -600 && flo > fhi {
			mid = min(max(lo+(hi-lo)*(flo/(flo-fhi)), lo+4e-14*size), hi-4e-14*size)
		}
		at := f(mid)
		switch {
		case at <= 0:
			if hi, fhi = mid, at; side < 0 {
				flo /= 2
			}
			side = -1
		default:
			if lo, flo = mid, at; side > 0 {
				fhi /= 2
			}
			side = 1
		}
	}
	return hi
}

// Minimum returns where f is least in [lo, hi], and the value there, by sections in the golden
// ratio: f falls, then rises. Up to some point it may be +Inf, or NaN, which counts as +Inf. The
// interval shrinks by .618 with each of steps evaluations.
func Minimum(lo, hi float64, steps int, f func(float64) float64) (at, value float64) {
	const ratio = 0.6180339887498949
	high := func(x float64) float64 {
		if y := f(x); !math.IsNaN(y) {
			return y
		}
		return math.Inf(1)
	}
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := high(a), high(b)
	for range steps {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = high(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = high(b)
		}
	}
	if fa < fb {
		return a, fa
	}
	return b, fb
}

// Root returns an x in [lo, hi] next to which the monotone f changes its sign, by halving the
// interval so many times: the end towards hi, with the sign of f(hi).
func Root(lo, hi float64, steps int, f func(float64) float64) float64 {
	positive := f(hi) > 0
	for range steps {
		mid := lo + (hi-lo)/2
		if (f(mid) > 0) == positive {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
