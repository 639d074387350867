// Package sets is what kor and kor/distinct share: the function that takes a key to its level and
// its cell, tables of bits, and the estimated sizes that the two hand to one another.
package sets

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
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

// NewHash returns the Hash of two independent strings of 16 random bytes.
func NewHash(first, second [16]byte) Hash {
	half := func(s [16]byte, i int) uint64 { return binary.LittleEndian.Uint64(s[8*i:]) }
	// so that u has all its digits
	return Hash{half(first, 0), half(first, 1) | 1, half(second, 0) | 1 | 1<<63}
}

// Word returns the 64 bits that stand for a key: of an integer its value, so that it is one key in
// whatever way it comes, of others the fingerprint.
func Word[K hashing.Key](seed hashing.Seed, key K) uint64 {
	if text, ok := any(key).(string); ok { // the usual type, without a look at its kind
		return hashing.Fingerprint(seed, text)
	}
	if keys := wire.KeysOf[K](); keys.Integers() {
		return keys.Bits(key)
	}
	return hashing.Fingerprint(seed, key)
}

// Words returns u and v.
func (h *Hash) Words(key uint64) (u, v uint64) {
	hi, lo := bits.Mul64(h.K1, key^h.K0)
	return bits.Mul64(h.K2, hi^lo)
}

// This file has what tables of bits have in common. Each level begins with a new word, and the bits
// behind its cells are 0.

// Stride returns the number of words of a level.
func Stride(cells int) int { return int((uint64(cells) + 63) / 64) }

// lastWord returns the bits of the last word of a level that are cells.
func lastWord(cells int) uint64 { return ^uint64(0) >> (uint(-cells) % 64) }

// ClearPadding sets the bits behind the cells of each level to 0.
func ClearPadding(table []uint64, cells int) {
	for last := Stride(cells) - 1; last < len(table); last += Stride(cells) {
		table[last] &= lastWord(cells)
	}
}

// PaddingOnes returns the number of ones behind the cells of all levels.
func PaddingOnes(table []uint64, cells int) (ones int) {
	for last := Stride(cells) - 1; last < len(table); last += Stride(cells) {
		ones += bits.OnesCount64(table[last] &^ lastWord(cells))
	}
	return ones
}

// Or adds the ones of b, which has the same length, to a.
func Or(a, b []uint64) {
	b = b[:len(a)]
	for i := range a {
		a[i] |= b[i]
	}
}

// AppendTable appends the words, little-endian.
func AppendTable(dst []byte, words []uint64) []byte {
	dst = slices.Grow(dst, 8*len(words))
	for _, word := range words {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// ReadTable reads a table. It fails if there are fewer bytes, or ones behind the cells of a level.
func ReadTable(r *wire.Reader, words uint64, cells int) []uint64 {
	if r.Err() == nil && uint64(r.Remaining()) < 8*words {
		r.Fail("fewer bits than the Params say")
	}
	if r.Err() != nil {
		return nil
	}
	table := make([]uint64, words)
	for i := range table {
		table[i] = r.Uint64()
	}
	if PaddingOnes(table, cells) != 0 {
		r.Fail("ones behind the cells of a level")
	}
	return table
}
