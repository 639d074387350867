package alp

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Projection is a released vector: public, immutable, safe for concurrent readers. All that it
// computes is post-processing. The zero Projection promises nothing, estimates NaN and has no
// encoding.
type Projection struct {
	shape   shape
	table   packed                 // the cells: see [packed]
	list    *sparse.Vector[uint64] // of the large entries, in units of φ₁; nil if there is none
	keys    *directory             // the values of the list by index
	decoder *decoder               // nil for a Projection that was neither released nor decoded
}

// Params returns the parameters of the release, filled in.
func (p *Projection) Params() Params { return p.shape.params }

// Guarantee returns the guarantee of the release.
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

// fewColumns is how many columns Estimate needs no memory for.
const fewColumns = 64

// Estimate returns an entry in the units of the data: its median under the [Prior], given its cells
// and its value in the list or its absence from it; 0 outside Dim.
//
// It does not allocate, unless there are more than 64 columns. A listed entry whose cells also
// count takes about a microsecond the first time.
func (p *Projection) Estimate(index uint64) float64 {
	d := p.decoder
	if d == nil {
		return math.NaN()
	}
	if dim := p.shape.params.Dim; dim > 0 && index >= dim {
		return 0
	}
	if at := p.keys.position(index); at >= 0 {
		return p.estimateListed(index, at)
	}
	if d.direct != nil {
		return d.direct.estimates[d.direct.key(index)]
	}
	return p.estimate(index, 0)
}

// Estimates sets dst[i] to Estimate(indices[i]) and returns dst, in new memory if dst is too short.
// In tables larger than the caches it takes about a third of the time.
func (p *Projection) Estimates(indices []uint64, dst []float64) []float64 {
	dst = slices.Grow(dst[:0], len(indices))[:len(indices)]
	for i := 0; i < len(indices); i += batchSize {
		part := indices[i:min(i+batchSize, len(indices))]
		if p.decoder == nil || p.decoder.direct == nil || p.shape.params.Dim > 0 {
			for k, index := range part {
				dst[i+k] = p.Estimate(index)
			}
		} else {
			p.decoder.direct.estimate(p, part, dst[i:])
		}
	}
	return dst
}

// estimateListed is Estimate for a listed index and its place among the keys. No prior changes what
// it returns, so it is computed once.
func (p *Projection) estimateListed(index uint64, at int) float64 {
	slot := p.keys.slot(at)
	known := atomic.LoadUint64(&slot.Known)
	if known == 0 {
		known = math.Float64bits(p.estimate(index, slot.Value))
		atomic.StoreUint64(&slot.Known, known)
	}
	return math.Float64frombits(known)
}

// estimate is Estimate for an index within Dim and its value in the list.
func (p *Projection) estimate(index uint64, value float64) float64 {
	d := p.decoder
	if value != 0 && d.list.plain(value) {
		return p.shape.inUnits(p.shape.unphi(value))
	}
	var buffer [fewColumns]uint8
	positive, negative, _ := p.read(index, buffer[:0])
	return p.shape.inUnits(d.median(positive, negative, value, d.odds))
}

// read returns what the cells of an index show, for both sides, and false for one outside Dim.
func (p *Projection) read(index uint64, buffer []uint8) (positive, negative []uint8, ok bool) {
	if dim := p.shape.params.Dim; p.decoder == nil || dim > 0 && index >= dim {
		return nil, nil, false
	}
	positive, negative = p.shape.bothSides(p.outputs(index, buffer))
	return positive, negative, true
}

// listed returns the values of the list by index, in units of φ₁; of none without a list.
func listed(list *sparse.Vector[uint64]) *directory {
	if list == nil {
		return new(directory)
	}
	slots := make([]directorySlot, 0, list.Len())
	for index, value := range list.All() {
		slots = append(slots, directorySlot{Index: index, Value: value})
	}
	return newDirectory(slots)
}

// outputs appends what the cells of an index show to dst, one for each column.
func (p *Projection) outputs(index uint64, dst []uint8) []uint8 {
	var buffer [fewColumns]uint64
	for _, cell := range p.shape.locate(index, slices.Grow(buffer[:0], p.shape.columns)) {
		dst = append(dst, p.table.at(cell))
	}
	return dst
}

// Prior is what decoding assumes about an entry before its cells are read. It costs no budget.
//
// An entry is 0 with probability Zero. Otherwise, with probability Learned, its value has the
// distribution of the entries of this release, as learned from the table and made non-increasing;
// else it is uniform on the columns' axis. The learned distribution gives the end of the axis,
// where entries may have been clamped, at most the probability that the uniform one gives a length
// of Δ/ε. With too few entries it is uniform.
type Prior struct {
	// Zero is in [0, 1), ½ in a new release. With 0 non-zero entries have up to a
	// tenth less error, and zeros far more.
	Zero float64
	// Learned is in [0, 1], ½ in a new release.
	Learned float64
}

