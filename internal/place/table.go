package place

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file has what tables of bits have in common. Each level begins with a new word, and the bits
// behind its cells are 0.

// Stride returns the number of words of a level.
func Stride(cells int) int { return int((uint64(cells) + 63) / 64) }

// lastWord returns the bits of the last word of a level that are cells.
func lastWord(cells int) uint64 { return ^uint64(0) >> (uint(-cells) % 64) }

// Clear sets the bits behind the cells of each level to 0.
func Clear(table []uint64, cells int) {
	for last := Stride(cells) - 1; last < len(table); last += Stride(cells) {
		table[last] &= lastWord(cells)
	}
}

// Behind returns the number of ones behind the cells of all levels.
func Behind(table []uint64, cells int) (ones int) {
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

// Append appends the words, little-endian.
func Append(dst []byte, words []uint64) []byte {
	dst = slices.Grow(dst, 8*len(words))
	for _, word := range words {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// Read reads a table. It fails if there are fewer bytes, or ones behind the cells of a level.
func Read(r *wire.Reader, words uint64, cells int) []uint64 {
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
	if Behind(table, cells) != 0 {
		r.Fail("ones behind the cells of a level")
	}
	return table
}
