package alp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
)

// geometry is the sizes of a release. They follow from the resolved Params by additions, products,
// quotients and roundings alone, so they are the same on every machine.
type geometry struct {
	step float64 // the grid, in the units of the data: a power of two
	// values are rounded to the grid at random; else they are integers, and step is 1
	mixed   bool
	width   int   // W, points of the columns' axis in a column
	half    int   // m, columns for one sign
	columns int   // all columns: m, or 2m if Signed. Then the first m are for negative values
	turn    int64 // X, where the columns end, in steps of the value
	limit   int64 // totals are clamped to ±limit, in steps

	hasList    bool
	slopeBelow int64 // φ₁ of a step of the value below X …
	slopeAbove int64 // … and above it

	cellBits  int    // log₂ of the levels
	wordCells uint64 // cells in a word: ⌊64/cellBits⌋
	positions uint64 // cells of a column in a block
	blocks    uint64 // 1 for the independent layout
	words     uint64 // words of a block
}

// shape is all numbers of a release: what the Params say, without any data.
type shape struct {
	geometry
	params  Params // resolved
	decay   uint64 // of the columns: 2⁶⁴·e^{−η} for one step
	code    code
	logAxis *logAxis // nil for a linear one
	list    sparse.Params
	ranges  []hashing.Range // of the independent layout
	places  hashing.Seed    // of the cells in a block
}

// The limits of what New and a decoder allocate and compute. All but the table takes less than
// 48 MiB in total, so that a decoder of n bytes allocates at most max(64 MiB, 8n): see
// TestDecodeAllocatesLittle.
const (
	maxTableBytes = min(1<<34, math.MaxInt/2)
	maxWidth      = 1 << 20 // W: a code takes up to 2W words
	maxLaw        = 1 << 23 // W·Q: probabilities that New checks
	maxAxis       = 1 << 21 // m·W on a logarithmic axis: words of its table
	maxOutputs    = 1 << 15 // m·Q: outputs of all columns of a sign
)

// plannedSparsity stands for an unknown Sparsity before the data are seen.
const plannedSparsity = 1000

// shape returns the numbers of a release. It takes up to some milliseconds, for the distribution of
// the cells.
func (p Params) shape() (shape, error) {
	p, err := p.resolved()
	if err == nil && p.estimates() {
		p, err = p.withSparsity(plannedSparsity)
	}
	if err != nil {
		return shape{}, err
	}
	return p.resolvedShape()
}

// resolvedShape is shape for resolved Params.
func (p Params) resolvedShape() (s shape, err error) {
	if s.geometry, err = p.geometry(); err != nil {
		return shape{}, err
	}
	s.params = p
	eta := p.columnEta()
	s.decay = decayOf(eta)
	if s.code, err = p.code(s.width, s.decay); err != nil {
		return shape{}, err
	}
	if p.Base > 0 {
		s.logAxis = newLogAxis(p.knee(s.step), s.width*s.half)
	}
	if s.hasList {
		s.list = p.listParams()
	}
	s.hash()
	return s, nil
}

// code returns the distribution of a cell, and keeps those of moderate size, of which a service
// makes the same ones again and again.
func (p Params) code(width int, decay uint64) (code, error) {
	compute := func() (code, error) {
		var c code
		if p.Linear {
			c = linearCode(width, decay)
		} else {
			c = columnCode(width, p.Levels, decay)
		}
		if _, _, found := c.violation(decay); found {
			// never, by the proofs that stand with the codes; checked all the same
			return code{}, check.ParamsError("alp", "Alpha", p.Alpha, "another width: the law of a cell breaks its bound")
		}
		return c, nil
	}
	if width > maxKept {
		return compute()
	}
	return codes.Get(codeKey{width, p.Levels, decay, p.Linear}, compute)
}

type codeKey struct {
	width, levels int
	decay         uint64
	linear        bool
}

// codes are those that were computed: of columns up to maxKept, so at most 32 MiB.
var codes memo.Table[codeKey, code]

const maxKept = 1 << 15

// geometry computes the sizes from resolved Params.
func (p Params) geometry() (g geometry, err error) {
	g.step, g.mixed = p.grid()
	g.width, g.half = p.columnWidth(), p.Columns
	g.columns = g.half
	if p.Signed {
		g.columns *= 2
	}
	g.hasList = p.Structure != ColumnsOnly
	g.limit = maxTotal
	if p.Max > 0 {
		g.limit = int64(min(math.Ceil(p.Max/g.step), maxTotal))
	}
	g.turn = g.limit
	if g.hasList {
		g.turn = int64(min(math.Round(p.Turn/g.step), maxTotal))
		g.slopeBelow, g.slopeAbove = p.split()
		if p.Structure == Composition {
			g.slopeAbove = g.slopeBelow
		}
	}
	if g.width > maxWidth || g.width*p.Levels > maxLaw {
		return geometry{}, check.ParamsError("alp", "Alpha", p.Alpha, fmt.Sprintf("columns of at most 2²⁰ steps, and 2²³/Levels: these have %d", g.width))
	}
	if steps := uint64(g.width) * uint64(p.Columns); p.Base > 0 && steps > maxAxis {
		return geometry{}, check.ParamsError("alp", "Base", p.Base, fmt.Sprintf("a larger base or a shorter range: the logarithmic axis would take %d bytes", 8*steps))
	}
	if p.Columns*p.Levels > maxOutputs {
		return geometry{}, check.ParamsError("alp", "Columns", p.Columns, fmt.Sprintf("at most 2¹⁵/Levels = %d: reading a release takes tables for each output of each column", maxOutputs/p.Levels))
	}
	return g, g.arrange(p)
}

