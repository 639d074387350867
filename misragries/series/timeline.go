package series

import (
	"fmt"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/misragries"
)

// Timeline joins Slices, in order, and answers for any window of their steps. It holds public data
// only and costs no budget. Several goroutines may read it together, but not while one calls Append
// or Forget.
type Timeline[K hashing.Key] struct {
	common
	vars     []float64 // of whole nodes
	begun    bool
	first    int // the first step that windows may have
	steps    int // the one after the last Slice
	tracks   map[K]track
	elements [2]*episode                 // the numbers of elements, with MaxElements
	nodes    [maxSpans][]closedSketch[K] // of the discovery spans, where sketches discover
	expected int                         // keys of the next step, if none is retired
	retired  bool                        // whether any key was, as far as is known
}

// track is all that is known of a key: the stretches of steps in which it is known, in order.
type track []*episode

// episode is a stretch of steps in which a key is known.
type episode struct {
	since, until int // until is the number of all steps while it goes on
	first        [maxSpans]int
	values       [maxSpans][]int64   // by span, of the nodes from the first on
	totals       [maxSpans][]float64 // the estimates of the counts in these nodes: see leastSquares
	finds        []find              // before it
}

// find is the noisy count of a key in all steps of a discovery node in which it was not known.
type find struct {
	span, start int    // of the node
	gaps        []span // these steps, in order
	count       float64
}

// until returns the step after the last one that the find counts.
func (f find) until() int { return f.gaps[len(f.gaps)-1].to }

// gapsOf returns the stretches of steps from a step to the beginning of the last episode in which
// the key was not known.
func (tr track) gapsOf(from int) (gaps []span) {
	for _, e := range tr {
		if from < e.since {
			gaps = append(gaps, span{from, e.since})
		}
		from = max(from, e.until)
	}
	return gaps
}

// closedSketch is what a discovery node showed.
type closedSketch[K hashing.Key] struct {
	start int
	shown *misragries.Histogram[K]
}

// NewTimeline returns an empty Timeline for Slices of these Params, or an error that wraps
// [ErrParams].
func NewTimeline[K hashing.Key](p Params) (*Timeline[K], error) {
	p, c, err := checked[K](p)
	if err != nil {
		return nil, err
	}
	return &Timeline[K]{common: common{p, c}, vars: wholes(used(&p.Spans)), tracks: map[K]track{}}, nil
}

// First returns the first step that a window may have.
func (t *Timeline[K]) First() int { return t.first }

// Len returns the number of steps of the series up to the last Slice.
func (t *Timeline[K]) Len() int { return t.steps }

// Append adds the Slice of the next step; the first may be of any step. The error wraps
// [ErrMismatch] for a gap, a repetition, other Params, or known keys that do not continue those of
// the last Slice. Nothing changes on an error.
func (t *Timeline[K]) Append(s *Slice[K]) error {
	if s == nil || !s.valid() || !t.valid() {
		return fmt.Errorf("series: Append: the Slice or the Timeline is a zero value: %w", check.ErrMismatch)
	}
	if err := check.Equal("series", t.params, s.params); err != nil {
		return err
	}
	if t.begun {
		if s.step != t.steps {
			return check.MismatchError("series", "step", t.steps, s.step)
		}
		for i, key := range s.keys {
			if e := t.current(key); e == nil || e.until != s.step || e.since != s.since[i] {
				return fmt.Errorf("series: Append: a key of step %d was not found before it: %w", s.step, check.ErrMismatch)
			}
		}
	} else {
		t.begun, t.first, t.steps, t.retired = true, s.step, s.step, s.step > 0
		t.elements = [2]*episode{{until: s.step}, {until: s.step}}
		for i, key := range s.keys {
			t.tracks[key] = track{{since: s.since[i], until: s.step}}
		}
	}
	t.add(s)
	return nil
}

// current returns the last episode of a key, nil if there is none.
func (t *Timeline[K]) current(key K) *episode {
	if tr := t.tracks[key]; len(tr) > 0 {
		return tr[len(tr)-1]
	}
	return nil
}

