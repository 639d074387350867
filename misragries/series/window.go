package series

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Window is what a [Timeline] knew of some steps when it was asked: public, immutable, and safe for
// concurrent readers. All that it computes is post-processing and costs no budget.
type Window[K hashing.Key] struct {
	common
	from, to int
	first    int // of the steps that the timeline had
	steps    int // and their end
	retired  bool
	records  []record[K] // sorted by key
	elements [2]few      // the numbers of elements, with MaxElements
	nodes    [maxSpans][]closedSketch[K]
}

// record is what is known of a key in a window.
type record[K hashing.Key] struct {
	key      K
	estimate float64
	known    few    // the count in steps in which it is known
	gaps     []span // the other steps
	finds    []find
	retired  int // how often, in the window or soon after
}

// span is a stretch of steps.
type span struct{ from, to int }

// Window returns what is known about the steps from, …, to − 1, which may be any steps of the
// Timeline, any number of times. The error wraps [ErrParams] unless First ≤ from < to ≤ Len.
func (t *Timeline[K]) Window(from, to int) (*Window[K], error) {
	switch {
	case !(from >= t.first && from < t.steps):
		return nil, bad("from", from, fmt.Sprintf("a step in [%d, %d)", t.first, t.steps))
	case !(to > from && to <= t.steps):
		return nil, bad("to", to, fmt.Sprintf("a step in (%d, %d]", from, t.steps))
	}
	w := &Window[K]{common: t.common, from: from, to: to, first: t.first, steps: t.steps, retired: t.retired || t.params.Retire > 0}
	for j, nodes := range t.nodes {
		w.nodes[j] = slices.Clone(nodes)
	}
	for i := range w.elements {
		if t.params.MaxElements > 0 {
			f := t.fit(t.elements[i], from, to)
			w.elements[i] = f.fewest()
		}
	}
	for key, tr := range t.tracks {
		if r := t.record(key, *tr, w); r.known.nodes > 0 || r.estimate != 0 {
			w.records = append(w.records, r)
		}
	}
	slices.SortFunc(w.records, func(a, b record[K]) int { return wire.Compare(a.key, b.key) })
	return w, nil
}

// record reads the episodes of a key.
func (t *Timeline[K]) record(key K, tr track, w *Window[K]) record[K] {
	r := record[K]{key: key}
	longest := t.params.longest()
	end := (w.to + longest - 1) / longest * longest
	at := w.from // the first step that is not dealt with
	for _, e := range tr {
		if gap := (span{at, min(e.since, w.to)}); gap.from < gap.to {
			r.gaps = append(r.gaps, gap)
		}
		if from, to := max(at, e.since), min(e.until, w.to); from < to {
			f := t.fit(e, w.from, w.to)
			r.estimate += f.window().part
			r.known = r.known.plus(f.fewest())
		}
		at = max(at, e.until)
		for _, f := range e.finds { // of a node, or within one, that meets the window
			if top := t.params.topDiscovery(); f.start < (w.to+top-1)/top*top && f.until() > w.from/top*top {
				r.finds = append(r.finds, f)
			}
		}
		if e.until < t.steps && e.until > w.from && e.until <= end {
			r.retired++
		}
	}
	if at < w.to {
		r.gaps = append(r.gaps, span{at, w.to})
	}
	for _, s := range shared(r.finds) {
		r.estimate += s.rate * float64(max(min(s.to, w.to)-max(s.from, w.from), 0))
	}
	return r
}

// stretch are steps in which a key was not known, with the count per step that finds give it.
type stretch struct {
	span
	rate float64
}

// shared shares what was found of a key out over the steps in which it was not known, the smaller
// sets of steps first: in the steps of a find that no smaller one has, the count per step is taken
// to be constant; where smaller ones have all steps, a step of least squares corrects them. Two
// finds have steps in common only if one has all steps of the other. Finds of the same steps are
// averaged.
func shared(finds []find) (all []stretch) {
	steps := func(f find) (n int) {
		for _, g := range f.gaps {
			n += g.to - g.from
		}
		return n
	}
	order := func(a, b find) int {
		return cmp.Or(cmp.Compare(steps(a), steps(b)), cmp.Compare(a.gaps[0].from, b.gaps[0].from))
	}
	finds = slices.Clone(finds)
	slices.SortStableFunc(finds, order)
	for i := 0; i < len(finds); {
		n, left, first := 0.0, 0.0, finds[i]
		for ; i < len(finds) && order(first, finds[i]) == 0; i++ {
			n, left = n+1, left+finds[i].count
		}
		left /= n
		free, length, inside := []stretch{}, 0, []int{}
		for _, g := range first.gaps {
			at := g.from
			for j, s := range all {
				if s.from < g.from || s.to > g.to {
					continue
				}
				if at < s.from {
					free, length = append(free, stretch{span: span{at, s.from}}), length+s.from-at
				}
				left -= s.rate * float64(s.to-s.from)
				inside = append(inside, j)
				at = s.to
			}
			if at < g.to {
				free, length = append(free, stretch{span: span{at, g.to}}), length+g.to-at
			}
		}
		for _, j := range inside {
			// one count of all these steps beside n counts of parts
			if n := float64(len(inside)); len(free) == 0 {
				s := &all[j]
				s.rate = max(s.rate+left/(n+1)/float64(s.to-s.from), 0)
			}
		}
		for _, s := range free {
			s.rate = max(left, 0) / float64(length)
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// find returns the record of a key, or that of a key of which nothing is known.
func (w *Window[K]) find(key K) (r record[K], found bool) {
	i, found := slices.BinarySearchFunc(w.records, key, func(r record[K], key K) int { return wire.Compare(r.key, key) })
	if !found {
		return record[K]{key: key, gaps: []span{{w.from, w.to}}}, false
	}
	return w.records[i], true
}

// Steps returns the steps of the window, from, …, to − 1.
func (w *Window[K]) Steps() (from, to int) { return w.from, w.to }

// Len returns the number of keys with an estimate.
func (w *Window[K]) Len() int { return len(w.records) }

// Has reports whether the key was known or found in the window, so that All yields it.
func (w *Window[K]) Has(key K) bool {
	_, found := w.find(key)
	return found
}

// Estimate returns the estimated count of the key in the window, or 0 if the key was not known or
// found in it. For steps in which the key is known it is the least-squares estimate from all
// published counts: unbiased, with standard error [Plan.StdErr], and possibly negative. For the
// other steps, it is what the discovery nodes have shown, shared out evenly over the steps of a
// node in which the key was not known and that no shorter node has shown.
func (w *Window[K]) Estimate(key K) float64 {
	r, _ := w.find(key)
	return r.estimate
}

// All yields the keys with their estimates, sorted by key.
func (w *Window[K]) All() iter.Seq2[K, float64] {
	return wire.AllKeys(len(w.records), func(i int) (K, float64) { return w.records[i].key, w.records[i].estimate })
}

// Top yields the n keys with the largest estimates, the largest first; equal ones are sorted by
// key. If there are fewer than n, it yields all.
func (w *Window[K]) Top(n int) iter.Seq2[K, float64] { return wire.TopKeys(w.All(), n) }

// String describes the window, with the guarantee.
func (w *Window[K]) String() string {
	if w == nil || !w.valid() {
		return "series.Window (of no timeline)"
	}
	return fmt.Sprintf("series.Window: %d keys in steps %d to %d; all steps of the series together %v", len(w.records), w.from, w.to-1, w.Guarantee())
}
