// Package place turns a key into two random-looking words: one that a sketch takes a level from,
// one that it takes a cell from. It has what the tables of such sketches have in common, too.
package place

import (
	"encoding/binary"
	"math/bits"
)

// Hash is a function from keys to pairs of words, chosen by public randomness.
//
// The words u and v are the upper and the lower half of the 128-bit product k₂·y, with y the two
// halves of k₁·(key ⊕ k₀) added without carry, and random k₀ and odd k₁ and k₂. The first product
// brings every digit of the key everywhere and the sum breaks up its regularity; of the second one
// the digits around the middle are used, which depend on all of y: the lowest of u and the highest
// of v. Tests of package kor compare levels and cells with the fully random law on runs, grids and
// other regular key sets; privacy never rests on it. Anyone who knows k₀, k₁ and k₂ can choose keys
// that collide.
type Hash struct{ K0, K1, K2 uint64 }

// New returns the Hash of two independent strings of 16 random bytes.
func New(first, second [16]byte) Hash {
	half := func(s [16]byte, i int) uint64 { return binary.LittleEndian.Uint64(s[8*i:]) }
	// so that u has all its digits
	return Hash{half(first, 0), half(first, 1) | 1, half(second, 0) | 1 | 1<<63}
}

// Words returns u and v.
func (h *Hash) Words(key uint64) (u, v uint64) {
	hi, lo := bits.Mul64(h.K1, key^h.K0)
	return bits.Mul64(h.K2, hi^lo)
}
