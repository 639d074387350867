package tail

import "math"

// Beyond returns how much rows beyond the last visible bin may add to what clamping took, by what
// the last visible bins say of the tail. It is no bound: a light bulk with a little heavy tail
// looks as if it had none.
func (h *Histogram) Beyond(side int, r Range) (sum float64) {
	top, end := r.Top[side], r.End[side]
	two := 2 * h.Scale
	if h.Laplace {
		two = 3 * h.Scale
	}
	ratio, last, before := h.ratio(side, top)
	rows := 4 * h.Scale
	if top >= 3 {
		ratio = min(steepen, ratio*(1+math.Sqrt(1/last+1/before+2*square(h.Scale/last))))
		rows = max(h.at(side, top-1)+two, (h.at(side, top-2)+two)*ratio, 0)
	}
	collapse := false
	for b := top; b < h.count(); b++ {
		next := ratio * rows
		if b < top+direct {
			next = min(next, h.positive(side, b)+two)
			if b == top {
				rows = h.at(side, b-1) - h.Scale
				collapse = rows > 3*next
			}
			if collapse {
				ratio = min(ratio, next/rows)
			}
		}
		rows = next
		sum += rows * h.gain(b, end)
	}
	return sum
}

// Theorem. Let no number of rows be off by more than most, and let at most m/(1−ρ) rows lie in bin
// top of a side and beyond, m = h_top + most, and beyond each half octave further at most ρ < 1/√2
// of those beyond the one before. Then clamping took at most Most and at least Least from the sum
// on that side, whatever range and top are: as Σ(|y| − e_end)⁺ of a bin is between its rows times
// e_b − e_end and times √2·e_b − e_end, where that is positive, and Σ_{b≥top} h_b·w_b with
// increasing w_b and bounded numbers beyond each edge is largest where these are attained. (Those
// behind the last bin, for which a Bound leaves no room, are counted where they would be without
// one: so a Bound makes nothing shorter that holds without it by the assumption alone.) With ρ =
// 2^{−index/2} a tail of that index is such a tail. ∎

// Most returns the most that clamping took on a side if rows thin out from bin top on; for an
// infinite index, of rows that are nowhere but below it, and for 0 of any rows up to the bound.
func (h *Histogram) Most(side int, r Range, top int, most, index float64) (sum float64) {
	end := h.Edge(r.End[side])
	if index == 0 {
		top = h.count()
	}
	above := func(b int) float64 { return max(math.Sqrt2*h.Edge(b)-end, 0) }
	for b := r.End[side]; b < top; b++ {
		sum += max(h.at(side, b)+most, 0) * above(b)
	}
	ratio := math.Exp2(-index / 2)
	rows := h.positive(side, top) + most
	for b := top; b < h.count(); b++ {
		if b == h.count()-1 {
			rows /= 1 - math.Sqrt2*ratio
		}
		sum += rows * above(b)
		rows *= ratio
	}
	return sum
}

// Least returns the least that clamping took on a side.
func (h *Histogram) Least(side int, r Range, most float64) (sum float64) {
	for b := r.End[side]; b < r.Top[side]; b++ {
		sum += max(h.at(side, b)-most, 0) * (h.Edge(b) - h.Edge(r.End[side]))
	}
	return sum
}
