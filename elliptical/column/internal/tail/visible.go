package tail

import "math"

// surprise returns −ln Pr[noise of m bins > x], 0 for x ≤ 0.
//
// A sum of m Laplace variables is the difference of two sums of m exponential ones. While the
// second lasts, K of the first end, Pr[K = k] = C(m−1+k, k)·2^−(m+k); of K < m the rest of the
// first, m − K exponential variables, is the difference where that is positive.
func (h *Histogram) surprise(m int, x float64) float64 {
	x /= h.Scale
	switch {
	case x <= 0:
		return 0
	case !h.Laplace:
		if x /= math.Sqrt(float64(m)); x > 30 {
			return x*x/2 + math.Log(x*math.Sqrt(2*math.Pi)) // Mills' ratio
		}
		return -math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	sum, chance := 0.0, math.Ldexp(1, -m)
	for k := range m {
		term, gamma := 1.0, 0.0
		for i := range m - k {
			gamma += term
			term *= x / float64(i+1)
		}
		sum += chance * gamma
		chance *= float64(m+k) / float64(2*(k+1))
	}
	return x - math.Log(sum)
}

// beats reports whether noise of m bins is above x with a smaller probability than e^−rare. Most
// bins are empty, and told by a lower bound of it: one variable does it alone, the others being
// above 0.
func (h *Histogram) beats(m int, x, rare float64) bool {
	if h.Laplace && x/h.Scale+2*math.Ln2 <= rare || x <= 0 {
		return false
	}
	return h.surprise(m, x) > rare
}

const widest = 16 // bins that are looked at together

// flat returns the surprise that hardly any of so many bins has by noise alone, wherever it is.
func (h *Histogram) flat() float64 {
	alarm := .005
	if h.Laplace {
		alarm = .02
	}
	return math.Log(float64(2*h.count()) / alarm)
}

// clear reports whether a bin is above noise, wherever it is.
func (h *Histogram) clear(rows float64) bool { return h.beats(1, rows, h.flat()) }

// tilted returns the surprise that is above noise so many octaves above the bulk of the rows: a
// false alarm j octaves up costs 4ʲ as much, and is 4⁻ʲ as likely.
func (h *Histogram) tilted(octaves float64) float64 {
	if h.Laplace {
		return 5 + math.Ln2 + 2*math.Ln2*octaves
	}
	return 6.6 + 2*math.Ln2*octaves // three standard deviations
}

// Few reports whether too few rows are away from the centre for single bins to say where their bulk
// is, and how many surely are.
func (h *Histogram) Few() (outside float64, few bool) {
	all, outside := h.Sure()
	enough := 0.0
	if h.Laplace { // noise alone makes one of the bins large in 7 % of releases
		enough = 10 * h.large()
	}
	return outside, outside <= enough || outside < all/8
}

// bulk returns the bin of the upper quartile of the distances from the centre, among bins that
// surely hold rows; where nearly all rows are at the centre, that of the neighbours on a side that
// stand out most from noise; −1 if none do. Nothing but the histogram decides.
func (h *Histogram) bulk() int {
	if outside, few := h.Few(); !few {
		left := 0.0
		for b := h.count() - 1; b >= 0; b-- {
			if left += h.sure(0, b) + h.sure(1, b); left > outside/4 {
				return b
			}
		}
	}
	best, bulk := h.flat(), -1
	for m := 1; m <= widest; m *= 2 {
		for side := range 2 {
			for b := 0; b+m <= h.count(); b++ {
				rows := h.sum(side, b, b+m)
				if h.beats(m, rows, best) {
					best, bulk = h.surprise(m, rows), b+m-1
					for left := h.at(side, bulk); left <= rows/4; left += h.at(side, bulk) {
						bulk--
					}
				}
			}
		}
	}
	return bulk
}

// Doubt bounds the probability that noise alone makes some bins stand out as much as the farthest
// visible ones do, in units of that of the least that counts anywhere; 1 at most.
func (h *Histogram) Doubt(r Range) float64 {
	most := h.flat()
	for side, top := range r.Top {
		for m := 1; m <= min(widest, top) && top == max(r.Top[0], r.Top[1]); m *= 2 {
			most = max(most, h.surprise(m, h.sum(side, top-m, top)))
		}
	}
	return math.Exp(h.flat() - most)
}

// sum returns the number of rows in the bins from ≤ b < to.
func (h *Histogram) sum(side, from, to int) (sum float64) {
	for b := from; b < to; b++ {
		sum += h.at(side, b)
	}
	return sum
}

// Visible returns for each side the first bin behind the last one that is above noise, by itself or
// with its neighbours, 0 if there is none.
func (h *Histogram) visible() (top [2]int) {
	bulk := h.bulk()
	if bulk < 0 {
		return top
	}
	for side := range 2 {
		seen := make([]bool, h.count())
		for m := 1; m <= widest; m *= 2 {
			for b := 0; b+m <= h.count(); b++ {
				fresh := true
				for i := b; i < b+m; i++ {
					fresh = fresh && !seen[i]
				}
				limit := h.flat()
				if b >= bulk-2 {
					limit = h.tilted(max(float64(b+m-1-bulk)/2, 0))
				}
				if !fresh || !h.beats(m, h.sum(side, b, b+m), limit) {
					continue
				}
				// without the bins at its ends that are not positive: they add nothing but noise
				from, to := b, b+m
				for h.at(side, from) <= 0 {
					from++
				}
				for h.at(side, to-1) <= 0 {
					to--
				}
				for i := from; i < to; i++ {
					seen[i] = true
				}
				top[side] = max(top[side], to)
			}
		}
	}
	return top
}

// Thins reports whether rows are seen to thin out at the visible end of a side: two octaves behind
// it have less than half of those before it, noise included; or two fifths, if all that is away
// from the centre is so few rows that there is nothing else to tell how fast.
func (h *Histogram) Thins(side int, r Range) bool {
	const bins = 4
	top, part := r.Top[side], .5
	if top == 0 {
		return true
	}
	if _, few := h.Few(); few {
		part = .4
	}
	return h.sum(side, top, top+bins)+math.Sqrt(bins)*h.deviation() < part*h.sum(side, top-bins, top)
}

// Beside returns about how many rows a side has from a bin on, by the bins that surely hold some.
func (h *Histogram) Beside(side, from int) (rows float64) {
	for b := from; b < h.count(); b++ {
		rows += h.sure(side, b)
	}
	return rows
}

// Claims returns how much the visible rows of either side add to the sum, at least.
func (h *Histogram) Claims(r Range) (claims [2]float64) {
	for side, top := range r.Top {
		for b := range top {
			claims[side] += h.at(side, b) * min(h.Edge(b), h.Edge(r.End[side]))
		}
	}
	return claims
}

// Bin is a bin in which rows can be seen, by its ends around the centre.
type Bin struct{ From, To, Rows, StdErr float64 }

// Seen returns the bins that are above noise or among those that the range adds back, in order.
func (h *Histogram) Seen(r Range) (bins []Bin) {
	seen := func(side, b int) bool {
		return h.clear(h.at(side, b)) || b >= r.End[side] && b < r.Top[side]
	}
	for b := h.count() - 1; b >= 0; b-- {
		if seen(0, b) {
			bins = append(bins, Bin{-h.Edge(b + 1), -h.Edge(b), h.at(0, b), h.deviation()})
		}
	}
	if h.clear(float64(h.Middle)) {
		bins = append(bins, Bin{-h.Edge(0), h.Edge(0), float64(h.Middle), h.deviation()})
	}
	for b := range h.count() {
		if seen(1, b) {
			bins = append(bins, Bin{h.Edge(b), h.Edge(b + 1), h.at(1, b), h.deviation()})
		}
	}
	return bins
}
