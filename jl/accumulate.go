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

// fixed is the number whole + frac/2⁶⁴, in steps of the grid. Values are kept to 2⁻⁶³ of a step
// while they are summed, and the sums are rounded to whole steps once, on release: so a release is
// off by a step for each sum, and not for each value. See sensitivity_proof.md.
type fixed struct {
	whole int64
	frac  uint64
}

// most is where sums of steps saturate.
const most = 1 << 61

// toFixed returns y, rounded towards 0 to a multiple of 2⁻⁶³, for |y| < 2⁶². It is odd, and moves
// no two values apart by more than 2⁻⁶³. The rest of y is exact, and is brought into the digits of
// frac as a number in two's complement, whose sign goes to whole.
func toFixed(y float64) fixed {
	whole := int64(y)
	rest := int64((y - float64(whole)) * 0x1p63)
	return fixed{whole + rest>>63, uint64(rest) << 1}
}

// quickFixed is toFixed for |y| ≤ 2⁴⁰, in fewer instructions. 1.5·2⁵² + y, rounded to an integer,
// has the nearest whole number in its last digits. What is left of y is exact, between −½ and ½,
// and y itself where that number is 0; else y has no digit beyond 2⁻⁵³, and nothing is cut.
func quickFixed(y float64) fixed {
	const middle = 0x1.8p52
	z := y + middle
	whole := int64(math.Float64bits(z) - math.Float64bits(middle))
	rest := int64((y - (z - middle)) * 0x1p63)
	return fixed{whole: whole + rest>>63, frac: uint64(rest) << 1}
}

// saturated returns ±limit for numbers beyond that, and 0 for NaN.
func saturated(y float64, limit int64) fixed {
	switch {
	case y > 0:
		return fixed{whole: limit}
	case y < 0:
		return fixed{whole: -limit}
	}
	return fixed{}
}

// add returns v + w, where that does not overflow.
func (v fixed) add(w fixed) fixed {
	frac, carry := bits.Add64(v.frac, w.frac, 0)
	return fixed{v.whole + w.whole + int64(carry), frac}
}

// subtractOrAdd returns v − w for a sign of 1 and v + w for 0, clamped to ±2⁶¹.
func (v fixed) subtractOrAdd(w fixed, sign uint64) fixed {
	mask := -sign
	frac, carry := bits.Add64(v.frac, w.frac^mask, sign)
	whole := v.whole + (w.whole ^ int64(mask)) + int64(carry)
	if uint64(whole+most) >= 2*most {
		return fixed{max(min(whole, most), -most), 0}
	}
	return fixed{whole, frac}
}

// clamped returns v, at most ±limit.
func (v fixed) clamped(limit int64) fixed {
	switch {
	case v.whole >= limit:
		return fixed{whole: limit}
	case v.whole < -limit:
		return fixed{whole: -limit}
	}
	return v
}

// rounded returns the nearest integer, halves upwards.
func (v fixed) rounded() int64 { return v.whole + int64(v.frac>>63) }
