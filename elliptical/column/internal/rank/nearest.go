package rank

import (
	"math"
	"math/bits"
)

// Nearest returns the rows of a part of all places of an axis, a place to a cell, in their order:
// of those far from the wanted rank only how many there are. They come in lists, in any order, and
// all are numbers on the axis.
func (a *Axis) Nearest(p Part, lists [][]float64) *Jittered {
	// The leading bits of numbers, in the order of the numbers, tell where to look.
	const rest = 46
	buckets := make([]int64, 1<<(64-rest))
	for _, rows := range lists {
		for _, x := range rows {
			buckets[ordered(x)>>rest]++
		}
	}
	least, most := p.window()
	from, upTo, last := 0, int64(0), int(ordered(a.High)>>rest)
	for from < last && upTo+buckets[from] <= least {
		upTo += buckets[from]
		from++
	}
	to := from
	for to < last && upTo+buckets[to] <= most {
		upTo += buckets[to]
		to++
	}
	// whole cells, of which these bits may be a part
	low, _ := a.Edges(a.Cell(number(uint64(from) << rest)))
	_, high := a.Edges(a.Cell(number(uint64(to+1)<<rest - 1)))
	first, before, cells := ordered(low), uint64(0), map[int64]int64{}
	size := ordered(high) - first
	for _, rows := range lists {
		for _, x := range rows {
			// without a branch, which would depend on chance
			d, less := bits.Sub64(ordered(x), first, 0)
			if before += less; d <= size {
				cells[a.Cell(x)]++
			}
		}
	}
	return NewJittered(int64(before), cells, 0, nil)
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
