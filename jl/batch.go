package jl

import (
	"math"
	"math/bits"
)

// How many values are added in one call: those at the front that are small in plain sums, without a
// question about load or room. Even together they leave the load below the room, and it grows by
// the greatest of their sizes times their number. The first value that is not small, or NaN, goes
// the way of a single one, and what follows is as before.

// loop is what the loops below need to know of the values.
type loop struct {
	inverse float64 // 1/step
	// integer rounds a number y of steps to what integers are multiples of, halves to even, for
	// |y| < 2⁴⁰: it is (y + integer) − integer. 0 does not round.
	integer float64
	below   uint64 // the bits of a power of two: values of less steps are small
}

// chunk is how many values of a dense vector share a greatest size.
const chunk = 256

// small returns the loop of n values in rows, or of one value in each of n coordinates. The sizes
// of the values are at most below = 2ᵉ, where n·2ᵉ is at most half of the room that is left.
func (s *state) small(n int) (l loop) {
	l = loop{inverse: s.inverse}
	if s.params.Integers {
		l.integer = 0x1.8p52 * s.inverse
	}
	if s.columns == nil {
		n = 1
	}
	if s.load < s.room {
		if e := bits.Len64(s.room-s.load) - 2 - bits.Len(uint(n-1)); e >= 0 {
			l.below = math.Float64bits(float64(uint64(1) << min(e, 40)))
		}
	}
	return l
}

// steps returns the value in steps, and the bits of its size.
func (l *loop) steps(value float64) (y float64, size uint64) {
	y = (value*l.inverse + l.integer) - l.integer
	return y, absolute(y)
}

// real is steps for values that are not rounded to integers.
func (l *loop) real(value float64) (y float64, size uint64) {
	y = value * l.inverse
	return y, absolute(y)
}

// absolute returns the bits of |y|: they are in the order of the sizes, with NaN above all numbers.
func absolute(y float64) uint64 { return math.Float64bits(y) &^ (1 << 63) }

// greater returns an integer above the float64 with these bits, which is below 2⁴⁰.
func greater(bits uint64) uint64 { return uint64(math.Float64frombits(bits)) + 1 }

// addDense adds the values to the coordinates from 0 on, and ignores those beyond Dim.
func (s *state) addDense(x []float64) {
	x = x[:min(uint64(len(x)), s.params.Dim)]
	for j := 0; j < len(x); {
		n, part := 0, x[j:]
		switch {
		case s.load >= s.room:
		case s.columns == nil:
			n = s.addHeld(j, part)
		default:
			part = part[:min(chunk, len(part))]
			n = s.addColumns(s.table[uint64(j)*s.width:], part)
		}
		if j += n; n < len(part) {
			s.add(uint64(j), x[j])
			j++
		}
	}
}

// addSparse adds the values to the coordinates.
func (s *state) addSparse(indices []uint64, values []float64) {
	indices = indices[:min(len(indices), len(values))]
	for len(indices) > 0 {
		part := indices[:min(chunk, len(indices))]
		n, top, l := 0, uint64(0), s.small(len(part))
		switch {
		case s.load >= s.room:
		case s.width == 1:
			n, top = l.sparseSingles(s.sums, s.table, part, values)
		case s.width == 8:
			n, top = l.sparseEights(s.sums, s.table, part, values)
		}
		if s.load += uint64(n) * greater(top); n < len(part) {
			s.add(indices[n], values[n])
			n++
		}
		indices, values = indices[n:], values[n:]
	}
}

// addColumns adds small values at the front to the rows of a column each, and returns their number.
func (s *state) addColumns(table []uint32, values []float64) (n int) {
	l, top := s.small(len(values)), uint64(0)
	switch whole := s.params.Integers; {
	case s.width == 1:
		n, top = l.singles(s.sums, table, values)
	case s.width == 8 && whole:
		n, top = l.wholeEights(s.sums, table, values)
	case s.width == 8:
		n, top = l.eights(s.sums, table, values)
	case whole:
		n, top = l.wholeColumns(s.sums, table, values, int(s.width))
	default:
		n, top = l.columns(s.sums, table, values, int(s.width))
	}
	s.load += uint64(n) * greater(top)
	return n
}

// addHeld adds small values at the front to the coordinates from j on, and returns their number.
func (s *state) addHeld(j int, values []float64) (n int) {
	l, top := s.small(len(values)), uint64(0)
	if s.vector.frac == nil {
		n, top = l.heldWhole(s.vector.whole[j:], values)
	} else {
		n, top = l.held(s.vector.whole[j:], s.vector.frac[j:], values)
	}
	if n > 0 {
		s.load += greater(top)
	}
	return n
}

