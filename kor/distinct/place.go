package distinct

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/place"
)

// placement says which bit of a table a key sets. With t a word of the key, t·n = cell·2⁶⁴ + f: the
// cell is ⌊t·n/2⁶⁴⌋, and the level min(number of leading zeros of f, L−1). So every key sets a bit,
// at level i with probability r_i = 2^{−i−1}, at the last one with r_{L−1} = 2^{−L+1}: for a
// uniform t, the probability of a cell and a level or deeper ones is within 2⁻⁶⁴ of the product.
//
// t is the lower half of k₂·y, with y and the numbers k of [place.Hash]. A digit of t depends on
// all lower ones of y; the uppermost say the cell, those below the level.
//
// Privacy holds for every function from keys to bits; the accuracy statements are for a fully
// random t. TestRegularKeys compares them on runs, grids and other regular sets.
type placement struct {
	k0, k1, k2    uint64       // those of a place.Hash
	cells, stride uint64       // of a level: bits, and words
	deepest       uint64       // 2^{64−L}
	starts        *[256]uint32 // of the level of each upper byte of f that is not 0
}

func newPlacement(seed hashing.Seed, cells, stride, levels int) placement {
	k := place.New(seed.Derive(1), seed.Derive(2))
	starts := new([256]uint32)
	for i := range starts {
		starts[i] = uint32(min(bits.LeadingZeros8(uint8(i)), levels-1) * stride)
	}
	return placement{k.K0, k.K1, k.K2, uint64(cells), uint64(stride), 1 << (64 - levels), starts}
}

// split returns the cell of a key and f.
func (h *placement) split(key uint64) (cell, f uint64) {
	hi, lo := bits.Mul64(h.k1, key^h.k0)
	return bits.Mul64(h.cells, (hi^lo)*h.k2)
}

// start returns where the level of a key begins.
func (h *placement) start(f uint64) uint64 {
	return uint64(bits.LeadingZeros64(f|h.deepest)) * h.stride
}

// at returns the word and the bit of a key.
func (h *placement) at(key uint64) (word, bit uint64) {
	cell, f := h.split(key)
	return h.start(f) + cell>>6, 1 << (cell & 63)
}

// cell returns the number of the cell among those of all levels, for a stride of cells.
func (h *placement) cell(key uint64) uint64 {
	cell, f := h.split(key)
	return h.start(f) + cell
}

// set sets the bits of the keys. The level is read from a table, but for one key of 256: this saves
// a product.
func (h *placement) set(table []uint64, keys []uint64) {
	k0, k1, k2, cells := h.k0, h.k1, h.k2, h.cells
	starts := h.starts
	for _, key := range keys {
		hi, lo := bits.Mul64(k1, key^k0)
		cell, f := bits.Mul64(cells, (hi^lo)*k2)
		start := uint64(starts[f>>56])
		if f>>56 == 0 {
			start = h.start(f)
		}
		if word := start + cell>>6; word < uint64(len(table)) {
			table[word] |= 1 << (cell & 63)
		}
	}
}
