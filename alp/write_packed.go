package alp

import "math/bits"

// packed is a table as it is kept and encoded. Most cells show output 0, also those of entries that
// are in other columns: a bit for each cell says which do not, and these have their outputs, less
// one, side by side, ⌈log₂(Q−1)⌉ bits each, none for a unary code. So a cell is found by counting
// the bits before it. The table decides how many values there are, and no more than that.
type packed struct {
	cells     uint64
	valueBits uint64
	// lines are a cache line each: how many values precede it, and the bits of
	// lineCells cells
	lines  []uint64
	values []uint64 // and two words of zeros
}

const (
	lineWords = 8
	lineCells = (lineWords - 1) * 64
)

// valueBits returns how many bits an output other than 0 takes.
func valueBits(levels int) uint64 { return uint64(bits.Len(uint(levels - 2))) }

// newPacked returns a table with room for its bits.
func (g *geometry) newPacked() packed {
	cells := g.blocks * g.blockCells()
	return packed{cells: cells, valueBits: valueBits(1 << g.cellBits), lines: make([]uint64, (cells+lineCells-1)/lineCells*lineWords)}
}

// blockCells returns the number of cells of a block, those that are not used included.
func (g *geometry) blockCells() uint64 { return g.words * g.wordCells }

// bitWords returns the number of words of bits.
func (t *packed) bitWords() int { return int((t.cells + 63) / 64) }

// valueWords returns the number of words of so many values.
func (t *packed) valueWords(values uint64) int { return int((values*t.valueBits + 63) / 64) }

// bitWord returns the i-th word of bits.
func (t *packed) bitWord(i int) *uint64 {
	const each = lineWords - 1
	return &t.lines[i/each*lineWords+1+i%each]
}

// pack returns the table of cells that were drawn.
func (g *geometry) pack(table []uint64) packed {
	t := g.newPacked()
	cell, size := 0, uint(g.cellBits)
	var values []uint8
	for _, word := range table {
		for range g.wordCells {
			if output := uint8(word & (1<<size - 1)); output > 0 {
				*t.bitWord(cell / 64) |= 1 << (cell % 64)
				values = append(values, output-1)
			}
			word >>= size
			cell++
		}
	}
	t.values = make([]uint64, t.valueWords(t.count())+2)
	for i, value := range values {
		at := uint64(i) * t.valueBits
		t.values[at/64] |= uint64(value) << (at % 64)
		t.values[at/64+1] |= uint64(value) >> (64 - at%64)
	}
	return t
}

// count sets what precedes each line, and returns the number of values.
func (t *packed) count() (values uint64) {
	for i := 0; i < len(t.lines); i += lineWords {
		t.lines[i] = values
		for _, word := range t.lines[i+1 : i+lineWords] {
			values += uint64(bits.OnesCount64(word))
		}
	}
	return values
}

// at returns what a cell shows.
func (t *packed) at(cell uint64) uint8 {
	line := t.lines[cell/lineCells*lineWords:][:lineWords]
	place := cell % lineCells
	word, bit := line[1+place/64], uint64(1)<<(place%64)
	if word&bit == 0 {
		return 0
	}
	before := line[0] + uint64(bits.OnesCount64(word&(bit-1)))
	for _, w := range line[1 : 1+place/64] {
		before += uint64(bits.OnesCount64(w))
	}
	return t.value(before) + 1
}

// value returns the i-th value.
func (t *packed) value(i uint64) uint8 {
	at := i * t.valueBits
	return uint8((t.values[at/64]>>(at%64) | t.values[at/64+1]<<(64-at%64)) & (1<<t.valueBits - 1))
}

// each calls f for the cells that show another output than 0, in order.
func (t *packed) each(f func(cell uint64, output uint8)) {
	n := uint64(0)
	for i := range t.bitWords() {
		for word := *t.bitWord(i); word != 0; word &= word - 1 {
			f(uint64(i*64+bits.TrailingZeros64(word)), t.value(n)+1)
			n++
		}
	}
}

// canonical reports whether there is no other way to write the table: cells that are not used show
// 0, and so do the bits behind the last cell and the last value.
func (g *geometry) canonical(t *packed) bool {
	ok, n := true, uint64(0)
	t.each(func(cell uint64, output uint8) {
		n++
		ok = ok && cell < t.cells && g.column(cell) < g.columns && output > 0 && int(output) < 1<<g.cellBits
	})
	end := n * t.valueBits
	return ok && t.values[end/64]>>(end%64) == 0
}

// cellsEach returns how many cells there are for an entry, such that it takes Bits on average: a
// bit for each cell, a value for those that noise alone lifts above output 0, and one for those
// that it has itself, at uniform values half of its columns. It has nothing of the data, and is
// made of products, quotients and sums alone: see [geometry].
func (p Params) cellsEach(width int) float64 {
	size := float64(valueBits(p.Levels))
	// e^{−τ/b}, about, of the lowest threshold
	lifted := 1 - min((float64(width)/2+float64(middle(width, p.Levels, 1)))*p.columnShare()*p.kappa(), 512)/1024
	for range 10 {
		lifted *= lifted
	}
	lifted /= 2
	return max(p.Bits/(1+size), (p.Bits-size*(1-lifted)*float64(p.Columns+1)/2)/(1+size*lifted))
}