// held adds the values to the sums. It returns the number of those that are small, at the front,
// and the bits of the greatest size, as all that follow do.
func (l loop) held(whole, frac []int64, values []float64) (n int, top uint64) {
	whole, frac = whole[:len(values)], frac[:len(values)]
	for n < len(values) {
		y, size := l.real(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v := quickFixed(y)
		sum, carry := bits.Add64(uint64(frac[n]), v.frac, 0)
		whole[n] += v.whole + int64(carry)
		frac[n] = int64(sum)
		n++
	}
	return n, top
}

// heldWhole is for integers: their sums have no digits behind the point.
func (l loop) heldWhole(whole []int64, values []float64) (n int, top uint64) {
	whole = whole[:len(values)]
	for n < len(values) {
		y, size := l.steps(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		whole[n] += int64(y)
		n++
	}
	return n, top
}

// singles is for columns of one entry.
func (l loop) singles(sums []fixed, table []uint32, values []float64) (n int, top uint64) {
	table = table[:len(values)]
	for n < len(values) {
		y, size := l.steps(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v := quickFixed(y)
		sums[table[n]].accumulate(&v)
		n++
	}
	return n, top
}

// eights is for columns of eight.
func (l loop) eights(sums []fixed, table []uint32, values []float64) (n int, top uint64) {
	for n < len(values) && len(table) >= 8 {
		y, size := l.real(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v, e := quickFixed(y), (*[8]uint32)(table)
		sums[e[0]].accumulate(&v)
		sums[e[1]].accumulate(&v)
		sums[e[2]].accumulate(&v)
		sums[e[3]].accumulate(&v)
		sums[e[4]].accumulate(&v)
		sums[e[5]].accumulate(&v)
		sums[e[6]].accumulate(&v)
		sums[e[7]].accumulate(&v)
		table = table[8:]
		n++
	}
	return n, top
}

// wholeEights is for integers.
func (l loop) wholeEights(sums []fixed, table []uint32, values []float64) (n int, top uint64) {
	for n < len(values) && len(table) >= 8 {
		y, size := l.steps(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v, e := int64(y), (*[8]uint32)(table)
		sums[e[0]].whole += v
		sums[e[1]].whole += v
		sums[e[2]].whole += v
		sums[e[3]].whole += v
		sums[e[4]].whole += v
		sums[e[5]].whole += v
		sums[e[6]].whole += v
		sums[e[7]].whole += v
		table = table[8:]
		n++
	}
	return n, top
}

// columns is for columns of any number of entries.
func (l loop) columns(sums []fixed, table []uint32, values []float64, width int) (n int, top uint64) {
	for n < len(values) {
		y, size := l.real(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v := quickFixed(y)
		accumulate(sums, table[:width], &v)
		table = table[width:]
		n++
	}
	return n, top
}

// wholeColumns is for integers.
func (l loop) wholeColumns(sums []fixed, table []uint32, values []float64, width int) (n int, top uint64) {
	for n < len(values) {
		y, size := l.steps(values[n])
		if size >= l.below {
			break
		}
		top = max(top, size)
		v, column := int64(y), table[:width]
		for ; len(column) >= 4; column = column[4:] {
			e := (*[4]uint32)(column)
			sums[e[0]].whole += v
			sums[e[1]].whole += v
			sums[e[2]].whole += v
			sums[e[3]].whole += v
		}
		for _, e := range column {
			sums[e].whole += v
		}
		table = table[width:]
		n++
	}
	return n, top
}

// sparseSingles takes the columns, of one entry, at the indices. It stops at one that there is not.
func (l loop) sparseSingles(sums []fixed, table []uint32, indices []uint64, values []float64) (n int, top uint64) {
	values = values[:len(indices)]
	for n < len(indices) {
		index := indices[n]
		y, size := l.steps(values[n])
		if size >= l.below || index >= uint64(len(table)) {
			break
		}
		top = max(top, size)
		v := quickFixed(y)
		sums[table[index]].accumulate(&v)
		n++
	}
	return n, top
}

// sparseEights does so with columns of eight.
func (l loop) sparseEights(sums []fixed, table []uint32, indices []uint64, values []float64) (n int, top uint64) {
	values = values[:len(indices)]
	for n < len(indices) {
		index := indices[n]
		y, size := l.steps(values[n])
		if size >= l.below || index >= uint64(len(table)/8) {
			break
		}
		top = max(top, size)
		v := quickFixed(y)
		addEight(sums, (*[8]uint32)(table[8*index:]), &v)
		n++
	}
	return n, top
}

// addEight adds v times a column of eight entries.
func addEight(sums []fixed, e *[8]uint32, v *fixed) {
	sums[e[0]].accumulate(v)
	sums[e[1]].accumulate(v)
	sums[e[2]].accumulate(v)
	sums[e[3]].accumulate(v)
	sums[e[4]].accumulate(v)
	sums[e[5]].accumulate(v)
	sums[e[6]].accumulate(v)
	sums[e[7]].accumulate(v)
}
