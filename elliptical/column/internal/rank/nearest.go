package rank

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Nearest returns what a draw on the whole axis, a place to a cell, sees of the rows: those near
// the wanted rank by cell, and in one cell on either side how many are farther off. The rows come
// in lists, in any order, and all are numbers on the axis.
func (a *Axis) Nearest(c quantile.Choice, lists [][]float64) (cells []quantile.Cell) {
	// The leading bits of numbers, in the order of the numbers, tell where to look: pages of an
	// octave each have the numbers of rows.
	const rest, page = 46, 64
	pages, n := new([1 << (64 - rest) / page]*[page]int64), int64(0)
	for _, rows := range lists {
		n += int64(len(rows))
		for _, x := range rows {
			at := ordered(x) >> rest
			if pages[at/page] == nil {
				pages[at/page] = new([page]int64)
			}
			pages[at/page][at%page]++
		}
	}
	// e⁻⁹² < 2⁻¹³⁰: all weights beyond are the least
	reach := 92*quantile.MeanError(c.Level, c.Loss) + 2
	least, most := max(c.Level*float64(n)-reach, 0), c.Level*float64(n)+reach
	at, upTo, last := uint64(0), int64(0), ordered(a.High)>>rest
	next := func(rank float64) uint64 {
		for at < last {
			if pages[at/page] == nil {
				at = min(at|(page-1)+1, last)
				continue
			}
			rows := pages[at/page][at%page]
			if float64(upTo+rows) > rank {
				break
			}
			upTo += rows
			at++
		}
		return at
	}
	from, to := next(least), next(most)
	// whole cells, of which these bits may be a part
	begin, end := a.Cell(number(from<<rest)), a.Cell(number((to+1)<<rest-1))
	low, _ := a.Edges(begin)
	_, high := a.Edges(end)
	first, before, near := ordered(low), uint64(0), []int64(nil)
	size := ordered(high) - first
	for _, rows := range lists {
		for _, x := range rows {
			// without a branch, which would depend on chance
			d, less := bits.Sub64(ordered(x), first, 0)
			if before += less; d <= size {
				near = append(near, a.Cell(x))
			}
		}
	}
	if before > 0 {
		cells = append(cells, quantile.Cell{Index: uint32(begin - 1), Weight: int64(before)})
	}
	after := n - int64(before) - int64(len(near))
	slices.Sort(near)
	for i, cell := range near {
		if i == 0 || cell > near[i-1] {
			cells = append(cells, quantile.Cell{Index: uint32(cell)})
		}
		cells[len(cells)-1].Weight++
	}
	if after > 0 {
		cells = append(cells, quantile.Cell{Index: uint32(end + 1), Weight: after})
	}
	return cells
}

// Sorted returns the rows by cell, in order.
func Sorted(rows map[int64]int64) (cells []quantile.Cell) {
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		cells = append(cells, quantile.Cell{Index: uint32(index), Weight: rows[index]})
	}
	return cells
}

// ordered returns the bits of a number such that they are in the order of numbers.
func ordered(x float64) uint64 {
	b := math.Float64bits(x)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// number returns that of ordered bits.
func number(b uint64) float64 {
	return math.Float64frombits(b ^ (^uint64(int64(b)>>63) | 1<<63))
}
