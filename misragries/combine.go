package misragries

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Combined is the sum of released histograms: what an aggregator can do that nobody trusts. It is
// public, immutable, safe for concurrent readers, and costs no budget. Its noise and what its
// thresholds hide add up over the parts: a [Sum] or a Merge, where one server may see the sketches,
// loses far less. The zero Combined, which [Combine] does not return, has no keys, NaN for bounds,
// and promises nothing.
type Combined[K hashing.Key] struct {
	parts []*Histogram[K]
	keys  []K
	sums  map[K]float64
}

// Combine sums released histograms of any Params. The error wraps [ErrParams] if there are none, or
// one is nil or the zero Histogram.
func Combine[K hashing.Key](parts ...*Histogram[K]) (*Combined[K], error) {
	unreleased := func(h *Histogram[K]) bool { return h == nil || h.law.method == Auto }
	if len(parts) == 0 || slices.ContainsFunc(parts, unreleased) {
		return nil, fault.Params("misragries", "the histograms to combine", len(parts), "at least one, and none of them nil or the zero Histogram")
	}
	c := &Combined[K]{parts: slices.Clone(parts), sums: map[K]float64{}}
	for _, h := range parts {
		for key, v := range h.All() {
			c.sums[key] += v
		}
	}
	c.keys = slices.SortedFunc(maps.Keys(c.sums), wire.Compare[K])
	return c, nil
}

// Len returns the number of keys that one part or more released.
func (c *Combined[K]) Len() int { return len(c.keys) }

// All yields these keys and the sums of their estimates, sorted by key.
func (c *Combined[K]) All() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, key := range c.keys {
			if !yield(key, c.sums[key]) {
				return
			}
		}
	}
}

// Estimate returns the sum of the estimates of the key, 0 from parts that did not release it.
func (c *Combined[K]) Estimate(key K) float64 { return c.sums[key] }

// Interval returns bounds that hold the number of occurrences of the key in all streams with at
// least the given confidence, for any one key fixed before the releases: the sum of the intervals
// of the parts, each at a confidence of 1 − (1 − confidence)/(number of parts).
func (c *Combined[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !limits.Confidence(confidence) || len(c.parts) == 0 {
		return math.NaN(), math.NaN()
	}
	each := c.each(confidence)
	for _, h := range c.parts {
		l, u := h.Interval(key, each)
		lo, hi = lo+l, hi+u
	}
	return lo, hi
}

// ErrorBound returns a bound on |estimate − true count| for all keys at once that holds with the
// given confidence, if the streams have n elements together: n/(k+1), for the least k, and for each
// part its threshold and the largest noise of its counters.
func (c *Combined[K]) ErrorBound(n, confidence float64) float64 {
	if !(n >= 0) || !limits.Confidence(confidence) || len(c.parts) == 0 {
		return math.NaN()
	}
	bound, least := 0.0, math.Inf(1)
	for _, h := range c.parts {
		least = min(least, float64(h.params.Counters))
		bound += h.by().errorBound(h, c.each(confidence))
	}
	return bound + n/(least+1)
}

// each returns the confidence at which a statement about each part holds for all of them at once.
func (c *Combined[K]) each(confidence float64) float64 {
	each := math.Nextafter(1-(1-confidence)/float64(len(c.parts)), 2)
	return min(each, math.Nextafter(1, 0))
}

// GuaranteeDisjoint returns the guarantee where every element, or every user if the parts have
// MaxElements, is in one stream only: the largest ε and the largest δ of the parts. It promises
// nothing if the parts protect different units.
func (c *Combined[K]) GuaranteeDisjoint() budget.Guarantee {
	if len(c.parts) == 0 {
		return budget.Guarantee{}
	}
	epsilon, delta, unit := 0.0, 0.0, c.parts[0].Guarantee().Unit()
	for _, h := range c.parts {
		g := h.Guarantee()
		if g.Unit() != unit {
			return budget.Guarantee{}
		}
		epsilon, delta = max(epsilon, g.Epsilon()), max(delta, g.Delta())
	}
	return budget.ApproxDP(epsilon, delta, unit)
}

// GuaranteeOverlapping returns the guarantee where an element, or a user, may be in all streams at
// once: the composition of the parts. It promises nothing if the parts protect different units.
func (c *Combined[K]) GuaranteeOverlapping() budget.Guarantee {
	all := make([]budget.Guarantee, len(c.parts))
	for i, h := range c.parts {
		all[i] = h.Guarantee()
	}
	g, _ := budget.Compose(all...) // promises nothing on an error
	return g
}

// String says how many parts there are and what they released.
func (c *Combined[K]) String() string {
	return fmt.Sprintf("misragries.Combined: %d keys of %d histograms, %v if the streams are disjoint", c.Len(), len(c.parts), c.GuaranteeDisjoint())
}