// add adds a Slice that follows.
func (t *Timeline[K]) add(s *Slice[K]) {
	t.retired = t.retired || len(s.keys) < t.expected
	t.steps++
	for i, key := range s.keys {
		t.extend(t.current(key), len(s.values), func(l int) int64 { return s.values[l][i] })
	}
	for i, e := range t.elements {
		t.extend(e, len(s.elements), func(l int) int64 { return s.elements[l][i] })
	}
	t.expected = len(s.keys)
	j := 0
	for d := range s.discoveries() {
		start := t.steps - d.span
		for _, f := range d.fresh {
			t.tracks[f.key] = append(t.tracks[f.key], &episode{since: t.steps, until: t.steps})
		}
		for _, f := range append(d.late, d.fresh...) {
			tr := t.tracks[f.key]
			e := tr[len(tr)-1]
			if gaps := tr.gapsOf(start); len(gaps) > 0 { // else no Builder made the Slice
				e.finds = append(e.finds, find{d.span, start, gaps, f.count})
			}
		}
		if s.sketches != nil {
			t.nodes[j] = append(t.nodes[j], closedSketch[K]{start, s.sketches[j]})
		}
		t.expected += len(d.fresh)
		j++
	}
}

// extend adds the counts of the spans that end with the last step to an episode.
func (t *Timeline[K]) extend(e *episode, spans int, count func(l int) int64) {
	e.until = t.steps
	for l := range spans {
		if len(e.values[l]) == 0 {
			e.first[l] = (t.steps - 1) / t.params.Spans[l]
		}
		e.values[l] = append(e.values[l], count(l))
	}
	for l := 1; l < spans; l++ {
		f := t.leastSquares(e, 0, t.steps)
		e.totals[l] = append(e.totals[l], f.join(l, (t.steps-1)/t.params.Spans[l]).total)
	}
}

// leastSquares returns the estimator of an episode's count in a window.
func (t *Timeline[K]) leastSquares(e *episode, from, to int) leastSquares {
	return leastSquares{
		spans: used(&t.params.Spans), vars: t.vars, since: max(e.since, t.first), until: e.until, cut: e.since < t.first,
		values: e.values[:], totals: e.totals[:], first: e.first[:], from: from, to: to,
	}
}

// Forget drops all nodes of the longest span that end before the given step, which windows that
// begin there or later do not need, to free memory.
func (t *Timeline[K]) Forget(before int) {
	if !t.valid() {
		return
	}
	longest := t.params.longest()
	before = min(before, t.steps)
	before -= before % longest
	if before <= t.first {
		return
	}
	t.first = before
	// What a longer discovery node counted is shared out by what was found inside it.
	node := 1
	for _, span := range used(&t.params.Discovery) {
		node = span
	}
	gone := func(end int) bool { return (end+node-1)/node*node <= before }
	for key, tr := range t.tracks {
		for _, e := range tr {
			e.finds = slices.DeleteFunc(e.finds, func(f find) bool { return gone(f.start + f.span) })
		}
		tr = slices.DeleteFunc(tr, func(e *episode) bool { return gone(e.until) && e.until < t.steps && len(e.finds) == 0 })
		for _, e := range tr {
			t.trim(e)
		}
		if t.tracks[key] = tr; len(tr) == 0 {
			delete(t.tracks, key)
		}
	}
	for _, e := range t.elements {
		t.trim(e)
	}
	for j := range t.nodes {
		t.nodes[j] = slices.DeleteFunc(t.nodes[j], func(n closedSketch[K]) bool { return n.start+t.params.Discovery[j] <= before })
	}
}

// trim drops the nodes of an episode that end before the first step.
func (t *Timeline[K]) trim(e *episode) {
	for l, span := range used(&t.params.Spans) {
		gone := min(max(t.first/span-e.first[l], 0), len(e.values[l]))
		e.values[l], e.first[l] = slices.Clone(e.values[l][gone:]), e.first[l]+gone
		e.totals[l] = slices.Clone(e.totals[l][min(gone, len(e.totals[l])):])
	}
}
