package distinct

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// A deviation says by how many standard errors a size t in a known range is too small: it falls
// with t, and is 0 where nothing tells.

const most = 1e300 // in the place of an infinite end

// nearest returns the t in [from, to] where the deviation changes its sign, or the end that is
// nearer to that.
func nearest(from, to float64, deviation func(t float64) float64) float64 {
	switch to = min(to, most); {
	case !(deviation(from) > 0):
		return from
	case deviation(to) > 0:
		return to
	}
	return root(from, to, deviation)
}

// root is exact.LeastRoot for ends that may be hundreds of orders of magnitude apart: in ln(1+t).
func root(lo, hi float64, f func(t float64) float64) float64 {
	y := exact.LeastRoot(math.Log1p(lo), math.Log1p(hi), func(y float64) float64 { return f(math.Expm1(y)) })
	return min(max(math.Expm1(y), lo), hi)
}

// accepted returns the ends, next to best, of the t in [from, to] whose deviation is at most z. If
// it is not even at best, where it is least, the allowance grows as the length of a vector does: so
// the set is never empty, and holds what the plain one would. An infinite end stays: there the
// counts bound nothing, and the deviation is that of counts that say too little.
func accepted(from, best, to, z float64, deviation func(t float64) float64) (lo, hi float64) {
	reach := math.Hypot(z, deviation(best))
	beyond := func(t float64) float64 { return math.Abs(deviation(t)) - reach }
	if lo, hi = from, to; beyond(lo) > 0 {
		lo = root(lo, best, beyond)
	}
	if to <= most && beyond(to) > 0 {
		hi = -exact.LeastRoot(-to, -best, func(t float64) float64 { return beyond(-t) })
	}
	return lo, hi
}

// mean returns the mean of the t in [from, to] with the density e^{−deviation²/2}: a zero of the
// deviation where that is well inside, the middle where nothing tells.
func mean(from, to float64, deviation func(t float64) float64) float64 {
	var squares [48]float64
	best := nearest(from, to, deviation)
	lo, hi := accepted(from, best, to, 4, deviation)
	at := func(i int) float64 { return lo + (hi-lo)*(float64(i)+0.5)/float64(len(squares)) }
	for i := range squares {
		d := deviation(at(i))
		squares[i] = d * d
	}
	least, sum, all := slices.Min(squares[:]), 0.0, 0.0
	for i, square := range squares {
		density := math.Exp((least - square) / 2)
		sum, all = sum+density*at(i), all+density
	}
	return min(max(sum/all, from), to)
}

// normalQuantile returns the z with Pr[|Z| ≤ z] = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
