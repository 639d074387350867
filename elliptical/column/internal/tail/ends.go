package tail

import (
	"math"
	"slices"
)

const (
	inBin   = 1.18 // the mean of a power tail in a bin, in its lower edges: 1.15 to 1.20
	spread  = .12  // the standard deviation of a row's place in a bin
	shape   = .02  // by how much the mean of a bin may be off
	cut     = .12  // the same where the rows may end inside of the bin
	steepen = .68  // the largest ratio of neighbouring bins of a tail: its index is 1.11
	direct  = 6    // bins behind the last visible one that have a say themselves
	// the largest ratio behind those: an index of 2. With steepen a few rows, which noise alone may
	// make, would move an end by up to 17 octaves: each half octave further had .96 as much.
	thinner = .5
)

// gain returns by how much a row of bin b exceeds an end, on average.
func (h *Histogram) gain(b, end int) float64 { return max(inBin*h.Edge(b)-h.Edge(end), 0) }

// ratio returns that of the last visible bins, at most steepen; and the numbers of rows that it is
// taken of.
func (h *Histogram) ratio(side, top int) (r, last, before float64) {
	if top < 3 {
		return steepen, 1, 1
	}
	last, before = max(h.at(side, top-1)+h.at(side, top-2), 1), max(h.at(side, top-2)+h.at(side, top-3), 1)
	return min(steepen, last/before), last, before
}

// expected returns how many rows each bin behind the visible ones is expected to have.
func (h *Histogram) expected(side, top int) (x []float64) {
	x = make([]float64, h.count())
	r, _, _ := h.ratio(side, top)
	last := max(h.at(side, top-1), r*h.at(side, top-2), 0)
	for b := top; b < h.count(); b++ {
		if b == top+direct {
			r = min(r, thinner)
		}
		x[b] = r * last
		if b < top+direct {
			x[b] = min(x[b], max(h.at(side, b)+h.deviation(), 0))
			if last > 0 {
				r = min(r, x[b]/last)
			}
		}
		last = x[b]
	}
	return x
}

// Back returns what clamping to the range took from the sum, as far as the histogram says: the part
// that is added back, its variance, and by how much its bins may be off systematically.
func (h *Histogram) Back(r Range) (sum, variance, systematic float64) {
	for side, sign := range [2]float64{-1, 1} {
		x, v, s := h.back(side, r.End[side], r.Top[side])
		sum, variance, systematic = sum+sign*x, variance+v, systematic+s
	}
	return sum, variance, systematic
}

func (h *Histogram) back(side, end, top int) (sum, variance, systematic float64) {
	for b := end; b < top; b++ {
		g, e, rows := h.gain(b, end), h.Edge(b), h.positive(side, b)
		sum += h.at(side, b) * g
		variance += square(h.deviation()*g) + rows*square(spread*e)
		if b == top-1 || h.positive(side, b+1) < .3*rows {
			systematic += cut * rows * e
		} else {
			systematic += shape * rows * e
		}
	}
	return sum, variance, systematic
}

// Choose returns the range for which the expected error of the sum is least: noise in proportion to
// the ends, the noise of the bins that are added back, and what is not seen. No end is below least,
// the spacing of numbers near the centre. Of ranges that cost the same it is the widest: the nearer
// end costs no Gaussian noise, and rows that are not seen are not clamped then. It is a function of
// released numbers.
func (h *Histogram) Choose(least float64) Range {
	r := Range{Top: h.visible()}
	var variance, bias [2][]float64
	for side := range 2 {
		x := h.expected(side, r.Top[side])
		for end := range h.edge {
			_, v, systematic := h.back(side, end, r.Top[side])
			for b := max(end, r.Top[side]); b < h.count(); b++ {
				systematic += x[b] * h.gain(b, end)
			}
			variance[side], bias[side] = append(variance[side], v), append(bias[side], .7*systematic)
		}
	}
	best := math.Inf(1)
	first, _ := slices.BinarySearch(h.edge, least)
	for i := first; i < len(h.edge); i++ {
		if h.noise(i, first)+variance[0][i] > best {
			continue
		}
		for j := first; j < len(h.edge) && !(h.noise(i, j) > best); j++ {
			cost := h.noise(i, j) + variance[0][i] + variance[1][j] + square(bias[0][i]+bias[1][j])
			if !(cost > best) {
				best, r.End = cost, [2]int{i, j}
			}
		}
	}
	return r
}

// noise returns the variance of the sum's noise, about the centre: that of the sum and of the
// number of rows, or for Laplace noise of the sums of distances from either end.
func (h *Histogram) noise(i, j int) float64 {
	if h.Laplace {
		return square(h.Sum) * (square(h.edge[i]) + square(h.edge[j]))
	}
	return square(h.Sum * h.edge[max(i, j)])
}

func square(x float64) float64 { return x * x }
