package jl

import (
	"math"
	"math/bits"
)

// How a Builder sums. Sums saturate, and whether one does is not asked of each sum each time: load
// is the sum of the sizes of all values so far, rounded up, and no row is further from 0. As long
// as it is below 2⁶¹, where rows saturate, no row has saturated or does now, and the plain sum is
// the same as the saturating one. Once it is not, which takes more than 2⁴⁰ times the sensitivity,
// all that follows goes the slow way. Only rows that a table points to are summed so; other sums
// cost more than the question.

// Values of a size below small, in steps, go the shortest way, a chunk of them at a time: even
// together they are far below 2⁶¹.
const (
	chunk = 64
	small = 1 << 40
)

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

// fits adds to the load and reports whether it is below 2⁶¹.
func (s *state) fits(size uint64) bool {
	if s.load += size; s.load < most {
		return true
	}
	s.load = most // so that it does not wrap around
	return false
}

// add adds a value to a coordinate, if there is such a one.
func (s *state) add(index uint64, value float64) {
	if index >= s.params.Dim {
		return
	}
	v := s.steps(value)
	if s.table == nil || !s.fits(v.size()) {
		s.saturate(index, v)
		return
	}
	addColumn(s.sums, s.table[index*s.width:][:s.width], v)
}

// addColumn adds v times a column.
func addColumn(sums []fixed, column []uint32, v fixed) {
	signed := [2]fixed{v, v.negative()}
	for _, e := range column {
		sums[e>>1].accumulate(&signed[e&1])
	}
}

// saturate adds the value where sums may saturate, or wrap around.
func (s *state) saturate(index uint64, v fixed) {
	if s.columns != nil {
		s.columns.add(s.sums, index, v)
		return
	}
	s.sums[index] = s.sums[index].add(v).clamped(s.limit)
}

// addDense adds the values to the coordinates from 0 on.
func (s *state) addDense(x []float64) {
	switch {
	case s.columns == nil:
		s.addHeld(x)
	case s.table == nil:
		for j, value := range x {
			s.saturate(uint64(j), s.steps(value))
		}
	default:
		s.addTable(x)
	}
}

// addHeld adds the values to the vector.
func (s *state) addHeld(x []float64) {
	sums, inverse, limit := s.sums[:len(x)], s.inverse, s.limit
	for j, value := range x {
		var v fixed
		if y := value * inverse; -small < y && y < small && !s.params.Integers {
			v = toFixed(y)
		} else {
			v = s.steps(value)
		}
		sums[j] = sums[j].add(v).clamped(limit)
	}
}

// addTable adds the values by the table, in chunks.
func (s *state) addTable(x []float64) {
	for j := 0; j < len(x); {
		part := x[j:min(j+chunk, len(x))]
		n := 0
		switch {
		case s.load >= most/2 || s.params.Integers && s.inverse < 1:
		case s.params.Integers:
			n = s.addWhole(s.table[uint64(j)*s.width:], part)
		case s.width == 1:
			n = s.addSingles(s.table[j:], part)
		default:
			n = s.addColumns(s.table[uint64(j)*s.width:], part)
		}
		if j += n; n < len(part) {
			s.add(uint64(j), x[j])
			j++
		}
	}
}

// addSingles adds the small values at the front, a chunk at most, to one row each, and returns
// their number.
func (s *state) addSingles(table []uint32, values []float64) (n int) {
	sums, inverse, sizes := s.sums, s.inverse, uint64(0)
	table = table[:len(values)]
	for n < len(values) {
		y := values[n] * inverse
		if !(-small < y && y < small) {
			break
		}
		v, e := toFixed(y), table[n]
		sizes |= v.size() // no less than each
		sums[e>>1].addOrSubtract(&v, e&1)
		n++
	}
	s.load += chunk * sizes
	return n
}

// addColumns does so with several rows each.
func (s *state) addColumns(table []uint32, values []float64) (n int) {
	sums, inverse, width, sizes := s.sums, s.inverse, s.width, uint64(0)
	for n < len(values) {
		y := values[n] * inverse
		if !(-small < y && y < small) {
			break
		}
		v := toFixed(y)
		sizes |= v.size()
		addColumn(sums, table[:width], v)
		table = table[width:]
		n++
	}
	s.load += chunk * sizes
	return n
}

// addWhole does so with integers on a grid that has all of them: they have no digits behind the
// point.
func (s *state) addWhole(table []uint32, values []float64) (n int) {
	sums, inverse, width, sizes := s.sums, s.inverse, s.width, uint64(0)
	for n < len(values) {
		y := math.RoundToEven(values[n]) * inverse
		if !(-small < y && y < small) {
			break
		}
		v := int64(y)
		sizes |= fixed{whole: v}.size()
		signed := [2]int64{v, -v}
		for _, e := range table[:width] {
			sums[e>>1].whole += signed[e&1]
		}
		table = table[width:]
		n++
	}
	s.load += chunk * sizes
	return n
}

// merge adds the sums of the other one.
func (s *state) merge(o *state) {
	limit := s.limit
	if s.columns != nil {
		limit = most
	}
	s.fits(o.load)
	for i, v := range o.sums {
		if s.sums[i] = s.sums[i].add(v); !s.params.wraps() {
			s.sums[i] = s.sums[i].clamped(limit)
		}
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

// negative returns −v.
func (v fixed) negative() fixed {
	frac, borrow := bits.Sub64(0, v.frac, 0)
	return fixed{-v.whole - int64(borrow), frac}
}

// size returns an integer that is greater than |v|.
func (v fixed) size() uint64 { return uint64(v.whole^v.whole>>63) + 1 }
