package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// secret is the private data of a Builder.
type secret = private.State[state]

// Builder sums rows. It holds private data: it prints nothing of it, encodes nothing, and Release
// is the only way out. One goroutine at a time may use it; concurrent use panics, if it is noticed.
type Builder struct {
	secret
	params Params
}

// state is what rows add up to.
type state struct {
	mechanism *Mechanism
	zero      []int64 // what a row adds that leaves the coordinate out, in steps
	sums      []int64 // of what rows add beyond zero
	seen      []int64 // the last sparse row with this coordinate; rows are counted from 1
	rows      int64
	row, z    []float64 // one row and its z, and that in steps: for an Ellipsoid only
	q         []int64
}

// NewBuilder returns an empty Builder, or an error that wraps [ErrParams].
func NewBuilder(p Params) (*Builder, error) {
	m, err := New(p)
	if err != nil {
		return nil, err
	}
	d := m.law.dim
	s := state{mechanism: m, zero: make([]int64, d), sums: make([]int64, d), seen: make([]int64, d)}
	for i := range d {
		s.zero[i] = m.law.at[i].entry(0)
	}
	if m.law.lower != nil {
		s.row, s.z, s.q = make([]float64, d), make([]float64, d), make([]int64, d)
	}
	return &Builder{private.New(s), m.params}, nil
}

// Guarantee returns what the release promises, also after it. That of the zero Builder promises
// nothing.
func (b *Builder) Guarantee() budget.Guarantee { return b.params.guarantee() }

// Add adds one row of d coordinates, in the units of the data. A coordinate outside its interval is
// clamped to it (a row outside the Ellipsoid is scaled to it), NaN counts as 0, missing ones at the
// end are 0 and further ones are ignored. Sums saturate at ±2⁶¹ steps of the grid, after 2²⁸ rows
// at the earliest (2²⁵ where an interval is far from 0). After Release Add does nothing; a caller
// that cannot be sure asks [Builder.Released] first.
func (b *Builder) Add(row []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addRow(row)
	private.Leave(b.secret)
}

// AddSparse adds one row of which values[j] is coordinate indices[j] and all others are 0. It is
// [Builder.Add] in time proportional to the number of indices, in any order (with an Ellipsoid, to
// d²). Indices outside [0, d) are ignored, and so are those without a value and all but the first
// of equal ones.
func (b *Builder) AddSparse(indices []int, values []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addSparse(indices, values)
	private.Leave(b.secret)
}

// addRow adds one row.
func (s *state) addRow(row []float64) {
	s.rows++
	row = row[:min(len(row), len(s.sums))]
	if s.z != nil {
		s.addWhitened(row)
		return
	}
	for i, x := range row {
		s.add(i, x)
	}
}

// addSparse adds one row of listed coordinates.
func (s *state) addSparse(indices []int, values []float64) {
	s.rows++
	for j, i := range indices[:min(len(indices), len(values))] {
		if i >= 0 && i < len(s.sums) && s.seen[i] != s.rows {
			s.seen[i] = s.rows
			if s.z != nil {
				s.row[i] = values[j]
			} else {
				s.add(i, values[j])
			}
		}
	}
	if s.z != nil {
		s.addWhitened(s.row)
		clear(s.row)
	}
}

// add adds the value x of one row to coordinate i.
func (s *state) add(i int, x float64) {
	s.sums[i] = saturatingSum(s.sums[i], s.mechanism.law.at[i].entry(x)-s.zero[i])
}

// addWhitened adds one row to the sums of z.
func (s *state) addWhitened(row []float64) {
	whiten(s.mechanism.law.lower, row, s.mechanism.law.at[0].step, s.z, s.q)
	for i, q := range s.q {
		s.sums[i] = saturatingSum(s.sums[i], q)
	}
}

// Merge adds the rows of another Builder of the same Params and takes them from it: other is
// released afterwards. The error wraps [ErrMismatch] if the Params differ or the two are the same,
// and [ErrReleased] if one of them was released or is nil; then nothing happens.
func (b *Builder) Merge(other *Builder) error {
	const doing = "elliptical: Merge: a Builder"
	if other == nil {
		other = new(Builder)
	}
	s := private.Enter(b.secret)
	if s == nil {
		_, err := private.Take(b.secret, doing)
		return err
	}
	defer private.Leave(b.secret)
	switch {
	case private.Same(b.secret, other.secret):
		return fault.Mismatch("elliptical", "the Builder to merge", "itself", "another one")
	case !other.Released() && b.params != other.params:
		return fault.Mismatch("elliptical", "Params", b.params, other.params)
	}
	o, err := private.Take(other.secret, doing)
	if err != nil {
		return err
	}
	for i, x := range o.sums {
		s.sums[i] = saturatingSum(s.sums[i], x)
	}
	s.rows += min(o.rows, math.MaxInt64-s.rows)
	return nil
}

// Released reports whether the Builder has been released, and Add therefore ignores what it is
// given.
func (b *Builder) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private sum. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder) Release() (*Sum, error) {
	s, err := private.Take(b.secret, "elliptical: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.mechanism.release(s.totals()), nil
}

// totals returns the sums of deviations from centre, and the count if it is released, in steps.
func (s *state) totals() []int64 {
	l := s.mechanism.law
	totals := make([]int64, len(l.at))
	for i := range l.dim {
		totals[i] = total(s.sums[i], s.rows, s.zero[i]-l.at[i].centre)
	}
	if s.mechanism.params.Count {
		totals[l.dim] = l.countSteps(s.rows)
	}
	return totals
}
