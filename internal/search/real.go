package search

import "math"

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
