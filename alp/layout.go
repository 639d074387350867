package alp

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
)

// The table is a row of words of 64 bits. A cell takes log₂Q of them and does not straddle words;
// what is left over of a word is 0. Cells are counted from 0 through all words, ⌊64/log₂Q⌋ to a
// word; a block of b words begins with the cell b·⌊64/log₂Q⌋ times its number, and in it column j
// has the cells from j·positions on. The cells of a block behind the last column's are not used and
// are 0.
//
// Where an entry lies: let F be the fingerprint of its index. Blocked, the block is ⌊F·blocks/2⁶⁴⌋,
// and the place in column j is ⌊c·positions/2¹⁶⌋ for the 16 bits c number j mod 4 of a word mixed
// from F and ⌊j/4⌋. In a block of positions n, two entries meet in a column with a probability of
// at most 1/n + n/2³², and, as far as the mixing is good, in each column independently.
// Independent, as in the thesis, there is one block, and the places are those of a hashing.Range
// for each column: pairwise independent over the seed. Privacy rests on none of this.

// hash prepares the hash functions.
func (s *shape) hash() {
	seed := s.params.Seed
	s.places = seed
	if !s.params.Independent {
		return
	}
	s.ranges = make([]hashing.Range, s.columns)
	for j := range s.ranges {
		s.ranges[j], _ = hashing.NewRange(seed.Derive(uint64(j)), s.positions) // positions ≥ 1
	}
}

// locate appends the numbers of the cells of an index, one for each column, to dst.
func (s *shape) locate(index uint64, dst []uint64) []uint64 {
	if s.ranges != nil {
		for j := range s.ranges {
			dst = append(dst, uint64(j)*s.positions+s.ranges[j].Hash(index))
		}
		return dst
	}
	f := hashing.Fingerprint(s.places, index)
	first := s.block(f) * s.words * s.wordCells
	var chunks uint64
	for j := range s.columns {
		if j%4 == 0 {
			chunks = mix(f + uint64(j/4)*0x9e3779b97f4a7c15)
		}
		dst = append(dst, first+(chunks&0xffff)*s.positions>>16)
		chunks >>= 16
		first += s.positions
	}
	return dst
}

// block returns the block of a fingerprint. It grows with the fingerprint.
func (g *geometry) block(f uint64) uint64 {
	b, _ := bits.Mul64(f, g.blocks)
	return b
}

// mix is a permutation in which every bit depends on all: the finaliser of SplitMix64 (Steele, Lea,
// Flood, OOPSLA 2014; variant 13 of Stafford).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// word returns the word of a cell and where in it the cell begins. The quotient cell/wordCells is
// the upper half of a product with ⌊2⁶⁴/wordCells⌋ + 1, exact for cells below 2⁵⁸; a word of one
// cell would overflow it, but cells have at most 8 bits.
func (g *geometry) word(cell uint64) (word uint64, shift uint) {
	word, _ = bits.Mul64(cell, ^uint64(0)/g.wordCells+1)
	return word, uint(cell-word*g.wordCells) * uint(g.cellBits)
}

// at returns what a cell shows.
func (g *geometry) at(table []uint64, cell uint64) uint8 {
	word, shift := g.word(cell)
	return uint8(table[word] >> shift & (1<<g.cellBits - 1))
}

// set sets what a cell shows.
func (g *geometry) set(table []uint64, cell uint64, output uint8) {
	word, shift := g.word(cell)
	table[word] = table[word]&^((1<<g.cellBits-1)<<shift) | uint64(output)<<shift
}

// column returns the column of a cell, or columns if the cell is not used.
func (g *geometry) column(cell uint64) int {
	return int(min(cell%(g.words*g.wordCells)/g.positions, uint64(g.columns)))
}

// mirrored reports whether a column shows its outputs mirrored, Q − 1 − o for o: those for negative
// values, if all columns are one axis.
func (s *shape) mirrored(column int) bool {
	return s.params.Signed && !s.params.TwoVectors && column < s.half
}
