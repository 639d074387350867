package misragries

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Combined is the sum of released histograms: public, immutable, safe for concurrent readers, at no
// budget. The zero Combined has no keys and promises nothing.
type Combined[K hashing.Key] struct {
	parts []*Histogram[K]
	keys  []K
	sums  map[K]float64
}

// Combine sums histograms of any Params. The error wraps [ErrParams] if there are none, or one is
// nil, zero or there twice; decoded copies are not told apart.
func Combine[K hashing.Key](parts ...*Histogram[K]) (*Combined[K], error) {
	unreleased := func(h *Histogram[K]) bool { return h == nil || h.calibration.method == Auto }
	if len(parts) == 0 || slices.ContainsFunc(parts, unreleased) {
		return nil, bad("the histograms to combine", len(parts), "at least one, and none of them nil or the zero Histogram")
	}
	c := &Combined[K]{parts: slices.Clone(parts), sums: map[K]float64{}}
	seen := map[*Histogram[K]]bool{}
	for i, h := range parts {
		if seen[h] {
			return nil, bad("the histograms to combine", i+1, "different ones: the last of these is there twice")
		}
		seen[h] = true
		for key, v := range h.All() {
			c.sums[key] += v
		}
	}
	c.keys = slices.SortedFunc(maps.Keys(c.sums), wire.Compare[K])
	return c, nil
}

// Len returns the number of keys.
func (c *Combined[K]) Len() int { return len(c.keys) }

// Has reports whether a part released the key.
func (c *Combined[K]) Has(key K) bool {
	_, found := c.sums[key]
	return found
}

// All yields the keys and sums, sorted by key.
func (c *Combined[K]) All() iter.Seq2[K, float64] {
	return wire.AllKeys(len(c.keys), func(i int) (K, float64) { return c.keys[i], c.sums[c.keys[i]] })
}

// Top yields the n largest sums, in descending order; equal ones by key.
func (c *Combined[K]) Top(n int) iter.Seq2[K, float64] { return wire.TopKeys(c.All(), n) }

// Estimate returns the sum of the parts' estimates.
func (c *Combined[K]) Estimate(key K) float64 { return c.sums[key] }

// Interval sums the parts' intervals, each at a confidence of 1 − (1 − confidence)/(number of
// parts).
func (c *Combined[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !check.Confidence(confidence) || len(c.parts) == 0 {
		return math.NaN(), math.NaN()
	}
	each := math.Nextafter(1-(1-confidence)/float64(len(c.parts)), 2)
	each = min(each, math.Nextafter(1, 0))
	for _, h := range c.parts {
		l, u := h.Interval(key, each)
		lo, hi = lo+l, hi+u
	}
	return lo, hi
}

// Guarantee returns the largest ε and δ of the parts, if every element (with MaxElements, every
// user) is in one stream only; else use [budget.Compose]. It promises nothing for different units.
func (c *Combined[K]) Guarantee() budget.Guarantee {
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

// String says what was combined.
func (c *Combined[K]) String() string {
	return fmt.Sprintf("misragries.Combined: %d keys of %d histograms, %v if the streams are disjoint", c.Len(), len(c.parts), c.Guarantee())
}
