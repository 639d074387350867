package misragries

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

// Histogram is a released histogram: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget.
//
// What it says of the true count f of a key rests on c ≤ f ≤ c + u, where c is what the sketch or
// the sum holds for it (0 if nothing) and u the undercount: the number D of decrements, or n/(k+1),
// see [Histogram.Undercount].
//
// The zero Histogram, neither released nor decoded, has no keys, NaN for all else, and no encoding.
type Histogram[K hashing.Key] struct {
	params     Params
	input      Input
	law        scheme
	sketches   int                  // how many went into a sum; else 1
	decrements int64                // D − η, where noise is shared
	counts     []counter[K]         // sorted by key, in units, all at the threshold or above
	vector     *threshold.Vector[K] // in the place of counts, for SparseVector
}

// newHistogram returns a Histogram without counts.
func newHistogram[K hashing.Key](p Params, in Input, l scheme) *Histogram[K] {
	if in != OneStream || l.mechanism != KeptZeros {
		p.Mechanism = l.mechanism
	}
	return &Histogram[K]{params: p, input: in, law: l, sketches: 1}
}

// Params returns the parameters of the release. Where they left the Mechanism open, they name the
// one that was chosen, except for KeptZeros, the usual one of one stream: they stay as they were
// given.
func (h *Histogram[K]) Params() Params { return h.params }

// Mechanism returns the mechanism that was used.
func (h *Histogram[K]) Mechanism() Mechanism { return h.law.mechanism }

// Input returns what the release started from.
func (h *Histogram[K]) Input() Input { return h.input }

// Guarantee returns the (ε, δ) of the Params, or ε alone for PureUniverse: for one element of the
// streams, for one user where MaxKeys is more than 1, and for one user in any case where the
// release is that of a UserBuilder. The zero Histogram promises nothing.
func (h *Histogram[K]) Guarantee() budget.Guarantee {
	if h.law.mechanism == Auto {
		return budget.Guarantee{}
	}
	return h.params.promise(h.input, h.law.mechanism)
}

// Threshold returns the least noisy count that is released; for PureUniverse and ShiftedUniverse,
// the least that was.
func (h *Histogram[K]) Threshold() float64 {
	switch {
	case h.law.mechanism == Auto:
		return math.NaN()
	case h.vector != nil:
		return h.vector.Threshold()
	case !h.law.mechanism.universe():
		return h.law.lowest()
	}
	least := int64(math.MaxInt64)
	for _, c := range h.counts {
		least = min(least, c.count)
	}
	if uint64(len(h.counts)) == h.params.Dim { // nothing is hidden
		return math.Inf(-1)
	}
	return h.law.counts(least)
}

// StdDev returns the standard deviation of the noise of one released count.
func (h *Histogram[K]) StdDev() float64 {
	switch {
	case h.law.mechanism == Auto:
		return math.NaN()
	case h.vector != nil:
		return h.vector.StdDev()
	}
	return h.law.stdDev()
}

// Len returns the number of released keys.
func (h *Histogram[K]) Len() int {
	if h.vector != nil {
		return h.vector.Len()
	}
	return len(h.counts)
}

// All yields the released keys and their noisy counts, sorted by key.
func (h *Histogram[K]) All() iter.Seq2[K, float64] { return h.atLeast(math.Inf(-1)) }

// atLeast yields the released keys whose noisy count is at least v.
func (h *Histogram[K]) atLeast(v float64) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		if h.vector != nil {
			for key, x := range h.vector.All() {
				if x >= v && !yield(key, x) {
					return
				}
			}
			return
		}
		for _, c := range h.counts {
			if x := h.law.counts(c.count); x >= v && !yield(c.key, x) {
				return
			}
		}
	}
}

// Estimate returns the noisy count of the key, or 0 if it was not released. It estimates what the
// sketch or the sum holds for the key without bias (before the threshold), which is below the true
// count by the undercount at most; see Interval for both errors in one bound. Now and then it lies
// outside the Interval: that knows part of the noise which all keys share.
func (h *Histogram[K]) Estimate(key K) float64 {
	v, _ := h.find(key)
	return v
}

func (h *Histogram[K]) find(key K) (v float64, found bool) {
	if h.vector != nil {
		v = h.vector.Estimate(key)
		return v, v != 0
	}
	i, found := slices.BinarySearchFunc(h.counts, key, func(c counter[K], key K) int { return cmp.Compare(c.key, key) })
	if !found {
		return 0, false
	}
	return h.law.counts(h.counts[i].count), true
}

// String says what was released under which guarantee, and by which mechanism.
func (h *Histogram[K]) String() string {
	name := h.law.mechanism.String()
	if h.vector != nil {
		name += " by " + h.vector.Params().Mechanism.String()
	}
	return fmt.Sprintf("misragries.Histogram: %d keys of count ≥ %.6g from %d counters by %s, %v", h.Len(), h.Threshold(), h.params.Counters, name, h.Guarantee())
}