// cells returns the number of cells of one column.
func (g *geometry) cells() uint64 { return g.blocks * g.positions }

// axisReach returns the length of the columns' axis, in its points.
func (p Params) axisReach(step float64) float64 {
	turn := p.Turn
	if p.Structure == ColumnsOnly {
		turn = p.Max
	}
	steps := math.Ceil(turn / step)
	if p.Base > 0 {
		return math.Ceil(p.onAxis(steps, step))
	}
	return steps
}

// reach returns where the columns' axis ends, in its points.
func (s *shape) reach() int64 { return s.point(s.turn) }

// point returns where the columns' axis shows a value of v ≥ 0 steps: at v itself, if it is linear.
// A step of v moves it by one point, or by none.
func (s *shape) point(v int64) int64 {
	v = min(v, s.turn)
	if s.logAxis != nil {
		return s.logAxis.point(v)
	}
	return v
}

// valueAt returns the value, in steps, that the axis shows at point u, beyond the end of the
// columns included.
func (s *shape) valueAt(u float64) float64 {
	end := float64(s.half) * float64(s.width)
	switch {
	case u > end:
		return float64(s.turn) + u - end
	case s.logAxis == nil:
		return min(u, float64(s.turn))
	}
	low := int(u)
	if low+1 >= len(s.logAxis.from) {
		return min(float64(s.logAxis.from[len(s.logAxis.from)-1]), float64(s.turn))
	}
	a, b := float64(s.logAxis.from[low]), float64(s.logAxis.from[low+1])
	return min(a+(u-float64(low))*(b-a), float64(s.turn))
}

// inUnits returns a number of steps in units of the data, clamped to ±Max, and rounded if the
// values are integers.
func (s *shape) inUnits(steps float64) float64 {
	v := steps * s.step
	if s.params.Max > 0 {
		v = max(min(v, s.params.Max), -s.params.Max)
	}
	if s.params.Integers {
		v = math.Round(v)
	}
	return v
}

// cellsEach returns how many cells there are for an entry, such that it takes Bits on average: a
// bit for each cell, a value for those that noise alone lifts above output 0, and one for those
// that it has itself, at uniform values half of its columns. It has nothing of the data, and is
// made of products, quotients and sums alone: see [geometry].
func (p Params) cellsEach(width int) float64 {
	size := float64(valueBits(p.Levels))
	// e^{−τ/b}, about, of the lowest threshold
	lifted := 1 - min((float64(width)/2+float64(middle(width, p.Levels, 1)))*p.columnShare()*p.kappa(), 512)/1024
	for range 10 {
		lifted *= lifted
	}
	lifted /= 2
	return max(p.Bits/(1+size), (p.Bits-size*(1-lifted)*float64(p.Columns+1)/2)/(1+size*lifted))
}

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

// print returns what places an index: its fingerprint, or where columns are independent the index.
func (s *shape) print(index uint64) uint64 {
	if s.ranges != nil {
		return index
	}
	return hashing.Fingerprint(s.places, index)
}

// locate appends the numbers of the cells of an index, one for each column, to dst.
func (s *shape) locate(index uint64, dst []uint64) []uint64 { return s.cellsOf(s.print(index), dst) }

