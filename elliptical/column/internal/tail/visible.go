package tail

import "math"

// flat returns the sum of m bins that is above noise whatever the bins are.
func (h *Histogram) flat(m int) float64 {
	if h.Laplace {
		return h.Scale * math.Log(float64(2*h.count())/.04) * float64(m+1) / 2
	}
	return 4.2 * h.Scale * math.Sqrt(float64(m))
}

// tilted returns the sum of m bins that is above noise so many octaves above the bulk of the rows:
// a false alarm j octaves up costs 4ʲ as much, and is 4⁻ʲ as likely.
func (h *Histogram) tilted(m int, octaves float64) float64 {
	if h.Laplace {
		return h.Scale * (5 + math.Ln2*2*octaves) * float64(m+1) / 2
	}
	return h.Scale * math.Sqrt(float64(m)*(9+4*math.Ln2*octaves))
}

// bulk returns the bin of the upper quartile of the distances from the centre, among bins that
// surely hold rows; where nearly all rows are at the centre, the first bin that is above noise; −1
// if there is none. Nothing but the histogram decides.
func (h *Histogram) bulk() int {
	all, outside := h.Sure()
	if outside > 0 && outside >= all/8 {
		left := 0.0
		for b := h.count() - 1; b >= 0; b-- {
			for side := range 2 {
				if x := h.at(side, b); x > h.large() {
					left += x
				}
			}
			if left > outside/4 {
				return b
			}
		}
	}
	for b := range h.count() {
		if max(h.at(0, b), h.at(1, b)) > h.flat(1) {
			return b
		}
	}
	return -1
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
		for m := 1; m <= 4; m *= 2 {
			for b := 0; b+m <= h.count(); b++ {
				sum, fresh := 0.0, true
				for i := b; i < b+m; i++ {
					sum, fresh = sum+h.at(side, i), fresh && !seen[i]
				}
				limit := h.flat(m)
				if b >= bulk-2 {
					limit = h.tilted(m, max(float64(b+m-1-bulk)/2, 0))
				}
				if !fresh || !(sum > limit) {
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

// Alone reports whether one bin beside the central one has more rows than most, and none of those
// next to it is above noise.
func (h *Histogram) Alone(most float64) bool {
	for side := range 2 {
		for b := range h.count() {
			inner := h.at(side, b-1)
			if b == 0 {
				inner = float64(h.Middle)
			}
			if h.at(side, b) > most && max(inner, h.at(side, b+1)) <= h.flat(1) {
				return true
			}
		}
	}
	return false
}

// Bin is a bin in which rows can be seen, by its ends around the centre.
type Bin struct{ From, To, Rows, StdErr float64 }

// Seen returns the bins that are above noise or among those that the range adds back, in order.
func (h *Histogram) Seen(r Range) (bins []Bin) {
	seen := func(side, b int) bool {
		return h.at(side, b) > h.flat(1) || b >= r.End[side] && b < r.Top[side]
	}
	for b := h.count() - 1; b >= 0; b-- {
		if seen(0, b) {
			bins = append(bins, Bin{-h.Edge(b + 1), -h.Edge(b), h.at(0, b), h.deviation()})
		}
	}
	if float64(h.Middle) > h.flat(1) {
		bins = append(bins, Bin{-h.Edge(0), h.Edge(0), float64(h.Middle), h.deviation()})
	}
	for b := range h.count() {
		if seen(1, b) {
			bins = append(bins, Bin{h.Edge(b), h.Edge(b + 1), h.at(1, b), h.deviation()})
		}
	}
	return bins
}
