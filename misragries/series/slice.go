package series

import (
	"fmt"
	"iter"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Slice is the release at the end of one step: the counts of all known keys in each span that ends
// with the step, and the keys found by the discovery spans that end with it. It is public,
// immutable, and safe for concurrent readers.
type Slice[K hashing.Key] struct {
	common
	step     int
	keys     []K                        // known in the step, sorted
	since    []int                      // the first step in which each was
	values   [][]int64                  // for each span that ends, by key
	elements [][2]int64                 // for each span that ends; nil without MaxElements
	found    [][]counted[K]             // for each discovery span that ends, sorted by key
	sketches []*misragries.Histogram[K] // the same, where sketches discover
}

// common are the numbers that a Slice, a Timeline and a Window have of their series.
type common struct {
	params      Params
	calibration calibration
}

// valid reports whether it is no zero value.
func (c *common) valid() bool { return c.params.Spans[0] != 0 }

// Params returns the parameters of the series, filled in.
func (c *common) Params() Params { return c.params }

// Guarantee is that of all Slices together; the zero value promises nothing.
func (c *common) Guarantee() budget.Guarantee {
	if !c.valid() {
		return budget.Guarantee{}
	}
	return c.params.Guarantee()
}

// Step returns the number of the step, counted from 0.
func (r *Slice[K]) Step() int { return r.step }

// Len returns the number of keys that were known in the step.
func (r *Slice[K]) Len() int { return len(r.keys) }

// all yields the keys that were known in the step, sorted, with their noisy counts in it.
func (r *Slice[K]) all() iter.Seq2[K, float64] {
	return wire.AllKeys(len(r.keys), func(i int) (K, float64) { return r.keys[i], float64(r.values[0][i]) })
}

// interval returns the interval of a known key's count in the step, by the noise of that alone.
func (r *Slice[K]) interval(key K, confidence float64) (lo, hi float64) {
	i, _ := slices.BinarySearchFunc(r.keys, key, wire.Compare[K])
	x, half := float64(r.values[0][i]), newLaplaceSum(r.calibration.known.Scale(), 1).beyond(1-confidence)
	return max(x-half, 0), max(x+half, 0)
}

// Found yields the keys that became known at the end of the step, with the noisy counts that showed
// them: by discovery span, the shortest first, then by key. With MaxKnown, some of them may be
// forgotten immediately.
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
