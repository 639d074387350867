package kor

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
)

// placement says which bit of a table a key flips.
//
// A key has a 64-bit word u. With s = (u+1)/2⁶⁴, uniform on (0, 1], a key of weight w is at level i if s ∈ (w/2^{i+1}, w/2^i] (thesis,
// section 3.4.1), and in cell ⌊v·n/2⁶⁴⌋ for a second word v. Where s > w, or i ≥ L, it is at no level and flips nothing.
//
// The law of the levels is exact: the comparisons are made in integers, so Pr[s ≤ w/2^i] = ⌊w·2^{64−i}⌋/2⁶⁴ over a uniform u. For w = 1
// the level is the number of leading zeros of u, and v is what follows the leading one of u: independent of the level, and uniform
// to 63 − i digits.
//
// Privacy holds for every function from keys to bits. The accuracy statements are for u and v fully random, as in the thesis. What stands
// here is u = k₂·M(y) mod 2⁶⁴, M(y) = y ⊕ ⌊y/2³²⌋, with y the two halves of the 128-bit product k₁·(key ⊕ k₀), added without carry, and random
// k₀ and odd k₁, k₂: the first product brings every digit of the key everywhere, and M and the second product break up the regularity that
// one product leaves. Two given keys have one u with a probability of about 2⁻⁶⁴. Tests compare it with the fully random law on runs, grids and other regular key sets. Pairwise independence
// would give the expected number of keys in a cell and no more; the number of odd cells of a run of keys is then far from
// what it is for a random function, so the families of package hashing that have a proof do not serve here. Whoever knows the
// Seed can choose keys that meet in one cell: this spoils an estimate, not the privacy of others.
type placement struct {
	k0, k1, k2, k3 uint64
	cells          uint64
	levels, stride int
}

func newPlacement(p Params) placement {
	first, second := p.Seed.Derive(1), p.Seed.Derive(2)
	half := func(s hashing.Seed, i int) uint64 { return binary.LittleEndian.Uint64(s[8*i:]) }
	return placement{
		k0: half(first, 0), k1: half(first, 1) | 1, k2: half(second, 0) | 1, k3: half(second, 1) | 1,
		cells: uint64(p.Cells), levels: p.Levels, stride: p.stride(),
	}
}

// hash returns u.
func (h *placement) hash(key uint64) uint64 {
	hi, lo := bits.Mul64(key^h.k0, h.k1)
	y := hi ^ lo
	return (y ^ y>>32) * h.k2
}

// bit returns where the bit of the cell of v at the level stands. level is in [0, levels).
func (h *placement) bit(level int, v uint64) (index int, mask uint64) {
	cell, _ := bits.Mul64(v, h.cells)
	return level*h.stride + int(cell>>6), 1 << (cell & 63)
}

// flip flips the bit of a key of weight 1.
func (h *placement) flip(table []uint64, key uint64) {
	u := h.hash(key)
	level := bits.LeadingZeros64(u)
	if level < h.levels {
		index, mask := h.bit(level, u<<(level&63)<<1)
		table[index] ^= mask
	}
}

// flipWeighted flips the bit of a key of weight w in (0, 1]. Below 1 the level tells more of u than its leading zeros, and v is
// another hash of it, the halves of u·k₃ added without carry.
func (h *placement) flipWeighted(table []uint64, key uint64, w float64) {
	if w == 1 {
		h.flip(table, key)
		return
	}
	u := h.hash(key)
	level := weightedLevel(u, w)
	if level >= 0 && level < h.levels {
		hi, lo := bits.Mul64(u, h.k3)
		index, mask := h.bit(level, hi^lo)
		table[index] ^= mask
	}
}

// weightedLevel returns the level of a key of weight w in (0, 1], the number of leading zeros of u for w = 1: the i with w/2^{i+1} < s ≤ w/2^i, negative if s > w.
//
// Written as s = x·2^{−a} and w = y·2^{−b} with x and y in [1, 2), s ≤ w/2^i if and only if a > b + i, or a = b + i and x ≤ y. So i
// is a − b if x ≤ y, else a − b − 1. x·2⁶³ and y·2⁶³ are integers, as w has 53 binary digits.
func weightedLevel(u uint64, w float64) int {
	frac, exp := math.Frexp(w) // w = frac·2^exp, frac in [½, 1)
	y, b := uint64(frac*0x1p64), 1-exp
	if u == math.MaxUint64 { // s = 1
		if w == 1 {
			return 0
		}
		return -1
	}
	a := bits.LeadingZeros64(u+1) + 1
	if (u+1)<<(a-1) <= y {
		return a - b
	}
	return a - b - 1
}

// validWeight returns the weight that counts: 1 for what is larger, and false for what is not a number above 0.
func validWeight(w float64) (float64, bool) { return min(w, 1), w > 0 }
