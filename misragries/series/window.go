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
	for _, s := range tr.shares() {
		r.estimate += s.within(w.from, w.to)
	}
	for _, e := range tr {
		r.finds = append(r.finds, e.finds...)
		if gap := (span{at, min(e.since, w.to)}); gap.from < gap.to {
			r.gaps = append(r.gaps, gap)
		}
		if from, to := max(at, e.since), min(e.until, w.to); from < to {
			f := t.fit(e, w.from, w.to)
			r.estimate += f.window().part
			r.known = r.known.plus(f.fewest())
		}
		at = max(at, e.until)
		if e.until < t.steps && e.until > w.from && e.until <= end {
			r.retired++
		}
	}
	if at < w.to {
		r.gaps = append(r.gaps, span{at, w.to})
	}
	return r
}

// share is the estimated count of a key in some steps in which it was not known.
type share struct {
	steps []span
	count float64
}

// shares divides what the discovery nodes counted among the steps in which the key was not known,
// which may lie before several episodes. Nodes nest: from the shortest on, each gives what shorter
// ones inside it leave of its count to the steps that they leave, evenly. Finds of the same steps
// are averaged.
func (tr track) shares() (shares []share) {
	var finds []find
	for _, e := range tr {
		finds = append(finds, e.finds...)
	}
	slices.SortStableFunc(finds, func(a, b find) int {
		return cmp.Or(cmp.Compare(a.until-a.start, b.until-b.start), cmp.Compare(a.start, b.start))
	})
	for i := 0; i < len(finds); {
		f, n, sum := finds[i], 0, 0.0
		for ; i < len(finds) && finds[i].start == f.start && finds[i].until == f.until; i++ {
			n, sum = n+1, sum+finds[i].count
		}
		rest, count := []span{{f.start, f.until}}, sum/float64(n)
		for _, e := range tr {
			rest = without(rest, span{e.since, e.until})
		}
		for _, s := range shares {
			count -= s.within(f.start, f.until)
			for _, steps := range s.steps {
				rest = without(rest, steps)
			}
		}
		if len(rest) > 0 {
			shares = append(shares, share{rest, max(count, 0)})
		}
	}
	return shares
}

// within returns the part of the count in the steps from, …, to − 1.
func (s share) within(from, to int) float64 {
	all, inside := 0, 0
	for _, x := range s.steps {
		all += x.to - x.from
		inside += max(min(x.to, to)-max(x.from, from), 0)
	}
	return s.count * float64(inside) / float64(all)
}

// without returns the steps that are not in x.
func without(steps []span, x span) (rest []span) {
	for _, s := range steps {
		for _, part := range [2]span{{s.from, min(s.to, x.from)}, {max(s.from, x.to), s.to}} {
			if part.from < part.to {
				rest = append(rest, part)
			}
		}
	}
	return rest
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
// steps before, it is what the discovery nodes have shown; a node that overlaps the beginning of
// the window is shared out evenly over its steps.
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
