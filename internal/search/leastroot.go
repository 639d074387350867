package search

import "math"

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
