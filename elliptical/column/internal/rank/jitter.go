package rank

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/noise"
)

// Where several quantiles are wanted, those found first cut the rows in two, and a value that many
// rows share would have to be cut. So every row gets a place of its own: a uniform one of 2³²
// within its cell, independently of all others, which is a random map of each row by itself and
// costs no privacy. The places are drawn as far as they are asked for: the number of rows in the
// left half of an interval is binomial, and the rows of each half are uniform in it again. So what
// is seen has exactly the law of places that were drawn one by one, and a cell of 10⁹ rows is one
// number until a quantile falls into it.

const few = 32 // rows that are drawn one by one

// Jittered are rows in order of their places on the axis of all cells. Where a cell has one place
// nothing is drawn.
type Jittered struct {
	cells []cell
	bits  uint // places within a cell: 2^bits
	src   *noise.Source
}

// cell is a cell with rows in it.
type cell struct {
	index int64
	below int64 // rows in earlier cells
	rows  *interval
}

// interval are rows in an interval of places.
type interval struct {
	count       int64
	left, right *interval // once it is split
	places      []int64   // of few rows, once they are drawn; sorted
}

// NewJittered takes the number of rows in each cell in use, and that of those before all of these.
// A cell has 2^bits places.
func NewJittered(before int64, counts map[int64]int64, bits uint, src *noise.Source) *Jittered {
	j := &Jittered{bits: bits, src: src}
	for _, index := range slices.Sorted(maps.Keys(counts)) {
		j.cells = append(j.cells, cell{index, before, &interval{count: counts[index]}})
		before += counts[index]
	}
	return j
}

// Len returns the number of rows.
func (j *Jittered) Len() int64 {
	if len(j.cells) == 0 {
		return 0
	}
	last := j.cells[len(j.cells)-1]
	return last.below + last.rows.count
}

// Place returns the place of the row of a rank in [0, len).
func (j *Jittered) Place(rank int64) int64 {
	i, found := slices.BinarySearchFunc(j.cells, rank, func(c cell, rank int64) int {
		switch {
		case c.below < rank:
			return -1
		case c.below > rank:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	at, rank, rows := j.cells[i].index<<j.bits, rank-j.cells[i].below, j.cells[i].rows
	for size := int64(1) << j.bits; ; {
		if j.open(rows, size); rows.places != nil {
			return at + rows.places[rank]
		}
		if size == 1 {
			return at
		}
		size /= 2
		if rank < rows.left.count {
			rows = rows.left
		} else {
			at, rank, rows = at+size, rank-rows.left.count, rows.right
		}
	}
}

// Below returns the number of rows at places before x.
func (j *Jittered) Below(x int64) int64 {
	index := x >> j.bits
	i, found := slices.BinarySearchFunc(j.cells, index, func(c cell, index int64) int { return int(max(min(c.index-index, 1), -1)) })
	if !found {
		if i == len(j.cells) {
			return j.Len()
		}
		return j.cells[i].below
	}
	count, rows := j.cells[i].below, j.cells[i].rows
	x -= index << j.bits
	for size := int64(1) << j.bits; x > 0; {
		if j.open(rows, size); rows.places != nil {
			n, _ := slices.BinarySearch(rows.places, x)
			return count + int64(n)
		}
		size /= 2
		if x < size {
			rows = rows.left
		} else {
			count, x, rows = count+rows.left.count, x-size, rows.right
		}
	}
	return count
}

// open draws the places of few rows, or splits many between the halves of their interval.
func (j *Jittered) open(rows *interval, size int64) {
	switch {
	case rows.places != nil || rows.left != nil || size == 1:
	case rows.count <= few:
		rows.places = make([]int64, rows.count)
		for i := range rows.places {
			rows.places[i] = int64(j.src.Uint64N(uint64(size)))
		}
		slices.Sort(rows.places)
	default:
		left := halved(j.src, rows.count)
		rows.left, rows.right = &interval{count: left}, &interval{count: rows.count - left}
	}
}

// halved returns a binomial number of n trials with probability ½: the ones among n random bits.
func halved(src *noise.Source, n int64) (ones int64) {
	var words [256]uint64
	for n > 0 {
		chunk := words[:min((n+63)/64, int64(len(words)))]
		src.Fill(chunk)
		if n < int64(len(chunk))*64 {
			chunk[len(chunk)-1] &= ^uint64(0) >> (uint(-n) % 64)
		}
		for _, w := range chunk {
			ones += int64(bits.OnesCount64(w))
		}
		n -= int64(len(chunk)) * 64
	}
	return ones
}
