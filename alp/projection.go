package alp

import (
	"fmt"
	"math/bits"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

// Projection is a released vector: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget.
type Projection struct {
	shape   shape
	table   []uint64                  // the cells: see layout.go
	list    *threshold.Vector[uint64] // of the large entries, in units of φ₁; nil if there is none
	decoder *decoder                  // nil for a Projection that was neither released nor decoded
}

// Params returns the parameters of the release, filled in: see [Params.Resolved]. Sparsity is what
// was estimated, if it was unknown.
func (p *Projection) Params() Params { return p.shape.params }

// Guarantee returns the guarantee of the release. A Projection that was neither released nor
// decoded promises nothing.
func (p *Projection) Guarantee() budget.Guarantee {
	if p.decoder == nil {
		return budget.Guarantee{}
	}
	return p.shape.params.promise()
}

// String says what was released under which guarantee.
func (p *Projection) String() string {
	if p.decoder == nil {
		return "alp.Projection (not released)"
	}
	g := &p.shape.geometry
	text := fmt.Sprintf("alp.Projection: %d columns of %d cells of %d bits", g.columns, g.cells(), g.cellBits)
	if p.list != nil {
		text += fmt.Sprintf(" and %d listed keys", p.list.Len())
	}
	return text + ", " + p.Guarantee().String()
}

// cells appends what the cells of an index show to dst, one for each column.
func (p *Projection) cells(index uint64, dst []uint8) []uint8 {
	var buffer [64]uint64
	for _, cell := range p.shape.locate(index, buffer[:0]) {
		dst = append(dst, p.shape.at(p.table, cell))
	}
	return dst
}

// histogram returns for each column how often each output occurs over all its cells.
func (p *Projection) histogram() [][]uint64 {
	g := &p.shape.geometry
	counts := make([][]uint64, g.columns)
	for j := range counts {
		counts[j] = make([]uint64, p.shape.code.levels)
	}
	for block := range g.blocks {
		first := block * g.words * g.wordCells
		for _, count := range counts {
			g.eachWord(first, first+g.positions, func(word, mask uint64) { g.tally(p.table[word], mask, count) })
			first += g.positions
		}
	}
	return counts
}

// tally counts the outputs of the cells of a word that the mask covers.
func (g *geometry) tally(word, mask uint64, counts []uint64) {
	if g.cellBits == 1 {
		ones := uint64(bits.OnesCount64(word & mask))
		counts[1] += ones
		counts[0] += uint64(bits.OnesCount64(mask)) - ones
		return
	}
	size := uint(g.cellBits) & 63
	word >>= bits.TrailingZeros64(mask)
	for cells := bits.OnesCount64(mask) / g.cellBits; cells > 0; cells-- {
		counts[word&(1<<size-1)]++
		word >>= size
	}
}
