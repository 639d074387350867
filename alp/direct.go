package alp

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
)

// direct is the fast way to an estimate, for blocked layouts whose columns show few combinations of
// outputs: these are put into one number, the key, and the estimate of each is in a table. It has
// what it needs of the shape in one place, and reads the cells where [shape.locate] has them.
type direct struct {
	table     []uint64
	seed      hashing.Seed
	blocks    uint64
	words     uint64 // of a block
	positions uint64
	// ⌊2³²/wordCells⌋ + 1: its products have the quotients of numbers below 2²⁶ in their upper half
	inverse   uint64
	wordCells uint64
	mask      uint64 // of a cell
	cellBits  uint
	columns   uint

	estimates []float64 // by key, in units of the data
}

// directBits is the most bits that the cells of an index may have together. The table is 32 KiB
// then, and takes a millisecond to compute.
const directBits = 12

// newDirect returns the fast way without its estimates, nil where there is none.
func newDirect(p *Projection) *direct {
	s := &p.shape
	if s.ranges != nil || s.columns*s.cellBits > directBits {
		return nil
	}
	return &direct{table: p.table, seed: s.places, blocks: s.blocks, words: s.words, positions: s.positions, inverse: 1<<32/s.wordCells + 1,
		wordCells: s.wordCells, mask: 1<<s.cellBits - 1, cellBits: uint(s.cellBits), columns: uint(s.columns)}
}

// under returns the fast way to the estimates of a decoder.
func (f *direct) under(d *decoder) *direct {
	if f == nil {
		return nil
	}
	g := *f
	g.estimates = make([]float64, 1<<(g.columns*g.cellBits))
	outputs := make([]uint8, g.columns)
	for key := range g.estimates {
		for j := range outputs {
			outputs[j] = uint8(uint64(key) >> (uint(j) * g.cellBits) & g.mask)
		}
		positive, negative := d.shape.sides(outputs)
		g.estimates[key] = d.shape.value(d.median(positive, negative, 0, d.odds))
	}
	return &g
}

// key returns what the cells of an index show, the first column in the lowest bits.
func (f *direct) key(index uint64) (key uint64) {
	print := hashing.Fingerprint(f.seed, index)
	block, _ := bits.Mul64(print, f.blocks)
	line := f.table[block*f.words:][:f.words]
	var chunks, first uint64
	for j := range f.columns {
		if j%4 == 0 {
			chunks = mix(print + uint64(j/4)*0x9e3779b97f4a7c15)
		}
		cell := first + chunks&0xffff*f.positions>>16
		word := cell * f.inverse >> 32
		shift := uint(cell-word*f.wordCells) * f.cellBits
		key |= line[word] >> (shift & 63) & f.mask << (j * f.cellBits & 63)
		chunks >>= 16
		first += f.positions
	}
	return key
}
