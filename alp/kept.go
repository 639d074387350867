package alp

import "github.com/dpsketch/dpsketch/threshold"

// keptScales is how many scales of the list's noise a value must be above a column, as the list
// shows it, for the column to be left empty.
const keptScales = 5

// kept returns the first column, counted from 0 outwards, that an entry with the value v in the
// list keeps in the table: the columns before it, which v says are full but with a probability of
// e^{−5}/2, stay without it. So large entries collide with nothing. Keys that are not listed keep
// all columns.
//
// Theorem 2 needs it to be a function of the list alone, never of what an entry truly holds. So the
// reader of a release knows it too. It does not decrease with |v|.
func (s *shape) kept(v int64) int {
	v = max(v, -v) - s.slack()
	if v <= 0 {
		return 0
	}
	if v /= s.below; v >= s.turn {
		return s.half
	}
	if s.axis != nil {
		v = s.axis.steps(v)
	}
	return int(min(v/int64(s.width), int64(s.half)))
}

// slack returns keptScales scales of the list's noise, in units of φ₁, rounded up. A scale is
// a/(θη), the Δ/ε of the list.
func (s *shape) slack() int64 {
	return int64(keptScales*s.list.Sensitivity/s.list.Epsilon) + 1
}

// firstColumn is kept for an index, 0 if it is not listed or there is no list.
func (s *shape) firstColumn(list *threshold.Vector[uint64], index uint64) int {
	if list == nil {
		return 0
	}
	return s.kept(int64(list.Estimate(index)))
}

// outer returns the number of a column counted from 0 outwards.
func (s *shape) outer(column int) int {
	switch {
	case !s.params.Signed:
		return column
	case column < s.half:
		return s.half - 1 - column
	}
	return column - s.half
}
