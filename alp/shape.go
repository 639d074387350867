package alp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/threshold"
)

// geometry is the sizes of a release. They follow from the resolved Params by additions, products,
// quotients and roundings alone, so they are the same on every machine.
type geometry struct {
	step float64 // the grid, in the units of the data: a power of two
	// values are rounded to the grid at random; else they are integers, and step is 1
	mixed   bool
	width   int   // W, steps of the columns' axis in a column
	half    int   // m, columns for one sign
	columns int   // all columns: m, or 2m if Signed. Then the first m are for negative values
	turn    int64 // X, where the columns end, in steps of the value
	limit   int64 // totals are clamped to ±limit, in steps

	hasList bool
	below   int64 // φ₁ of a step of the value below X …
	above   int64 // … and above it

	cellBits  int    // log₂ of the levels
	wordCells uint64 // cells in a word: ⌊64/cellBits⌋
	positions uint64 // cells of a column in a block
	blocks    uint64 // 1 for the independent layout
	words     uint64 // words of a block
}

// shape is all numbers of a release: what the Params say, without any data.
type shape struct {
	geometry
	params Params // resolved
	decay  uint64 // of the columns: 2⁶⁴·e^{−η} for one step
	code   code
	axis   *axis // nil for a linear one
	list   threshold.Params
	ranges []hashing.Range // of the independent layout
	places hashing.Seed    // of the cells in a block
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

// blockWords is a cache line. A block has as few lines as give each column minPositions.
const (
	blockWords   = 8
	minPositions = 32
)

// shape returns the numbers of a release. It takes up to some milliseconds, for the law of the
// cells.
func (p Params) shape() (shape, error) {
	p, err := p.Resolved()
	switch {
	case err != nil:
		return shape{}, err
	case p.Sparsity == 0:
		return shape{}, fault.Params("alp", "Sparsity", p.Sparsity, "at least 1, or Norm: the one to be estimated is not known yet")
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
	if p.Linear {
		s.code = linearCode(s.width, s.decay)
	} else {
		s.code = columnCode(s.width, p.Levels, s.decay)
	}
	if _, _, found := s.code.violation(s.decay); found {
		// never, by the proofs that stand with the codes; checked all the same
		return shape{}, fault.Params("alp", "Alpha", p.Alpha, "another width: the law of a cell breaks its bound")
	}
	if p.Base > 0 {
		s.axis = newAxis(p.knee(s.step), s.width*s.half)
	}
	if s.hasList {
		s.list = p.listParams()
	}
	s.hash()
	return s, nil
}

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
		g.below, g.above = p.split()
		if p.Structure == Composition {
			g.above = g.below
		}
	}
	if g.width > maxWidth || g.width*p.Levels > maxLaw {
		return geometry{}, fault.Params("alp", "Alpha", p.Alpha, fmt.Sprintf("columns of at most 2²⁰ steps, and 2²³/Levels: these have %d", g.width))
	}
	if steps := uint64(g.width) * uint64(p.Columns); p.Base > 0 && steps > maxAxis {
		return geometry{}, fault.Params("alp", "Base", p.Base, fmt.Sprintf("a larger base or a shorter range: the logarithmic axis would take %d bytes", 8*steps))
	}
	if p.Columns*p.Levels > maxOutputs {
		return geometry{}, fault.Params("alp", "Columns", p.Columns, fmt.Sprintf("at most 2¹⁵/Levels = %d: reading a release takes tables for each output of each column", maxOutputs/p.Levels))
	}
	return g, g.arrange(p)
}

// arrange lays the cells out.
func (g *geometry) arrange(p Params) error {
	g.cellBits = bits.Len(uint(p.Levels)) - 1
	g.wordCells = uint64(64 / g.cellBits)
	size := p.Bits * float64(p.Sparsity) // in bits
	if size/8 > maxTableBytes {
		return fault.Params("alp", "Sparsity", p.Sparsity, fmt.Sprintf("a table of at most %d bytes: %g bits for each entry would take %.0f bytes", int64(maxTableBytes), p.Bits, size/8))
	}
	cells, each := uint64(math.Ceil(size/float64(g.cellBits))), uint64(g.columns)
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
		return fault.Params("alp", "Columns", p.Columns, fmt.Sprintf("a table of at most %d bytes: this one would take %.0f bytes", int64(maxTableBytes), total))
	}
	return nil
}

// cells returns the number of cells of one column.
func (g *geometry) cells() uint64 { return g.blocks * g.positions }

// tableWords returns the number of words of the table.
func (g *geometry) tableWords() uint64 { return g.blocks * g.words }

// grid returns the step of the grid. Integers have the step 1 where a step costs 2⁻¹⁰ of ε or more;
// else it is the largest power of two that costs at most 2⁻⁹ (of ε, as a number), and values are
// rounded to it at random.
func (p Params) grid() (step float64, mixed bool) {
	unit := p.Epsilon / p.sensitivity()
	if p.Integers && unit >= 0x1p-10 {
		return 1, false
	}
	_, exp := math.Frexp(0x1p-9 / unit)
	return math.Ldexp(1, exp-1), true
}

// kappa returns κ = εg/Δ, what a step costs.
func (p Params) kappa() float64 {
	step, _ := p.grid()
	return p.Epsilon / p.sensitivity() * step
}

// eta returns the logarithm η of the factor that a step of a value may multiply probabilities with,
// rounded down. For integers it is ε/Δ, and for values that are rounded at random ln(1 + κ).
//
// Proof for these. Let M(v) be the law of the release as a function of one total of v steps, and
// M(a+1) ≤ (1+κ)·M(a) + bad in both directions, bad of mass at most δ₁. A value added at θ between
// two grid points becomes the upper one with probability θ, so the law is (1−θ)·M(a) + θ·M(a+1),
// given all else, and moving it by θ′ within the step moves the law by θ′·(M(a+1) − M(a)) ≤ θ′·(κP
// + bad), where P is the law before: M(a+1) − M(a) and M(a) − M(a+1) are at most κ·M + bad for M =
// M(a) and M = M(a+1), hence for their mixtures. So P′ ≤ (1 + θ′κ)·P + θ′·bad ≤ e^{θ′κ}·P + θ′·bad.
// Moves by θ′₁, θ′₂, … of Δ/g in total, one after the other, give (ε, δ₁·(e^ε−1)/κ): Δκ/g = ε, and
// Σ θ′ᵢ·e^{κ(θ′₁+…+θ′ᵢ₋₁)} ≤ ∫₀^{Δ/g} e^{κt} dt. ∎
func (p Params) eta() float64 {
	if _, mixed := p.grid(); mixed {
		return math.Log1p(p.kappa()) * (1 - 0x1p-50)
	}
	return p.kappa() * (1 - 0x1p-50)
}

// columnWidth returns W. It is the same for all machines: Alpha/((1−θ)κ), rounded.
func (p Params) columnWidth() int {
	w := math.Round(p.Alpha / (p.columnShare() * p.kappa()))
	return int(min(max(w, 1), 2*maxWidth))
}
