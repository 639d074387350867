package elliptical

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// secret is the private data of a Builder.
type secret = private.State[state]

// Builder sums rows. It holds private data, which it never prints or encodes: Release is the only
// way out. One goroutine at a time may use it; concurrent use panics if it is detected.
type Builder struct {
	secret
	params Params
}

// state holds the sums of the rows. The sum of coordinate i is sums[i] + full[i] + sparse·zero[i]:
// a sparse row adds to sums only how its listed coordinates differ from zero.
type state struct {
	mechanism *Mechanism
	lanes     []lane
	zero      []int64        // what a row without the coordinate adds, in steps
	sums      []int64        // sums of the last rows, at most flushRows
	full      []exact.Int128 // sums of all rows before; nil if there are none
	recent    int            // number of rows in sums
	rows      int64
	middle    bool      // whether NaN is the middle of an interval
	sparse    int64     // number of rows of AddSparse
	seen      []int64   // number of the last sparse row with this coordinate
	row, z    []float64 // scratch for an Ellipsoid or a ball: a row and its z; q is in steps
	q         []int64
}

// flushRows is the number of rows after which the sums move to 128 bits. An entry is below 2³⁸
// steps and its difference from zero below 2³⁹, so the sums of 2²² rows fit into 64 bits.
const flushRows = 1 << 22

// NewBuilder returns an empty Builder, or an error that wraps [ErrParams]. For experiments it
// accepts values that protect hardly anybody: ε above 20, δ above 0.01.
func NewBuilder(p Params) (*Builder, error) {
	m, err := New(p)
	if err != nil {
		return nil, err
	}
	return m.builder(), nil
}

// builder returns an empty Builder.
func (m *Mechanism) builder() *Builder {
	d := m.noise.dim
	s := state{mechanism: m, middle: m.params.Count || m.params.replace(), zero: make([]int64, d), sums: make([]int64, d), seen: make([]int64, d)}
	switch {
	case m.noise.radius > 0:
		s.row, s.q = make([]float64, d), make([]int64, d)
	case m.noise.lower == nil:
		s.lanes = make([]lane, d)
		for i := range d {
			s.lanes[i], s.zero[i] = m.noise.coordinates[i].lane(), m.noise.coordinates[i].entry(0)
		}
	default:
		s.row, s.z, s.q = make([]float64, d), make([]float64, d), make([]int64, d)
	}
	return &Builder{private.New(s), m.params}
}

// Guarantee returns what the release promises. The zero Builder promises nothing.
func (b *Builder) Guarantee() budget.Guarantee { return b.params.guarantee() }

// Add adds one row of d coordinates, in the units of the data. A coordinate outside its interval is
// clamped to it (a row outside the Ellipsoid or the NormBound is scaled to it), missing coordinates
// at the end are 0, and surplus ones are ignored. After Release Add does nothing.
//
// NaN, a missing value, adds nothing to a sum under AddRemove without Count, and as 0 to a row of
// an Ellipsoid or a NormBound; else it counts as the middle c of the interval. To divide by the
// number of values that are there, add a coordinate that is 1 where there is one and else 0, in [0,
// 1]. Where NaN adds nothing the mean of those that are there is the quotient of the two sums; else
// it is c + (m − c)/s, with m and s the means of the two coordinates.
func (b *Builder) Add(row []float64) {
	private.Use(b.secret, (*state).addRow, row)
}

// AddSparse adds the row whose coordinate indices[j] is values[j], and whose other coordinates are
// 0, in time proportional to the number of indices (with an Ellipsoid, to d²). Values of one index
// are added before anything is clamped. It ignores indices outside [0, d), indices without a value,
// and NaN.
func (b *Builder) AddSparse(indices []int, values []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addSparse(indices, values)
	private.Leave(b.secret)
}

// begin counts a row.
func (s *state) begin() {
	if s.recent == flushRows {
		s.flush()
	}
	s.recent++
	s.rows++
}

// flush moves the sums to 128 bits.
func (s *state) flush() {
	if s.full == nil {
		s.full = make([]exact.Int128, len(s.sums))
	}
	for i, x := range s.sums {
		s.full[i] = s.full[i].Plus(exact.Int128Of(x))
	}
	clear(s.sums)
	s.recent = 0
}

// addRow adds one row.
func (s *state) addRow(row []float64) {
	s.begin()
	row = row[:min(len(row), len(s.sums))]
	if s.q != nil {
		s.addWhitened(row)
		return
	}
	addLanes(s.sums[:len(row)], s.lanes[:len(row)], row, s.middle)
	for i := len(row); i < len(s.sums); i++ {
		s.sums[i] += s.zero[i]
	}
}

