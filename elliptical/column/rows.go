package column

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// kept are rows that wait for their range, eight bytes each: lists of any length, and the last one.
// (The number of rows in each cell of an axis would be less for some hundred million rows, and more
// for fewer; and a column of large numbers with a small spread would be in few cells.)
type kept struct {
	full [][]float64
	last []float64
}

const (
	firstList = 1 << 6
	mostList  = 1 << 16
)

// add adds a row, a number, clamped to ±bound. (Builder.Add has the usual case.)
//
//go:noinline
func (k *kept) add(x, bound float64) {
	if len(k.last) == cap(k.last) {
		k.full, k.last = k.lists(), make([]float64, 0, min(max(2*cap(k.last), firstList), mostList))
	}
	k.last = append(k.last, min(max(x, -bound), bound)+0)
}

// lists returns all rows.
func (k *kept) lists() [][]float64 {
	if len(k.last) == 0 {
		return k.full
	}
	return append(k.full, k.last)
}

// len returns the number of rows.
func (k *kept) len() (n int64) {
	for _, rows := range k.lists() {
		n += int64(len(rows))
	}
	return n
}

// merge adds the rows of another.
func (k *kept) merge(o *kept) { k.full = append(k.full, o.lists()...) }

// sorted returns all rows in ascending order: the same for the same rows in any order.
func (k *kept) sorted() []float64 {
	all := slices.Concat(k.lists()...)
	slices.Sort(all)
	return all
}

// total returns the sum of the rows on a grid: of [grid.place], for which all rows are numbers.
func (k *kept) total(g grid) (t totals) {
	// y + magic has the integer next to y in its bits
	const magic, magicBits = 0x1.8p52, 0x4338000000000000
	for _, rows := range k.lists() {
		sum := int64(0) // a list is short enough
		for _, x := range rows {
			if x < g.lo {
				x = g.lo
			}
			if x > g.hi {
				x = g.hi
			}
			y := (x - g.zero) * g.factor
			tau := int64(math.Float64bits(y+magic)-magicBits) - g.offset
			sum += min(max(tau, -g.half), g.half)
		}
		t.rows += int64(len(rows))
		t.first = t.first.Plus(exact.Int128Of(sum))
	}
	return t
}

// valid reports whether rows are as add keeps them, and sorted.
func valid(rows []float64, bound float64) bool {
	last := -bound
	for _, x := range rows {
		if !(x >= last && x <= bound) || x == 0 && math.Signbit(x) {
			return false
		}
		last = x
	}
	return true
}
