package alp

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/sparse"
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
	maxWidth      = 1 << 20 // W: the law of a cell takes up to 2W words
	maxLaw        = 1 << 23 // W·Q: probabilities that New checks
	maxAxis       = 1 << 21 // m·W on a logarithmic axis: words of its table
	maxOutputs    = 1 << 15 // m·Q: outputs of all columns of a sign
)

// plannedSparsity stands for an unknown Sparsity before the data are seen.
const plannedSparsity = 1000

// shape returns the numbers of a release. It takes up to some milliseconds, for the law of the
// cells.
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

// code returns the law of a cell, and keeps those of moderate size, of which a service makes the
// same ones again and again.
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

// tableWords returns the number of words of the table.
func (g *geometry) tableWords() uint64 { return g.blocks * g.words }

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
