package alp

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret = private.State[state]

// Builder sums values by index. It holds private data, which it never prints or encodes. One
// goroutine at a time may use it; Add and Release panic if they detect concurrent use.
type Builder struct {
	secret
	guarantee budget.Guarantee
}

type state struct {
	// resolved; Sparsity is 0 if it is to be estimated, and shape is for plannedSparsity then
	params Params
	shape  shape
	totals totals
	src    noise.Source
}

// total is an index with the sum of its values, in steps.
type total = sparse.Entry[uint64]

// maxTotal is where a total saturates, in steps: φ₁ of it is below 2⁶⁰.
const maxTotal = 1 << 54

// New returns an empty Builder, or an error that wraps [ErrParams]. It takes up to some
// milliseconds. Values that protect hardly anybody are accepted, for experiments: ε above 20, δ
// above 0.01.
func New(p Params) (*Builder, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	if p.Seed.IsZero() {
		p.Seed = hashing.NewSeed()
	}
	shape, err := p.shape() // of an unknown Sparsity the grid, all that Add needs
	if err != nil {
		return nil, err
	}
	return &Builder{private.New(state{params: p, shape: shape}), p.promise()}, nil
}

// Guarantee returns what Release promises; nothing for the zero Builder.
func (b *Builder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds the value to the total of the index, except NaN and indices from Dim on. Totals saturate
// at ±2⁵⁴ steps of the grid, more than 2⁴⁰·Δ/ε. The guarantee ends at 2³² − 1 indices.
//
// Two inputs are neighbours if the absolute changes of all added values sum to at most Sensitivity.
// A value is rounded to the grid at random, without bias; with Integers, to the nearest integer.
// Release clamps the totals, not single values, to Max and, unless Signed, to at least 0.
//
// After Release, and on the zero Builder, Add does nothing: see [Builder.Released].
func (b *Builder) Add(index uint64, value float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	if s.params.Dim == 0 || index < s.params.Dim {
		s.totals.add(index, s.onGrid(value))
	}
	private.Leave(b.secret)
}

// onGrid returns the value on the grid.
func (s *state) onGrid(value float64) int64 {
	if math.IsNaN(value) {
		return 0
	}
	if s.params.Integers {
		value = math.Round(value)
	}
	y := value / s.shape.step
	switch {
	case y >= maxTotal:
		return maxTotal
	case y <= -maxTotal:
		return -maxTotal
	}
	if s.shape.mixed && (y != math.Trunc(y) || y == 0) { // a quotient of 0 may be an underflow
		y = noise.RandomizedRound(&s.src, value, s.shape.step) / s.shape.step
	}
	return int64(y)
}

// Released reports whether the Builder has been released.
func (b *Builder) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private projection. A second Release returns an error
// that wraps [ErrReleased]; there is no other error.
func (b *Builder) Release() (*Projection, error) {
	s, err := private.Take(b.secret, "alp: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.release()
}

// release draws the list, and then the table given the list (Theorem 2), from totals in the order
// of the indices: the order of arrival changes nothing.
func (s *state) release() (*Projection, error) {
	entries := clamped(s.totals.sums(), s.shape.limit, s.params.Signed)
	if err := s.settle(entries); err != nil {
		return nil, err
	}
	p := &Projection{shape: s.shape}
	var large []total
	if s.shape.hasList {
		list, err := s.shape.releaseList(&s.src, entries)
		if err != nil {
			return nil, err
		}
		p.list = list
		large, _ = list.Steps()
	}
	p.keys = listed(p.list)
	p.table = s.shape.draw(&s.src, entries, large)
	p.decoder = newDecoder(p)
	return p, nil
}

// settle computes the shape for an estimated Sparsity, if it is unknown.
func (s *state) settle(entries []total) (err error) {
	if !s.params.estimates() {
		return nil
	}
	if s.params.Sparsity, err = s.estimateSparsity(entries); err != nil {
		return err
	}
	s.shape, err = s.params.shape()
	return err
}

// clamped returns the totals that are not 0 once clamped to ±limit, and to 0 from below unless
// signed, in their memory.
func clamped(all []total, limit int64, signed bool) []total {
	for i := range all {
		all[i].Steps = min(max(all[i].Steps, -limit), limit)
	}
	return slices.DeleteFunc(all, func(e total) bool { return e.Steps == 0 || e.Steps < 0 && !signed })
}

// releaseList returns the list of the large entries: what package threshold releases of φ₁.
func (s *shape) releaseList(src *noise.Source, entries []total) (*sparse.Vector[uint64], error) {
	law, err := s.list.Law()
	if err != nil {
		return nil, err
	}
	values := make([]total, len(entries))
	for i, e := range entries {
		values[i] = total{Key: e.Key, Steps: s.phi(e.Steps)} // a step of the list is 1
	}
	return sparse.ReleaseSorted(src, law, values, 0, nil), nil
}

// totals sums by index. What is added waits in a log, and is merged into the sorted sums when the
// log is a quarter as long as they are: 20 bytes an index, and memory is read in order.
type totals struct {
	sorted []total // by index
	added  []total // since, in the order of arrival
}

// leastLog is the least length at which a log is merged: it fits into the caches.
const leastLog = 1 << 12

// add adds the steps, at most ±maxTotal, to the sum of the index.
func (t *totals) add(index uint64, steps int64) {
	if len(t.added) == cap(t.added) {
		t.room()
	}
	t.added = append(t.added, total{Key: index, Steps: steps})
}

// room makes room in the log.
func (t *totals) room() {
	if n := len(t.added); n < leastLog {
		t.added = slices.Grow(t.added, max(n, 16))
		return
	}
	t.merge()
	if n := len(t.sorted) / 4; n > cap(t.added) {
		t.added = make([]total, 0, n)
	}
}

// merge empties the log. The values of an index are added in the order of arrival, since a sum that
// saturates depends on it.
func (t *totals) merge() {
	sparse.SortEntries(t.added)
	fresh, at := t.added[:0], 0 // the sums of indices that are new; at is in sorted
	for i := 0; i < len(t.added); {
		sum := total{Key: t.added[i].Key}
		for at < len(t.sorted) && t.sorted[at].Key < sum.Key {
			at++
		}
		known := at < len(t.sorted) && t.sorted[at].Key == sum.Key
		if known {
			sum = t.sorted[at]
		}
		for ; i < len(t.added) && t.added[i].Key == sum.Key; i++ {
			sum.Steps = min(max(sum.Steps+t.added[i].Steps, -maxTotal), maxTotal)
		}
		if known {
			t.sorted[at] = sum
		} else if uint64(len(t.sorted)+len(fresh)) < math.MaxUint32 {
			fresh = append(fresh, sum)
		}
	}
	if len(fresh) > 0 {
		t.sorted = merged(t.sorted, fresh)
	}
	t.added = t.added[:0]
}

// merged returns two sorted lists of different indices as one.
func merged(a, b []total) []total {
	all := make([]total, 0, len(a)+len(b))
	for _, e := range b {
		n := 0
		for n < len(a) && a[n].Key < e.Key {
			n++
		}
		all, a = append(append(all, a[:n]...), e), a[n:]
	}
	return append(all, a...)
}

// sums returns all indices that were added, sorted.
func (t *totals) sums() []total {
	t.merge()
	return t.sorted
}