// cellsOf is locate for what print returned.
func (s *shape) cellsOf(print uint64, dst []uint64) []uint64 {
	if s.ranges != nil {
		return s.independentCells(print, dst)
	}
	first := s.block(print) * s.blockCells()
	var chunks uint64
	for j := range s.columns {
		if j%4 == 0 {
			chunks = mixBits(print + uint64(j/4)*0x9e3779b97f4a7c15)
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

// column returns the column of a cell, or columns if the cell is not used.
func (g *geometry) column(cell uint64) int {
	if g.positions == g.blockCells() {
		return 0
	}
	return int(min(cell%(g.words*g.wordCells)/g.positions, uint64(g.columns)))
}

// occupant is an entry that keeps some columns.
type occupant struct {
	print uint64 // see shape.print
	steps int64
	first int // the first column that it keeps, counted outwards
}

// eachOccupant calls f for the entries that the list leaves some columns, in their order. Entries
// and list are sorted by index.
func (s *shape) eachOccupant(entries, list []total, f func(o occupant)) {
	for _, e := range entries {
		for len(list) > 0 && list[0].Key < e.Key {
			list = list[1:]
		}
		first := 0
		if len(list) > 0 && list[0].Key == e.Key {
			first = s.kept(list[0].Steps)
		}
		if first < s.half {
			f(occupant{s.print(e.Key), e.Steps, first})
		}
	}
}

// A region is a run of blocks that is drawn at once, in the caches: up to 2^regionBits cells, and a
// number of blocks that is a power of two and at least 8, so that a region fills whole words of 64
// bits. Independent columns are one region.
const regionBits = 17

// regions returns how many regions there are, and the logarithm of the blocks of one.
func (g *geometry) regions() (n int, shift uint) {
	if g.blocks == 1 {
		return 1, 3
	}
	shift = uint(max(regionBits-bits.Len64(g.blockCells()), 3))
	return int((g.blocks-1)>>shift) + 1, shift
}

// byRegion returns the occupants of each region, in their order.
func (s *shape) byRegion(entries, list []total) [][]occupant {
	n, shift := s.regions()
	ends := make([]int, n)
	s.eachOccupant(entries, list, func(o occupant) { ends[s.block(o.print)>>shift]++ })
	for r := range n - 1 {
		ends[r+1] += ends[r]
	}
	sorted, parts, start := make([]occupant, ends[n-1]), make([][]occupant, n), 0
	for r, end := range ends {
		parts[r], ends[r], start = sorted[start:end], start, end
	}
	s.eachOccupant(entries, list, func(o occupant) {
		next := &ends[s.block(o.print)>>shift]
		sorted[*next] = o
		*next++
	})
	return parts
}

// draw draws the table of entries that are sorted by index, given the list: each cell once, by the
// distribution for the largest of what is in it.
func (s *shape) draw(src *noise.Source, entries, list []total) packed {
	parts := s.byRegion(entries, list)
	shown, empty := make([]uint64, s.bitWords()), newSampler(&s.code, 64*s.bitWords())
	_, shift := s.regions()
	words := int(s.blockCells() << shift / 64)
	var r region
	var values []uint8
	for i, occupants := range parts {
		end := len(shown)
		if i+1 < len(parts) {
			end = (i + 1) * words
		}
		r.reset(shown[i*words:end], uint64(i)*uint64(words)*64)
		empty.fill(src, &r)
		s.clearUnused(&r)
		s.occupy(src, &r, occupants)
		if s.cellBits > 1 { // else all are alike
			values = r.appendValues(values)
		}
	}
	return s.layOut(shown, values)
}

// region is what the cells of a region show, while it is drawn.
type region struct {
	first   uint64   // its first cell
	shown   []uint64 // a bit for each cell, whether it shows another output than 0 …
	outputs []uint8  // … and that output
	held    []uint32 // the largest that an entry has in the cell, until the cell is drawn
}

// reset makes r the region that begins with a cell and has the given bits.
func (r *region) reset(shown []uint64, first uint64) {
	r.first, r.shown = first, shown
	if n := 64 * len(shown); len(r.outputs) < n {
		r.outputs, r.held = make([]uint8, n), make([]uint32, n)
	}
}

// appendValues appends the outputs other than 0, in order, less one.
func (r *region) appendValues(dst []uint8) []uint8 {
	for w, word := range r.shown {
		for outputs := r.outputs[64*w:]; word != 0; word &= word - 1 {
			dst = append(dst, outputs[bits.TrailingZeros64(word)]-1)
		}
	}
	return dst
}

// clearUnused clears the cells behind the last column's of each block, and behind the last block.
func (s *shape) clearUnused(r *region) {
	all, used, end := s.blockCells(), uint64(s.columns)*s.positions, uint64(64*len(r.shown))
	last := min(s.blocks*all-r.first, end)
	none := func(from, to uint64) {
		for cell := from; cell < to; cell++ {
			r.shown[cell/64] &^= 1 << (cell % 64)
		}
	}
	for first := uint64(0); first < last; first += all {
		none(first+used, first+all)
	}
	none(last, end)
}

// occupy draws the cells that entries have something in.
func (s *shape) occupy(src *noise.Source, r *region, occupants []occupant) {
	var buffer [fewColumns]uint64
	for _, o := range occupants {
		for j, cell := range s.cellsOf(o.print, buffer[:0]) {
			held := &r.held[cell-r.first]
			*held = max(*held, uint32(s.held(o.steps, o.first, j)))
		}
	}
	for _, o := range occupants {
		for _, cell := range s.cellsOf(o.print, buffer[:0]) {
			cell -= r.first
			if size := r.held[cell]; size > 0 {
				output := s.code.output(int(size), src.Uint64())
				r.held[cell], r.outputs[cell] = 0, output
				r.shown[cell/64] &^= 1 << (cell % 64)
				r.shown[cell/64] |= min(uint64(output), 1) << (cell % 64)
			}
		}
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
