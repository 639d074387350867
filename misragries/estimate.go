package misragries

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/enum"
)

// Side says what a count is to be taken for: it lies between the true count and that less the
// undercount.
type Side uint8

const (
	// Upper adds the undercount: the true count of a key that was stored whenever the sketch
	// lost counts.
	Upper Side = iota
	// Middle adds half of it: the rule of the least worst case.
	Middle
	// Lower adds nothing: the estimate of the paper, below the true count.
	Lower

	lastSide = Lower
)

// String returns the name of the constant.
func (s Side) String() string { return enum.Name(s, []string{"Upper", "Middle", "Lower"}, "Side") }

// weight is the part of the undercount that is added.
func (s Side) weight() float64 { return 1 - float64(s)/2 }

// Estimate returns the best estimate of the number of occurrences of the key, or 0 if it was not
// released: the upper reading; where a release does not tell the undercount the lower one, and of a
// [Sum] of several sketches what a key has that is spread evenly over them. The k keys of a
// PureUniverse are mostly shown for their noise alone: it is 0 below b·ln(Dim/2), b its scale. It
// may be negative where nothing is hidden. See Interval for bounds.
func (h *Histogram[K]) Estimate(key K) float64 {
	if h.law.method == Auto {
		return 0
	}
	v, found := h.by().find(h, key)
	if !found {
		return 0
	}
	return h.by().estimate(h, v)
}

// EstimateAs is Estimate by the given reading, NaN if that is none.
func (h *Histogram[K]) EstimateAs(key K, side Side) float64 {
	if side > lastSide {
		return math.NaN()
	}
	if h.law.method == Auto {
		return 0
	}
	v, found := h.by().find(h, key)
	if !found {
		return 0
	}
	return h.by().reading(h, v, side)
}

// StdDev returns the standard deviation of the noise of Estimate; of an estimate for an even spread
// that of the upper reading. The private shifts of all sketches are part of it, as a key has them
// that each sketch holds.
func (h *Histogram[K]) StdDev() float64 { return h.StdDevAs(Upper) }

// StdDevAs returns the standard deviation of the noise of EstimateAs. NaN if the side is none.
func (h *Histogram[K]) StdDevAs(side Side) float64 {
	if h.law.method == Auto || side > lastSide {
		return math.NaN()
	}
	return h.by().stdDev(h, side)
}

// All yields the released keys and their estimates, sorted by key.
func (h *Histogram[K]) All() iter.Seq2[K, float64] { return h.atLeast(math.Inf(-1)) }

// atLeast yields the released keys whose noisy count is at least v.
func (h *Histogram[K]) atLeast(v float64) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		if h.law.method == Auto {
			return
		}
		for key, x := range h.by().all(h) {
			if x >= v && !yield(key, h.by().estimate(h, x)) {
				return
			}
		}
	}
}

// Top yields the n released keys with the largest estimates, in descending order, equal ones by
// key.
func (h *Histogram[K]) Top(n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		if h.law.method == Auto || n <= 0 {
			return
		}
		type shown struct {
			key   K
			count float64
		}
		var list []shown
		for key, x := range h.by().all(h) {
			list = append(list, shown{key, x})
		}
		// The estimate rises with the noisy count.
		slices.SortStableFunc(list, func(a, b shown) int { return cmp.Compare(b.count, a.count) })
		for _, s := range list[:min(n, len(list))] {
			if !yield(s.key, h.by().estimate(h, s.count)) {
				return
			}
		}
	}
}
