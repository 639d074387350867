package alp

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// The table is drawn as a row of words of 64 bits, and packed then: see [packed]. A cell
// takes log₂Q of them and does not straddle words; what is left over of a word is 0. Cells are
// counted from 0 through all words, ⌊64/log₂Q⌋ to a word; a block of b words begins with the cell
// b·⌊64/log₂Q⌋ times its number, and in it column j has the cells from j·positions on. The cells of
// a block behind the last column's are not used and are 0.
//
// Where an entry lies: let F be the fingerprint of its index. Blocked, the block is ⌊F·blocks/2⁶⁴⌋,
// and the place in column j is ⌊c·positions/2¹⁶⌋ for the 16 bits c number j mod 4 of a word mixed
// from F and ⌊j/4⌋. In a block of positions n, two entries meet in a column with a probability of
// at most 1/n + n/2³², and, as far as the mixing is good, in each column independently.
// Independent, as in the thesis, there is one block, and the places are those of a hashing.Range
// for each column: pairwise independent over the seed. Privacy rests on none of this.

// blockWords is a cache line. A block has as few lines as give each column minPositions.
const (
	blockWords   = 8
	minPositions = 32
)

// arrange lays the cells out.
func (g *geometry) arrange(p Params) error {
	g.cellBits = bits.Len(uint(p.Levels)) - 1
	g.wordCells = uint64(64 / g.cellBits)
	size := p.Bits * float64(p.Sparsity) // in bits
	if size/8 > maxTableBytes {
		return check.ParamsError("alp", "Sparsity", p.Sparsity, fmt.Sprintf("a table of at most %d bytes: %g bits for each entry would take %.0f bytes", int64(maxTableBytes), p.Bits, size/8))
	}
	cells, each := uint64(math.Ceil(p.cellsEach(g.width)*float64(p.Sparsity))), uint64(g.columns)
	if p.Independent {
		g.positions, g.blocks = max((cells+each-1)/each, 1), 1
		g.words = (g.positions*each + g.wordCells - 1) / g.wordCells
	} else {
		g.words = blockWords
		for g.words*g.wordCells < each*minPositions {
			g.words += blockWords
		}
		g.positions = g.words * g.wordCells / each
		used := g.positions * each
		g.blocks = max((cells+used-1)/used, 1)
	}
	if total := float64(g.blocks) * float64(g.words) * 8; total > maxTableBytes {
		return check.ParamsError("alp", "Columns", p.Columns, fmt.Sprintf("a table of at most %d bytes: this one would take %.0f bytes", int64(maxTableBytes), total))
	}
	return nil
}

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
		return s.locateApart(index, dst)
	}
	return s.locateTogether(hashing.Fingerprint(s.places, index), dst)
}

