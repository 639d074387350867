package series

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Slice is the release at the end of one step: the counts of all known keys in each span that ends
// with the step, and the keys found by the discovery spans that end with it. It is public,
// immutable, and safe for concurrent readers. A [Timeline] makes windows of Slices.
type Slice[K hashing.Key] struct {
	params   Params
	law      calibration
	step     int
	keys     []K                        // known in the step, sorted
	since    []int                      // the first step in which each was
	values   [][]int64                  // for each span that ends, by key
	found    [][]counted[K]             // for each discovery span that ends, sorted by key
	sketches []*misragries.Histogram[K] // the same, where sketches discover
}

// valid reports whether it is no zero value.
func (r *Slice[K]) valid() bool { return r != nil && r.params.Spans[0] != 0 }

// Params returns the parameters of the series, with all defaults filled in.
func (r *Slice[K]) Params() Params { return r.params }

// Guarantee returns what all Slices of the series promise together, this one included.
func (r *Slice[K]) Guarantee() budget.Guarantee {
	if !r.valid() {
		return budget.Guarantee{}
	}
	return r.params.Guarantee()
}

// Step returns the number of the step, counted from 0.
func (r *Slice[K]) Step() int { return r.step }

// Len returns the number of keys that were known in the step.
func (r *Slice[K]) Len() int { return len(r.keys) }

// All yields the keys that were known in the step, sorted, with their noisy counts in it, which may
// be negative. For a better estimate see [Timeline.Window].
func (r *Slice[K]) All() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for i, key := range r.keys {
			if !yield(key, float64(r.values[0][i])) {
				return
			}
		}
	}
}

// Estimate returns the noisy count of the key in the step, 0 for one that was not known. The
// standard deviation of its noise is [Plan].StdDev.
func (r *Slice[K]) Estimate(key K) float64 {
	i, known := slices.BinarySearchFunc(r.keys, key, wire.Compare[K])
	if !known {
		return 0
	}
	return float64(r.values[0][i])
}

// Interval returns bounds that contain the number of counted elements of the key in the step, with
// at least the given confidence over the noise: see [Window.Interval]. They are 0 and +Inf for a
// key that was not known, 0 and 0 for one outside of Dim, and NaN for a confidence outside [0, 1).
func (r *Slice[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !r.valid() || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	i, known := slices.BinarySearchFunc(r.keys, key, wire.Compare[K])
	switch {
	case outside(key, r.params.Dim):
		return 0, 0
	case !known:
		return 0, math.Inf(1)
	}
	x, half := float64(r.values[0][i]), newLaplaceSum(r.law.known.Scale(), 1).beyond(1-confidence)
	return max(x-half, 0), max(x+half, 0)
}

// Top yields the n keys of [Slice.All] with the largest noisy counts, the largest first; equal ones
// are sorted by key. If there are fewer than n, it yields all.
func (r *Slice[K]) Top(n int) iter.Seq2[K, float64] { return top(r.All(), n) }

// top sorts what a sequence yields by descending value, and yields the first n.
func top[K hashing.Key](all iter.Seq2[K, float64], n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		type pair struct {
			key   K
			value float64
		}
		var sorted []pair
		for key, x := range all {
			sorted = append(sorted, pair{key, x})
		}
		slices.SortStableFunc(sorted, func(a, b pair) int { return cmp.Compare(b.value, a.value) })
		for _, p := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Found yields the keys that became known at the end of the step, with the noisy counts that showed
// them: first those of the shortest discovery span that ends, sorted by key, then those of the next
// one. With MaxKnown, some of them may be forgotten at once.
func (r *Slice[K]) Found() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for node := range r.discoveries() {
			for _, f := range node.fresh {
				if !yield(f.key, f.count) {
					return
				}
			}
		}
	}
}

// discovery is what a discovery span that ends with the step shows: keys that become known by it,
// and others that were not known in all of it.
type discovery[K hashing.Key] struct {
	span        int
	fresh, late []sighting[K]
}

// sighting is a key with its noisy count in the steps of a node in which it was not known.
type sighting[K hashing.Key] struct {
	key   K
	count float64
}

// discoveries yields the discovery spans that end, the shortest first.
func (r *Slice[K]) discoveries() iter.Seq[discovery[K]] {
	return func(yield func(discovery[K]) bool) {
		found := map[K]bool{} // in this step
		for j := range max(len(r.found), len(r.sketches)) {
			d := discovery[K]{span: r.params.Discovery[j]}
			for key, count := range r.shown(j) {
				_, known := slices.BinarySearchFunc(r.keys, key, wire.Compare[K])
				if known || found[key] {
					d.late = append(d.late, sighting[K]{key, count})
				} else {
					d.fresh = append(d.fresh, sighting[K]{key, count})
				}
			}
			for _, f := range d.fresh {
				found[f.key] = true
			}
			if !yield(d) {
				return
			}
		}
	}
}

// shown yields what the j-th discovery span shows, sorted by key.
func (r *Slice[K]) shown(j int) iter.Seq2[K, float64] {
	if r.sketches != nil {
		return r.sketches[j].All()
	}
	return func(yield func(K, float64) bool) {
		for _, c := range r.found[j] {
			if !yield(c.key, float64(c.count)) {
				return
			}
		}
	}
}

// String says what was released under which guarantee.
func (r *Slice[K]) String() string {
	if !r.valid() {
		return "series.Slice (not released)"
	}
	found := 0
	for range r.Found() {
		found++
	}
	return fmt.Sprintf("series.Slice: step %d, %d known keys, %d found; all steps together %v", r.step, len(r.keys), found, r.Guarantee())
}
