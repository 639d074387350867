package kor

import (
	"iter"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// placement says which bit of a table a key flips.
//
// A key has two 64-bit words u and v. It is at a level by u, and there in cell ⌊v·n/2⁶⁴⌋. Let s =
// (ū+1)/2⁶⁴, uniform on (0, 1], with ū the digits of u in reverse order. A key of weight w is at
// level i if s ∈ (w/2^{i+1}, w/2^i] (thesis, section 3.4.1). Where s > w, or i ≥ L, it is at no
// level and flips nothing.
//
// The law of the levels is exact: the comparisons are made in integers, so Pr[s ≤ w/2^i] =
// ⌊w·2^{64−i}⌋/2⁶⁴ over a uniform u. For w = 1 the level is the number of trailing zeros of u; only
// u = 0, which is at no level, is put at level 63 beside 2⁶³, as that saves a comparison.
//
// Privacy holds for every function from keys to bits. The accuracy statements are for u and v fully
// random, as in the thesis. Pairwise independence would give the expected number of keys in a cell
// and no more; the number of odd cells of a run of keys is then far from what it is for a random
// function, so the families of package hashing that have a proof do not serve here. Anyone who
// knows the Seed can choose keys that meet in one cell: this spoils an estimate, not the privacy of
// others.
type placement struct {
	k0, k1, k2 uint64      // those of a sets.Hash
	cells      uint64      // of a level
	starts     [65]uint64  // the first word of the level, by the number of zeros that end u
	lower      [256]uint32 // the same by the lowest byte of u, if it is not 0
}

func newPlacement(p Params) placement {
	k := sets.NewHash(p.Seed.Derive(1), p.Seed.Derive(2))
	h := placement{k0: k.K0, k1: k.K1, k2: k.K2, cells: uint64(p.Cells)}
	for zeros := range h.starts {
		h.starts[zeros] = uint64(min(zeros, 63) * p.stride())
	}
	for i := range h.lower {
		h.lower[i] = uint32(h.starts[min(bits.TrailingZeros8(uint8(i)), 7)])
	}
	return h
}

// words returns u and v.
func (h *placement) words(key uint64) (u, v uint64) {
	hash := sets.Hash{K0: h.k0, K1: h.k1, K2: h.k2}
	return hash.Words(key)
}

// at returns the word and the bit of a key of weight 1. The levels from L on lie behind the table.
func (h *placement) at(key uint64) (word, bit uint64) {
	u, v := h.words(key)
	cell, _ := bits.Mul64(h.cells, v)
	return h.starts[bits.TrailingZeros64(u)] + cell>>6, 1 << (cell & 63)
}

// each yields the word and the bit of each of many keys of weight 1. The level is read by the
// lowest byte of u, except for one key in 256: this takes fewer instructions than counting zeros.
// The loop is inlined, with what it yields to, and reads the numbers of h again for each key, as it
// has no registers left for them.
func (h *placement) each(keys []uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(word, bit uint64) bool) {
		for _, key := range keys {
			hi, lo := bits.Mul64(h.k1, key^h.k0)
			u, v := bits.Mul64(h.k2, hi^lo)
			cell, _ := bits.Mul64(h.cells, v)
			start := uint64(h.lower[u&255])
			if u&255 == 0 {
				start = h.starts[bits.TrailingZeros64(u)]
			}
			if !yield(start+cell>>6, 1<<(cell&63)) {
				return
			}
		}
	}
}

// flip flips the bit of a key of weight w in (0, 1].
func (h *placement) flip(table []uint64, key uint64, w float64) {
	if i, bit := h.weighted(key, w); i < uint64(len(table)) {
		table[i] ^= bit
	}
}

// set sets it.
func (h *placement) set(table []uint64, key uint64, w float64) {
	if i, bit := h.weighted(key, w); i < uint64(len(table)) {
		table[i] |= bit
	}
}

// weighted returns the word and the bit of a key of weight w in (0, 1], a word behind every table
// for a key at no level.
func (h *placement) weighted(key uint64, w float64) (word, bit uint64) {
	if w == 1 {
		return h.at(key)
	}
	u, v := h.words(key)
	level := weightedLevel(bits.Reverse64(u), w)
	if level < 0 {
		return math.MaxUint64, 0
	}
	cell, _ := bits.Mul64(h.cells, v)
	return h.starts[level] + cell>>6, 1 << (cell & 63)
}

// weightedLevel returns the level of a key of weight w in (0, 1] with the reversed word ū: the i
// with w/2^{i+1} < s ≤ w/2^i, negative if s > w.
//
// Written as s = x·2^{−a} and w = y·2^{−b} with x and y in [1, 2), s ≤ w/2^i if and only if a > b +
// i, or a = b + i and x ≤ y. So i is a − b if x ≤ y, else a − b − 1. x·2⁶³ and y·2⁶³ are integers,
// as w has 53 binary digits.
func weightedLevel(reversed uint64, w float64) int {
	frac, exp := math.Frexp(w) // w = frac·2^exp, frac in [½, 1)
	y, b := uint64(frac*0x1p64), 1-exp
	if reversed == math.MaxUint64 { // s = 1
		if w == 1 {
			return 0
		}
		return -1
	}
	a := bits.LeadingZeros64(reversed+1) + 1
	if (reversed+1)<<(a-1) <= y {
		return a - b
	}
	return a - b - 1
}

// validWeight returns the weight that counts: 1 for what is larger, and false for what is not a
// number above 0.
func validWeight(w float64) (float64, bool) { return min(w, 1), w > 0 }
