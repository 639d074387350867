package tail

import "math"

// What is above noise by itself is visible, and moves what is released. An interval can use more:
// evidence that would be too weak to change the estimate, as a false alarm only widens it.

// reach returns what the noise of a sum of bins exceeds with probability at most e^−x, by
// Chernoff's bound: squares is the sum of the squares of their weights, of which the largest is
// given. For a Laplace variable of scale 1, −ln(1−t²) ≤ t²/(1−t) bounds the cumulants.
func (h *Histogram) reach(x, squares, largest float64) float64 {
	if h.Laplace {
		return h.Scale * (2*math.Sqrt(x*squares) + x*largest)
	}
	return h.Scale * math.Sqrt(2*x*squares)
}

// Anchors returns the bins from which on the theorem asks for thinning tails of an index, if no
// number of rows is off by more than most: the first behind the visible ones, or where a side has
// none, behind the bulk of all rows. Where neighbouring bins further out, on one side or on both
// taken together, have more rows than such tails and noise, those tails are refuted, and the
// anchors are behind these bins. Where all that is visible, and has more rows than are sure not to
// be noise, is closer to the centre than a given bin, they are behind that.
func (h *Histogram) Anchors(r Range, most, sure, index float64, near, size int) (top [2]int) {
	bulk, ratio, visible := h.bulk(), math.Exp2(-index/2), max(r.Top[0], r.Top[1])
	for visible > 0 && max(h.at(0, visible-1), h.at(1, visible-1)) < sure {
		visible--
	}
	for side := range top {
		if top[side] = r.Top[side]; top[side] == 0 {
			top[side] = bulk + 1
		}
		if visible <= near {
			top[side] = max(top[side], size+1)
		}
	}
	room := func(side, b int) float64 {
		return (h.positive(side, top[side]) + most) / (1 - ratio) * math.Pow(ratio, float64(b-top[side]))
	}
	for b := range h.count() {
		for side := range top {
			if b >= top[side] {
				top[side] = max(top[side], h.group(b, bulk, room(side, b), side))
			}
		}
		if b >= max(top[0], top[1]) {
			end := h.group(b, bulk, room(0, b)+room(1, b), 0, 1)
			top = [2]int{max(top[0], end), max(top[1], end)}
		}
	}
	return top
}

// group returns the end of the fewest bins from b on that have more rows than there is room for, on
// the sides taken together, and more than noise; 0 if there are none. A false alarm only widens the
// interval, and happens in some 4 % of releases.
func (h *Histogram) group(b, bulk int, room float64, sides ...int) (end int) {
	surely, octave := 6.2, .28
	if !h.Laplace {
		surely, octave = 5, .75
	}
	sum := 0.0
	for end = b + 1; end <= min(b+widest, h.count()); end++ {
		for _, side := range sides {
			sum += h.at(side, end-1)
		}
		limit := surely + octave*max(float64(end-1-bulk)/2, 0)
		if wide := end - b; wide&(wide-1) == 0 && sum > room && h.beats(len(sides)*wide, sum, limit) {
			return end
		}
	}
	return 0
}

// Aside returns what clamping took on a side if rows thin out behind the anchor, except for a group
// that may be anywhere up to another bin: with the noise of all bins up to there at once.
func (h *Histogram) Aside(side int, r Range, top, to int, most, index, x float64) (sum float64) {
	squares, largest := 0.0, 0.0
	rows := h.positive(side, top) + most
	for b := r.End[side]; b < h.count(); b++ {
		w := max(math.Sqrt2*h.Edge(b)-h.Edge(r.End[side]), 0)
		if b < to {
			sum, squares, largest = sum+h.at(side, b)*w, squares+w*w, w
		} else {
			if b == h.count()-1 {
				rows /= 1 - math.Exp2((1-index)/2)
			}
			sum += rows * math.Exp2(-index/2*float64(b-top)) * w
		}
	}
	return sum + h.reach(x, squares, largest)
}