// locateTogether is locate for a fingerprint.
func (s *shape) locateTogether(f uint64, dst []uint64) []uint64 {
	first := s.block(f) * s.words * s.wordCells
	var chunks uint64
	for j := range s.columns {
		if j%4 == 0 {
			chunks = mixBits(f + uint64(j/4)*0x9e3779b97f4a7c15)
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

// word returns the word of a cell and where in it the cell begins. The quotient cell/wordCells is
// the upper half of a product with ⌊2⁶⁴/wordCells⌋ + 1, exact for cells below 2⁵⁸; a word of one
// cell would overflow it, but cells have at most 8 bits.
func (g *geometry) word(cell uint64) (word uint64, shift uint) {
	word, _ = bits.Mul64(cell, ^uint64(0)/g.wordCells+1)
	return word, uint(cell-word*g.wordCells) * uint(g.cellBits)
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

// eachWord calls f for the words of the cells from … to−1, with a mask of the cells' bits.
func (g *geometry) eachWord(from, to uint64, f func(word, mask uint64)) {
	for from < to {
		word, shift := g.word(from)
		n := min(to, (word+1)*g.wordCells) - from
		f(word, ^uint64(0)>>(64-n*uint64(g.cellBits))<<shift)
		from += n
	}
}

// fill draws all cells as if they were empty, and leaves what is not a cell 0.
func (s *shape) fill(src *noise.Source, table []uint64) {
	if s.cellBits == 1 {
		clear(table)
		noise.NewBernoulli(s.code.tail(0, 1)).Flip(src, table)
	} else {
		newSampler(&s.code).fill(src, table, s.cellBits)
	}
	all, used := s.words*s.wordCells, uint64(s.columns)*s.positions
	for first := uint64(0); first < s.blocks*all; first += all {
		s.eachWord(first+used, first+all, func(word, mask uint64) { table[word] &^= mask })
	}
}

// occupant is what an entry holds in a cell: from 1 to W.
type occupant struct {
	cell uint64
	size int
}

// occupy overwrites the cells that entries have something in by draws of their laws. Listed entries
// have nothing in the columns that they do not keep.
func (s *shape) occupy(src *noise.Source, table []uint64, entries []total, listed *directory) {
	if s.ranges != nil {
		s.occupyApart(src, table, entries, listed)
		return
	}
	order := make([]placed, len(entries))
	for i, e := range entries {
		order[i] = placed{hashing.Fingerprint(s.places, e.Key), e}
	}
	order = sortByHash(order, func(p *placed) uint64 { return p.fingerprint })
	var occupants []occupant
	var cells []uint64
	for i, e := range order {
		if i > 0 && s.block(e.fingerprint) != s.block(order[i-1].fingerprint) {
			s.draw(src, table, occupants)
			occupants = occupants[:0]
		}
		cells = s.locateTogether(e.fingerprint, cells[:0])
		first := s.firstColumn(listed, e.Key)
		for j, cell := range cells {
			if size := s.held(e.Steps, first, j); size > 0 {
				occupants = append(occupants, occupant{cell, size})
			}
		}
	}
	s.draw(src, table, occupants)
}

// placed is an entry with its fingerprint, which is another for each index, and grows with the
// block.
type placed struct {
	fingerprint uint64
	total
}

// draw draws each of the cells once, by the law for the largest of what is in it.
func (s *shape) draw(src *noise.Source, table []uint64, occupants []occupant) {
	slices.SortFunc(occupants, func(a, b occupant) int {
		return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(b.size, a.size))
	})
	for i, o := range occupants {
		if i > 0 && o.cell == occupants[i-1].cell {
			continue
		}
		s.set(table, o.cell, s.code.output(o.size, src.Uint64()))
	}
}

// held returns what an entry that keeps the columns from the first one outwards holds in a column.
func (s *shape) held(v int64, first, column int) int {
	if s.outer(column) < first {
		return 0
	}
	return s.size(v, column)
}

// size returns what an entry that keeps all columns holds in a column, from 0 to W.
func (s *shape) size(v int64, column int) int {
	if s.params.Signed {
		if negative := column < s.half; negative == (v >= 0) {
			return 0
		} else if negative {
			v, column = -v, s.half-1-column // the column next to 0 is the last of them
		} else {
			column -= s.half
		}
	}
	return int(min(max(s.point(v)-int64(column)*int64(s.width), 0), int64(s.width)))
}

// pack returns the table of cells that were drawn.
func (g *geometry) pack(table []uint64) packed {
	shown, size := make([]uint64, g.bitWords()), uint64(g.cellBits)
	lowest, first := uint64(0), uint64(0) // the lowest bit of each cell, and a word's first cell
	for i := range g.wordCells {
		lowest |= 1 << (i * size)
	}
	var values []uint8
	for _, word := range table {
		set := word // at the lowest bit of a cell: whether it has any
		for range size - 1 {
			set = set>>1 | word
		}
		for set &= lowest; set != 0; set &= set - 1 {
			at := uint64(bits.TrailingZeros64(set))
			cell := first + at/size
			shown[cell/64] |= 1 << (cell % 64)
			if size > 1 { // else all are alike
				values = append(values, uint8(word>>at&(1<<size-1))-1)
			}
		}
		first += g.wordCells
	}
	return g.layOut(shown, values)
}

// layOut returns the table of a bit for each cell and the values of those that are set, which a
// unary code does without. A line has as many words of bits as leave room for what it has on
// average and 1½ standard deviations more. It takes the memory of values.
func (g *geometry) layOut(shown []uint64, values []uint8) packed {
	t := packed{cells: g.blocks * g.blockCells(), valueBits: valueBits(1 << g.cellBits), lineBits: lineWords - 1}
	for t.valueBits > 0 {
		t.room = (lineWords - 1 - t.lineBits) * 64 / t.valueBits
		mean := float64(len(values)) / float64(len(shown)) * float64(t.lineBits)
		if t.lineBits == 2 || mean+1.5*math.Sqrt(mean) <= float64(t.room) {
			break
		}
		t.lineBits--
	}
	t.inverse = ^uint64(0)/t.lineBits + 1
	t.lines = make([][lineWords]uint64, 0, uint64(len(shown))/t.lineBits+1)
	rest := values[:0]
	for part := range slices.Chunk(shown, int(t.lineBits)) {
		line, inside := [lineWords]uint64{uint64(len(rest)) << 27}, uint64(0)
		for w, word := range part {
			if w == 2 || w == 4 || w == 6 {
				line[0] |= inside << (27 - 9*w/2)
			}
			line[1+w] = word
			inside += uint64(bits.OnesCount64(word))
		}
		own := values[:min(inside, uint64(len(values)))]
		kept := min(t.room, uint64(len(own)))
		for i, value := range own[:kept] {
			at := (1+t.lineBits)*64 + uint64(i)*t.valueBits
			line[at/64%lineWords] |= uint64(value) << (at % 64)
			if at%64+t.valueBits > 64 {
				line[at/64+1] |= uint64(value) >> (64 - at%64)
			}
		}
		t.lines, rest, values = append(t.lines, line), append(rest, own[kept:]...), values[len(own):]
	}
	t.rest = make([]uint8, len(rest)+1) // one more for what value reads of cells that have none
	copy(t.rest, rest)
	return t
}

// canonical reports whether there is no other way to write the table: cells that are not used show
// 0, and all outputs are levels.
func (g *geometry) canonical(t *packed) bool {
	ok := true
	t.each(func(cell uint64, output uint8) {
		ok = ok && cell < t.cells && g.column(cell) < g.columns && output > 0 && int(output) < 1<<g.cellBits
	})
	return ok
}
