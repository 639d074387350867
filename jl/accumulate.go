package jl

import (
	"math"
	"math/bits"
)

// How a Builder sums. Sums saturate, and whether one does is not asked of each sum each time: load
// is the sum of the sizes of all values so far, rounded up, and no sum is further from 0. As long
// as it is below room, where sums saturate, none has saturated or does now, and the plain sum is
// the same as the saturating one. Once it is not, which takes more than 2⁴⁰ times the sensitivity
// in rows, all that follows goes the slow way. The room of rows that no table points to is 0.
//
// Until then the rows of a table lie apart: row i is sums[2i] − sums[2i+1], what was added to it
// and what was taken away, and an entry of the table, which is twice the row and 1 more for a sign
// of −1, is the index of what a value is added to. Nobody looks at the sign.

// steps returns the value in steps.
func (p *setup) steps(value float64) fixed {
	if p.params.Integers {
		value = math.RoundToEven(value)
	}
	y := value * p.inverse
	if -p.bound < y && y < p.bound {
		return toFixed(y)
	}
	return saturated(y, p.limit)
}

// fits adds to the load and reports whether it is below room. Once it is not, it stays so.
func (s *state) fits(size uint64) bool {
	if s.load >= s.room {
		return false
	}
	if s.load += size; s.load < s.room {
		return true
	}
	s.load = s.room // so that it does not wrap around
	s.join()
	return false
}

// row returns the sum of a row, or of a coordinate where the vector is held.
func (s *state) row(i int) fixed {
	switch {
	case s.columns == nil:
		return s.vector.at(i)
	case s.apart:
		return s.sums[2*i].minus(s.sums[2*i+1])
	}
	return s.sums[i]
}

// size returns the number of rows, or of coordinates where the vector is held.
func (s *state) size() int {
	switch {
	case s.columns == nil:
		return len(s.vector.whole)
	case s.apart:
		return len(s.sums) / 2
	}
	return len(s.sums)
}

// join ends that rows lie apart.
func (s *state) join() {
	if !s.apart {
		return
	}
	n := s.size()
	for i := range n {
		s.sums[i] = s.row(i) // of which nothing before index 2i is read
	}
	s.sums, s.apart = s.sums[:n], false
}

// add adds value to coordinate index. Indices ≥ Dim are ignored.
func (s *state) add(index uint64, value float64) {
	if index >= s.params.Dim {
		return
	}
	v := s.steps(value)
	switch {
	case !s.fits(v.size()):
		s.saturate(index, v)
	case s.columns == nil:
		s.vector.set(int(index), s.vector.at(int(index)).add(v))
	default:
		accumulate(s.sums, s.table[index*s.width:][:s.width], &v)
	}
}

// accumulate adds v times a column to the rows, which lie apart.
func accumulate(sums []fixed, column []uint32, v *fixed) {
	for len(column) >= 4 {
		e := (*[4]uint32)(column)
		sums[e[0]].accumulate(v)
		sums[e[1]].accumulate(v)
		sums[e[2]].accumulate(v)
		sums[e[3]].accumulate(v)
		column = column[4:]
	}
	for _, e := range column {
		sums[e].accumulate(v)
	}
}

// saturate adds the value where sums may saturate, or wrap around.
func (s *state) saturate(index uint64, v fixed) {
	if s.columns != nil {
		s.columns.add(s.sums, index, v)
		return
	}
	s.vector.set(int(index), s.vector.at(int(index)).add(v).clamped(s.limit))
}

// merge adds the sums of the other one.
func (s *state) merge(o *state) {
	if !s.fits(o.load) {
		o.join()
	}
	for i, v := range o.sums {
		if s.sums[i] = s.sums[i].add(v); !s.params.wraps() {
			s.sums[i] = s.sums[i].clamped(most)
		}
	}
	for i := range o.vector.whole {
		s.vector.set(i, s.vector.at(i).add(o.vector.at(i)).clamped(s.limit))
	}
}

// accumulate adds v where that does not overflow.
func (s *fixed) accumulate(v *fixed) {
	frac, carry := bits.Add64(s.frac, v.frac, 0)
	whole, _ := bits.Add64(uint64(s.whole), uint64(v.whole), carry)
	s.whole, s.frac = int64(whole), frac
}

// addOrSubtract adds v for a sign of 0 and subtracts it for 1, where that does not overflow.
func (s *fixed) addOrSubtract(v *fixed, sign uint32) {
	mask := -uint64(sign)
	frac, carry := bits.Add64(s.frac, v.frac^mask, uint64(sign))
	whole, _ := bits.Add64(uint64(s.whole), uint64(v.whole)^mask, carry)
	s.whole, s.frac = int64(whole), frac
}

// minus returns v − w, where that does not overflow.
func (v fixed) minus(w fixed) fixed {
	frac, borrow := bits.Sub64(v.frac, w.frac, 0)
	return fixed{v.whole - w.whole - int64(borrow), frac}
}

// size returns an integer that is at least |v|.
func (v fixed) size() uint64 { return uint64(v.whole^v.whole>>63) + 1 }
