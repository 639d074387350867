package alp

import "github.com/dpsketch/dpsketch/noise"

// fill draws all cells as if they were empty, and leaves what is not a cell 0.
func (s *shape) fill(src *noise.Source, table []uint64) {
	if s.cellBits == 1 {
		noise.NewBernoulli(s.code.tail(0, 1)).Fill(src, table)
	} else {
		newSampler(&s.code).fill(src, table, s.cellBits)
	}
	all, used := s.words*s.wordCells, uint64(s.columns)*s.positions
	for first := uint64(0); first < s.blocks*all; first += all {
		s.clear(table, first+used, first+all)
		if s.mirrored(0) {
			s.mirror(table, first, first+uint64(s.half)*s.positions)
		}
	}
}

// clear sets the cells from … to−1 to 0.
func (g *geometry) clear(table []uint64, from, to uint64) {
	g.eachWord(from, to, func(word, mask uint64) { table[word] &^= mask })
}

// mirror replaces the outputs o of the cells from … to−1 by Q − 1 − o: all bits turn.
func (g *geometry) mirror(table []uint64, from, to uint64) {
	g.eachWord(from, to, func(word, mask uint64) { table[word] ^= mask })
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

// sampler draws from the law of an empty cell with 12 random bits, nearly always: guide tells the
// output where these decide it. Where they do not, 52 more do, so the law is exact in multiples of
// 2⁻⁶⁴.
type sampler struct {
	code  *code
	guide [1 << guideBits]uint16 // the output, or undecided
}

const (
	guideBits = 12
	guideMask = 1<<guideBits - 1
	guideRest = 64 - guideBits
	perRandom = 64 / guideBits // cells that a random word is for
	randoms   = 512            // words drawn at a time
	undecided = 1 << 15
)

func newSampler(c *code) *sampler {
	s := &sampler{code: c}
	output := c.levels - 1 // the output falls as the random word grows
	for i := range s.guide {
		for output > 0 && uint64(i)<<guideRest >= c.tail(0, output) {
			output--
		}
		s.guide[i] = uint16(output)
		if output > 0 && uint64(i+1)<<guideRest-1 >= c.tail(0, output) {
			s.guide[i] = undecided
		}
	}
	return s
}

// fill draws all cells of the table: a random word makes a few outputs, which go to the table one
// after the other.
func (s *sampler) fill(src *noise.Source, table []uint64, cellBits int) {
	random := make([]uint64, randoms)
	outputs := make([]uint16, randoms*perRandom)
	left := outputs[:0]
	cells, size := 64/cellBits, uint(cellBits)
	for i := range table {
		if len(left) < cells {
			n := copy(outputs, left)
			left = outputs[:n+s.draw(src, random, outputs[n:])]
		}
		word := uint64(0)
		for n, output := range left[:cells] {
			word |= uint64(output) << (uint(n) * size & 63)
		}
		table[i], left = word, left[cells:]
	}
	clear(random)
}

// draw sets as many outputs as fit, a multiple of perRandom, and returns how many.
func (s *sampler) draw(src *noise.Source, random []uint64, outputs []uint16) int {
	random = random[:len(outputs)/perRandom]
	src.Fill(random)
	for i, r := range random {
		out := (*[perRandom]uint16)(outputs[i*perRandom:])
		for n := range out {
			output := s.guide[r&guideMask]
			if output == undecided {
				output = uint16(s.code.output(0, r<<guideRest|src.Uint64()>>guideBits))
			}
			out[n] = output
			r >>= guideBits
		}
	}
	return len(random) * perRandom
}
