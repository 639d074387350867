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
func (a *Axis) Nearest(c quantile.Choice, lists [][]float64) []quantile.Cell {
	// The leading bits of numbers, in the order of the numbers, tell where to look.
	const rest = 46
	buckets, n := make([]int64, 1<<(64-rest)), int64(0)
	for _, rows := range lists {
		n += int64(len(rows))
		for _, x := range rows {
			buckets[ordered(x)>>rest]++
		}
	}
	// e⁻⁹² < 2⁻¹³⁰: all weights beyond are the least
	reach := 92*quantile.MeanError(c.Level, c.Loss) + 2
	least, most := max(c.Level*float64(n)-reach, 0), c.Level*float64(n)+reach
	from, upTo, last := 0, int64(0), int(ordered(a.High)>>rest)
	for from < last && float64(upTo+buckets[from]) <= least {
		upTo += buckets[from]
		from++
	}
	to := from
	for to < last && float64(upTo+buckets[to]) <= most {
		upTo += buckets[to]
		to++
	}
	// whole cells, of which these bits may be a part
	begin, end := a.Cell(number(uint64(from)<<rest)), a.Cell(number(uint64(to+1)<<rest-1))
	low, _ := a.Edges(begin)
	_, high := a.Edges(end)
	first, before, after, cells := ordered(low), uint64(0), n, map[int64]int64{}
	size := ordered(high) - first
	for _, rows := range lists {
		for _, x := range rows {
			// without a branch, which would depend on chance
			d, less := bits.Sub64(ordered(x), first, 0)
			if before += less; d <= size {
				cells[a.Cell(x)]++
				after--
			}
		}
	}
	if before > 0 {
		cells[begin-1] += int64(before)
	}
	if after -= int64(before); after > 0 {
		cells[end+1] += after
	}
	return Sorted(cells)
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