// defaultPrior is that of a new release: an entry is 0 with probability ½, and else like the
// entries of the release with probability ½.
var defaultPrior = Prior{Zero: 0.5, Learned: 0.5}

// WithPrior returns the same release under another prior. The error wraps [ErrParams].
func (p *Projection) WithPrior(prior Prior) (*Projection, error) {
	switch {
	case !(prior.Zero >= 0 && prior.Zero < 1):
		return nil, check.ParamsError("alp", "Zero", prior.Zero, "a number in [0, 1)")
	case !(prior.Learned >= 0 && prior.Learned <= 1):
		return nil, check.ParamsError("alp", "Learned", prior.Learned, "a number in [0, 1]")
	}
	q := *p
	if p.decoder != nil {
		q.decoder = p.decoder.under(Prior{prior.Zero + 0, prior.Learned + 0})
	}
	return &q, nil
}

// Prior returns the prior that estimates use.
func (p *Projection) Prior() Prior {
	if p.decoder == nil {
		return Prior{}
	}
	return p.decoder.prior
}

// packed is a table as it is kept. Most cells show output 0, also those of entries that are in
// other columns: a bit for each cell says which do not, and these have their outputs, less one, of
// ⌈log₂(Q−1)⌉ bits each, none for a unary code. Bits and outputs lie together in cache lines, so
// that a look-up waits for memory once: a head, words of bits, and in the words behind them the
// outputs of their cells, as many as have room. The others are in rest. The head says how many are
// in rest before this line's and, in its lower 27 bits, how many outputs of the line precede its
// words of bits 2, 4 and 6, 9 bits each.
type packed struct {
	cells     uint64
	valueBits uint64
	lineBits  uint64 // words of bits in a line, from 2 to 7
	inverse   uint64 // 2⁶⁴/lineBits, upwards
	room      uint64 // of a line, in outputs
	lines     [][lineWords]uint64
	rest      []uint8
}

const lineWords = 8

// valueBits returns how many bits an output other than 0 takes.
func valueBits(levels int) uint64 { return uint64(bits.Len(uint(levels - 2))) }

// blockCells returns the number of cells of a block, those that are not used included.
func (g *geometry) blockCells() uint64 { return g.words * g.wordCells }

// bitWords returns the number of words of bits.
func (g *geometry) bitWords() uint64 { return (g.blocks*g.blockCells() + 63) / 64 }

// line returns the line of a cell and its place in there. The quotient of the cell's word and
// lineBits is the upper half of a product, which is exact for words below 2⁶⁰.
func (t *packed) line(cell uint64) (line *[lineWords]uint64, place uint64) {
	i, _ := bits.Mul64(cell/64, t.inverse)
	return &t.lines[i], cell - i*t.lineBits*64
}

// at returns what a cell shows. It does not branch on the bits: a mispredicted branch would keep
// the processor from reading several lines at once.
func (t *packed) at(cell uint64) uint8 {
	line, place := t.line(cell)
	w, bit := place/64, place%64
	word, pair := line[(1+w)%lineWords], line[(1+w&^1)%lineWords]
	before := line[0] & (1<<27 - 1) >> (27 - 9*(w/2)&63) & 511
	before += uint64(bits.OnesCount64(pair&-(w&1)) + bits.OnesCount64(word&(1<<bit-1)))
	return (t.value(line, before) + 1) & uint8(-(word >> bit & 1))
}

// value returns the i-th value of a line, anything if it has no more than i. It does not branch on
// the place either.
func (t *packed) value(line *[lineWords]uint64, i uint64) uint8 {
	inside := uint64(int64(i-t.room) >> 63) // all ones if the line has it, else 0
	spilled := t.rest[min(line[0]>>27+i-t.room|inside, uint64(len(t.rest)-1))]
	at := (1+t.lineBits)*64 + i*t.valueBits
	own := uint8(line[at/64%lineWords]>>(at%64)|line[(at/64+1)%lineWords]<<(64-at%64)) & (1<<t.valueBits - 1)
	return spilled ^ (spilled^own)&uint8(inside)
}

// each calls f for the cells that show another output than 0, in order.
func (t *packed) each(f func(cell uint64, output uint8)) {
	for l := range t.lines {
		line, i := &t.lines[l], uint64(0)
		for w, word := range line[1 : 1+t.lineBits] {
			for ; word != 0; word &= word - 1 {
				f((uint64(l)*t.lineBits+uint64(w))*64+uint64(bits.TrailingZeros64(word)), t.value(line, i)+1)
				i++
			}
		}
	}
}

// unpack returns the bits, and the values of those that are set, none of a unary code.
func (t *packed) unpack() (shown []uint64, values []uint8) {
	shown = make([]uint64, (t.cells+63)/64)
	t.each(func(cell uint64, output uint8) {
		shown[cell/64] |= 1 << (cell % 64)
		if t.valueBits > 0 {
			values = append(values, output-1)
		}
	})
	return shown, values
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
