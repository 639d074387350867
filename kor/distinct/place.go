package distinct

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// placement says which bit of a table a key sets. With t a word of the key, t·n = cell·2⁶⁴ + f: the
// cell is ⌊t·n/2⁶⁴⌋, and the level min(number of leading zeros of f, L−1). So every key sets a bit,
// at level i with probability r_i = 2^{−i−1}, at the last one with r_{L−1} = 2^{−L+1}: for a
// uniform t, the probability of a cell and a level or deeper ones is within 2⁻⁶⁴ of the product.
//
// t is the lower half of k₂·y, with y and the numbers k of [sets.Hash]. A digit of t depends on
// all lower ones of y; the uppermost say the cell, those below the level.
//
// Privacy holds for every function from keys to bits; the accuracy statements are for a fully
// random t. TestRegularKeys compares them on runs, grids and other regular sets.
type placement struct {
	k0, k1, k2 uint64      // those of a sets.Hash
	cells      uint64      // of a level
	starts     [65]uint64  // of the level, by the number of digits of f
	upper      [256]uint32 // the same by the upper byte of f; behind every table if that is 0
}

// beyond is a word behind every table, whose words are at most maxBits/64 and whose stamps are at
// most maxBits/8.
const beyond = 1 << 31

func newPlacement(seed hashing.Seed, cells, stride, levels int) placement {
	k := sets.NewHash(seed.Derive(1), seed.Derive(2))
	h := placement{k0: k.K0, k1: k.K1, k2: k.K2, cells: uint64(cells)}
	for digits := range h.starts {
		h.starts[digits] = uint64(min(64-digits, levels-1)) * uint64(stride)
	}
	for i := range h.upper {
		h.upper[i] = uint32(h.starts[bits.Len64(uint64(i)<<56)])
	}
	h.upper[0] = beyond
	return h
}

// word returns t.
func (h *placement) word(key uint64) uint64 {
	hi, lo := bits.Mul64(h.k1, key^h.k0)
	return (hi ^ lo) * h.k2
}

// split returns the cell of a key and f.
func (h *placement) split(key uint64) (cell, f uint64) { return bits.Mul64(h.cells, h.word(key)) }

// at returns the word and the bit of a key.
func (h *placement) at(key uint64) (word, bit uint64) {
	cell, f := h.split(key)
	return h.starts[bits.Len64(f)] + cell>>6, 1 << (cell & 63)
}

// cell returns the number of the cell among those of all levels, for a stride of cells. f|1 has the
// level of f, and its length takes an instruction less than that of a number that may be 0.
func (h *placement) cell(key uint64) uint64 {
	cell, f := h.split(key)
	return h.starts[bits.Len64(f|1)] + cell
}

// set sets the bit of a key.
func (h *placement) set(table []uint64, key uint64) { h.mark(table, h.word(key)) }

// mark sets the bit of a key whose word is t.
func (h *placement) mark(table []uint64, t uint64) {
	cell, f := bits.Mul64(h.cells, t)
	if word := h.starts[bits.Len64(f|1)] + cell>>6; word < uint64(len(table)) {
		table[word] |= 1 << (cell & 63)
	}
}

// setAll sets the bits of the keys. The level is read by the upper byte of f, which takes fewer
// instructions than counting digits; one key of 256, whose byte is 0, needs all of f.
func (h *placement) setAll(table []uint64, keys []uint64) {
	for {
		n := h.setUsual(table, keys)
		if n == len(keys) {
			return
		}
		h.set(table, keys[n])
		keys = keys[n+1:]
	}
}

// setUsual sets the bits of the first keys, up to one whose byte is 0, and returns their number.
func (h *placement) setUsual(table []uint64, keys []uint64) int {
	k0, k1, k2, cells := h.k0, h.k1, h.k2, h.cells
	for i, key := range keys {
		hi, lo := bits.Mul64(k1, key^k0)
		cell, f := bits.Mul64(cells, (hi^lo)*k2)
		word := uint64(h.upper[f>>56]) + cell>>6
		if word >= uint64(len(table)) {
			return i
		}
		table[word] |= 1 << (cell & 63)
	}
	return len(keys)
}