// addSparse adds one sparse row: for each listed coordinate its integer minus zero. The zeros of
// all coordinates are added by totals, once for all sparse rows.
func (s *state) addSparse(indices []int, values []float64) {
	s.begin()
	if s.q == nil {
		s.sparse++
	}
	indices = indices[:min(len(indices), len(values))]
	if n := s.addDistinct(indices, values); n < len(indices) { // an index is repeated: begin anew
		s.addEntries(indices[:n], values, -1)
		distinct, sums := summed(indices, values)
		s.addEntries(distinct, sums, 1)
	}
	if s.q != nil {
		s.addWhitened(s.row)
		clear(s.row)
	}
}

// addDistinct adds the entries up to the first index that came before, and returns their number.
func (s *state) addDistinct(indices []int, values []float64) int {
	for j, i := range indices {
		switch x := values[j]; {
		case i < 0 || i >= len(s.sums) || x != x:
		case s.seen[i] == s.rows:
			return j
		case s.q != nil:
			s.seen[i] = s.rows
			s.row[i] = x
		default:
			s.seen[i] = s.rows
			s.sums[i] += s.lanes[i].entry(x) - s.zero[i]
		}
	}
	return len(indices)
}

// addEntries adds entries of distinct indices, or with a sign of −1 takes them back. (Those of
// s.row stay: other values of the same indices follow.)
func (s *state) addEntries(indices []int, values []float64, sign int64) {
	for j, i := range indices {
		switch x := values[j]; {
		case i < 0 || i >= len(s.sums):
		case s.q != nil:
			s.row[i] = x
		case x == x:
			s.sums[i] += sign * (s.lanes[i].entry(x) - s.zero[i])
		}
	}
}

// summed returns the indices, ascending, with the sums of their values. Values are added from the
// least to the greatest, so that a row is the same in any order; infinities of both signs make NaN.
func summed(indices []int, values []float64) (distinct []int, sums []float64) {
	type entry struct {
		index int
		value float64
	}
	var row []entry
	for j, i := range indices {
		if x := values[j]; x == x {
			row = append(row, entry{i, x})
		}
	}
	slices.SortFunc(row, func(a, b entry) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.value, b.value)) })
	for _, e := range row {
		if n := len(distinct); n > 0 && distinct[n-1] == e.index {
			sums[n-1] += e.value
			continue
		}
		distinct, sums = append(distinct, e.index), append(sums, e.value)
	}
	return distinct, sums
}

// addWhitened adds one row to the sums, of z for an Ellipsoid.
func (s *state) addWhitened(row []float64) {
	if l := s.mechanism.noise; l.radius > 0 {
		within(row, l.coordinates[0].step, l.radius, s.q)
	} else {
		whiten(l.lower, row, l.coordinates[0].step, s.z, s.q)
	}
	for i, q := range s.q {
		s.sums[i] += q
	}
}

// Merge adds the rows of another Builder of the same Params, which counts as released afterwards.
// The error wraps [ErrMismatch] if the Params differ or the two are the same, and [ErrReleased] if
// one of them was released or is nil. After an error nothing has changed.
func (b *Builder) Merge(other *Builder) error {
	if other == nil {
		other = new(Builder)
	}
	return private.Merge(b.secret, other.secret, "elliptical: Merge", "Builder", func(s, o *state) error {
		if b.params != other.params {
			return check.MismatchError("elliptical", "Params", b.params, other.params)
		}
		s.flush()
		o.flush()
		for i, x := range o.full {
			s.full[i] = s.full[i].Plus(x)
		}
		s.rows, s.sparse = s.rows+o.rows, s.sparse+o.sparse
		return nil
	})
}

// Released reports whether the Builder has been released.
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

// totals returns the sums of the deviations from the centres, in steps, and behind them the count
// if it is released.
func (s *state) totals() []exact.Int128 {
	l := s.mechanism.noise
	totals := make([]exact.Int128, len(l.coordinates))
	for i := range l.dim {
		totals[i] = exact.Int128Of(s.sums[i]).Plus(exact.Product128(s.sparse, s.zero[i])).Minus(exact.Product128(s.rows, l.coordinates[i].centre))
		if s.full != nil {
			totals[i] = totals[i].Plus(s.full[i])
		}
	}
	if s.mechanism.params.Count {
		totals[l.dim] = l.countSteps(s.rows)
	}
	return totals
}
