package distinct

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/place"
)

// placement says which bit of a table a key sets: with u and v the words of the key, cell
// ⌊v·n/2⁶⁴⌋ of level min(number of trailing zeros of u, L−1). So every key sets a bit, at level i
// with probability r_i = 2^{−i−1}, at the last one with r_{L−1} = 2^{−L+1}.
//
// Privacy holds for every function from keys to bits; the accuracy statements are for u and v fully
// random.
type placement struct {
	hash          place.Hash
	cells, stride uint64 // of a level: bits, and words
	deepest       uint64 // 2^{L−1}
}

func newPlacement(seed hashing.Seed, cells, stride, levels int) placement {
	return placement{
		hash: place.New(seed.Derive(1), seed.Derive(2)), cells: uint64(cells), stride: uint64(stride), deepest: 1 << (levels - 1),
	}
}

// at returns the word and the bit of a key.
func (h *placement) at(key uint64) (word, bit uint64) {
	u, v := h.hash.Words(key)
	cell, _ := bits.Mul64(h.cells, v)
	return uint64(bits.TrailingZeros64(u|h.deepest))*h.stride + cell>>6, 1 << (cell & 63)
}

// cell returns the number of the cell among those of all levels, for a stride of cells.
func (h *placement) cell(key uint64) uint64 {
	u, v := h.hash.Words(key)
	cell, _ := bits.Mul64(h.cells, v)
	return uint64(bits.TrailingZeros64(u|h.deepest))*h.stride + cell
}

// set sets the bits of the keys.
func (h *placement) set(table []uint64, keys []uint64) {
	place := *h // in registers
	for _, key := range keys {
		if word, bit := place.at(key); word < uint64(len(table)) {
			table[word] |= bit
		}
	}
}
