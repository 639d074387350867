package alp

import (
	"cmp"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

const (
	maxEpsilon = 0x1p9
	maxColumns = 1 << 14
	maxLevels  = 1 << 8
	maxParts   = 16 // the greatest denominator of Split
)

// Structure says what a release consists of.
type Structure uint8

const (
	// AutoStructure is SplitAxis, or ColumnsOnly if the columns of SplitAxis would
	// cover all values up to Max.
	AutoStructure Structure = iota
	// SplitAxis is columns for the values up to Turn and a list, made by package threshold, of
	// the keys with large values. Below Turn the list has the share Split of the
	// budget and the columns have the rest; above Turn the list has all of it.
	SplitAxis
	// Composition is the thesis's combined structure (Algorithms 7 and 8): the list has ε₁ =
	// Split·ε, the columns have ε₂ = (1−Split)·ε and cover the values up to the list's
	// threshold.
	Composition
	// ColumnsOnly is columns for the values up to Max, without a list.
	ColumnsOnly

	lastStructure = ColumnsOnly
)

var structureNames = []string{"AutoStructure", "SplitAxis", "Composition", "ColumnsOnly"}

// String returns the name of the constant.
func (s Structure) String() string {
	return check.EnumName(s, structureNames, "Structure")
}

// Params are the public numbers of a release. Epsilon is required, and Delta or Dim or Max. All
// other fields may be 0; [Params.Plan] returns them filled in.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2⁹].
	Epsilon float64
	// Delta is δ, 0 or in [1e-300, 1). With 0 the release is purely ε-private, and
	// a structure with a list needs Dim.
	Delta float64
	// Dim is d: indices are 0 to d−1, and others are ignored. 0 stands for all
	// 64-bit indices.
	Dim uint64
	// Sparsity is k, the number of non-zero entries that the table is made for.
	// With more entries the error grows; privacy does not depend on it. With 0,
	// Release estimates it for 1/16 of ε: the number of non-zero entries if
	// Integers, else of entries above the noise, of which there are at most
	// ‖x‖₁·ε/Δ.
	Sparsity int
	// Sensitivity is Δ, in the units of the data: neighbours are vectors with
	// ‖x − x′‖₁ ≤ Δ, see [budget.L1]. 0 is 1.
	Sensitivity float64
	// Max is an upper bound on the absolute value of an entry, in the units of the
	// data; larger totals are clamped. 0 is no limit, which ColumnsOnly refuses.
	Max float64

	// Integers says that all values are integers.
	Integers bool
	// Signed says that entries may be negative; else a total below 0 counts as 0.
	// Each sign gets half of the bits: small entries have 5 to 31 % more error,
	// and up to 2.2 times as much if all other entries have one value.
	Signed bool
	// Bits is the average length of the table in bits, per entry of Sparsity. In
	// memory the table takes up to half as much again. 0 is 100.
	Bits float64
	// Structure says what the release consists of.
	Structure Structure
	// Seed selects the hash functions. It is public and must not depend on the
	// data. A zero Seed is replaced by a fresh one.
	Seed hashing.Seed
	// Variant selects a mechanism of the papers. All 0 is what this package
	// chooses.
	Variant

	share float64 // of ε, for the Sparsity: 1/16 where that is 0
}

// Variant overrides choices of this package, for Algorithms 2 to 5, 7, 8, 10 and 11 and sections
// 2.2 and 2.6 of the papers, or for an experiment. Its fields are embedded in Params.
type Variant struct {
	// TwoVectors, for Signed, estimates the positive and the negative parts as two
	// vectors (section 2.2). Without it the columns are one axis from −Turn to
	// Turn (section 2.10), with .74 to 1.17 times the error.
	TwoVectors bool
	// Base is B of section 2.6, 0 or above 1: columns hold log_B(x/Δ) for x ≥ Δ/ln
	// B, so the error there is multiplicative and fewer columns are needed. 0 is a
	// linear axis. A logarithmic one has at most 2²¹ steps, about 2000 to 4000
	// Δ/ε.
	Base float64
	// Levels is Q, the number of outputs of a cell, a power of two from 2, a unary
	// code, to 256. 0 is mostly 16 with a list, or 32 from 150 Bits on.
	Levels int
	// Linear gives a unary code the thesis's linear rounding (Algorithms 2 to 5)
	// instead of S-shaped rounding.
	Linear bool
	// Alpha is α, the width of a column in units of Δ/ε′, where ε′ is the columns'
	// part of ε; at most 2²⁰ steps of the grid.
	Alpha float64
	// Columns is the number m of columns, for each sign if Signed, at most
	// 2¹⁵/Levels. 0 is the number that the range needs.
	Columns int
	// Independent gives each column its own table and hash function, as in the
	// thesis. Without it all cells of an entry lie in one block.
	Independent bool
	// Split is the share θ of ε that the list has below Turn. It is rounded to a
	// fraction with a denominator of at most 16. 0 is 5/16, or 3/8 if Delta is 0.
	Split float64
	// Turn is where the columns end, in the units of the data, for a structure
	// with a list.
	Turn float64
	// FalseKeys is, if Delta is 0, the expected number of listed keys without a
	// value. 0 is Sparsity/16 for SplitAxis, and for Composition the number that
	// makes the list's threshold 2·ln(d)/ε₁.
	FalseKeys float64
}

// validate checks the fields one by one and together.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error {
		return check.ParamsError("alp", field, value, want)
	}
	if err := cmp.Or(
		check.Epsilon("alp", p.Epsilon, maxEpsilon),
		check.Delta("alp", p.Delta),
		check.Real("alp", "Sensitivity", p.Sensitivity, p.Integers),
		check.Real("alp", "Max", p.Max, false),
	); err != nil {
		return err
	}
	switch {
	case p.Sparsity < 0:
		return bad("Sparsity", p.Sparsity, "an integer of at least 0")
	case p.TwoVectors && !p.Signed:
		return bad("TwoVectors", p.TwoVectors, "false unless Signed")
	case p.Base != 0 && !(p.Base >= 1+0x1p-20 && p.Base <= 0x1p20):
		return bad("Base", p.Base, "0 or a number in [1 + 2⁻²⁰, 2²⁰]")
	case p.Structure > lastStructure:
		return bad("Structure", p.Structure, "one of the constants")
	case p.Levels != 0 && (p.Levels < 2 || p.Levels > maxLevels || p.Levels&(p.Levels-1) != 0):
		return bad("Levels", p.Levels, "0 or a power of two from 2 to 256")
	case p.Linear && p.Levels != 0 && p.Levels != 2:
		return bad("Linear", p.Linear, "false unless Levels is 2")
	case p.Alpha != 0 && !(p.Alpha >= 0x1p-20 && p.Alpha <= 0x1p20):
		return bad("Alpha", p.Alpha, "0 or a number in [2⁻²⁰, 2²⁰]")
	case p.Columns < 0 || p.Columns > maxColumns:
		return bad("Columns", p.Columns, "an integer in [0, 2¹⁴]")
	case p.Bits != 0 && !(p.Bits >= 0x1p-10 && p.Bits <= 0x1p30):
		return bad("Bits", p.Bits, "0 or a number in [2⁻¹⁰, 2³⁰]")
	case p.Split != 0 && !(p.Split >= 1.0/maxParts && p.Split <= 1-1.0/maxParts):
		return bad("Split", p.Split, "0 or a number in [1/16, 15/16]")
	case p.Turn != 0 && !(p.Turn >= 0x1p-260 && p.Turn <= 0x1p260):
		return bad("Turn", p.Turn, "0 or a number in [2⁻²⁶⁰, 2²⁶⁰]")
	case !(p.FalseKeys >= 0 && p.FalseKeys <= 1<<26):
		return bad("FalseKeys", p.FalseKeys, "a number in [0, 2²⁶]")
	case p.share != 0 && !(p.share >= 0x1p-10 && p.share <= 0.5):
		return bad("Sparsity", p.share, "estimated with at most half of Epsilon")
	case p.Structure == ColumnsOnly && p.Max == 0:
		return bad("Max", p.Max, "above 0 where there are only columns")
	case p.Delta == 0 && p.Dim == 0 && p.Structure != ColumnsOnly && p.Max == 0:
		return bad("Dim", p.Dim, "at least 1 where Delta and Max are 0: only a bounded key space has a list without δ")
	}
	return nil
}

// sensitivity returns Δ, the default filled in.
func (p Params) sensitivity() float64 {
	if p.Sensitivity == 0 {
		return 1
	}
	return p.Sensitivity
}

// estimates reports whether Sparsity is to be estimated at Release.
func (p Params) estimates() bool { return p.Sparsity == 0 }

// resolved returns the Params with all numbers filled in that are chosen where a field is 0: those
// with which New works. If Sparsity is to be estimated, it and what depends on it, Turn and
// FalseKeys, stay as they are; the Params of the released Projection have them. Seed stays 0. The
// error wraps [ErrParams].
func (p Params) resolved() (Params, error) {
	seed := p.Seed
	p.Seed = hashing.Seed{}
	r, err := resolutions.Get(p, func() (Params, error) {
		if p.estimates() {
			return p.resolveUnknown()
		}
		r, err := p.resolve()
		if err == nil {
			_, err = r.geometry()
		}
		return r, err
	})
	r.Seed = seed
	return r, err
}

// resolutions are those that were made.
var resolutions memo.Table[Params, Params]

// Guarantee returns what a release promises: (ε, δ) if it has a list and Delta is above 0, else ε,
// for vectors at an ℓ₁ distance of Sensitivity; nothing for invalid Params.
func (p Params) Guarantee() budget.Guarantee {
	r, err := p.resolved()
	if err != nil {
		return budget.Guarantee{}
	}
	return r.promise()
}

// promise is Guarantee for resolved Params.
func (p Params) promise() budget.Guarantee {
	unit := budget.L1(p.sensitivity())
	if p.Delta == 0 || p.Structure == ColumnsOnly {
		return budget.PureDP(p.Epsilon, unit)
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, unit)
}

// The cost and shape parameters that are chosen where a field is 0, from a search at equal bits:
// mean absolute error of entries uniform on the axis, of zeros, and root mean square error, by
// simulation, for all other entries large and for all of them uniform. The optimum is flat: half or
// twice the width, or a Split from ¼ to 3/8, costs 5 % or so.
//
//	bits an entry      < 60    < 100   < 150   < 600   more
//	Q, columns only       8       8       8      16      32
//	Q, with a list       16      16      16      32      64
//	width              columns only at most 24 Δ/ε′, as few columns as that takes: a collision
//	                   costs at most a column; with a list at most 64 Δ/ε′, so one column for
//	                   most δ: large entries leave it. From 40 Δ/ε′ on Q is 32 or more
//	unary codes        width 5 Δ/ε′, the thesis's 3 Δ/ε′
//	integers           where a step costs 3/2 or more, noise is mostly 0 and each value has a
//	                   level of its own: Q = 8 and width 7 steps, unary codes 1 step. From 3 on
//	                   collisions cost more than noise, and a unary code spreads them: Q = 2,
//	                   unless there would be more columns than bits
//	Split              5/16 with δ, 3/8 without, where the list's threshold is higher
//
// Fewer bits leave too few cells for many levels, and levels far narrower than Δ/ε′ gain nothing,
// as the noise is wider. A Split of ¼ or 1/5 gives entries up to 40/ε up to 6 % less error, and
// those of 40 to 72/ε, which the list has no longer, 12 to 25 % more: see TestLongLoads.

// costlyStep is what a step of integers must cost for each value to have a level of its own, and
// unaryStep for these to be unary codes.
const (
	costlyStep = 1.5
	unaryStep  = 3
)

// resolve validates the Params and fills in what is chosen. Params that are filled in resolve to
// themselves.
func (p Params) resolve() (Params, error) {
	if err := p.validate(); err != nil {
		return p, err
	}
	return p.normalised().withDefaults().withRange()
}

// normalised returns the Params without a negative zero.
func (p Params) normalised() Params {
	for _, x := range []*float64{&p.Delta, &p.Sensitivity, &p.Max, &p.FalseKeys, &p.Base, &p.Alpha, &p.Bits, &p.Split, &p.Turn, &p.share} {
		*x += 0
	}
	return p
}

// withDefaults fills in what depends on nothing else.
func (p Params) withDefaults() Params {
	p.Bits = cmp.Or(p.Bits, 100)
	if p.Split == 0 && p.Structure != ColumnsOnly {
		p.Split = p.chosenSplit()
	}
	return p
}

// withRange fills in what there is, where the columns end and how many there are.
func (p Params) withRange() (Params, error) {
	step, _ := p.grid()
	if p.Structure != ColumnsOnly {
		turn, err := p.chooseTurn(step)
		switch {
		case p.Structure == AutoStructure && p.Max > 0 && (err != nil || turn >= p.Max):
			p.Structure, p.Split, p.Turn, p.FalseKeys = ColumnsOnly, 0, 0, 0
		case err != nil:
			return p, err
		case p.Structure == AutoStructure:
			p.Structure = SplitAxis
			fallthrough
		default:
			p.Turn = turn
			if p.Delta == 0 && p.FalseKeys == 0 {
				p.FalseKeys = p.defaultFalseKeys()
			}
		}
	}
	if p.Structure == ColumnsOnly {
		p.Split, p.Turn, p.FalseKeys = 0, 0, 0
	}
	reach := p.axisReach(step)
	if p.Levels == 0 {
		p.Levels = p.chosenLevels(reach)
	}
	share := p.columnShare() * p.kappa()
	switch {
	case p.Alpha == 0 && p.Columns == 0:
		p.Columns = p.chosenColumns(reach)
		p.Alpha = p.chosenWidth(reach, p.Columns) * share
	case p.Alpha == 0:
		p.Alpha = math.Ceil(reach/float64(p.Columns)) * share
	case float64(p.columnWidth()) > reach+1:
		p.Alpha, p.Columns = max(reach, 1)*share, 1
	case p.Columns == 0:
		columns := math.Ceil(reach / float64(p.columnWidth()))
		if columns > maxColumns {
			return p, check.ParamsError("alp", "Alpha", p.Alpha, "wider columns: more than 2¹⁴ would be needed")
		}
		p.Columns = int(columns)
	}
	// no columns beyond the range
	p.Columns = min(p.Columns, int(math.Ceil(reach/float64(p.columnWidth()))))
	return p, nil
}

// chooseTurn returns where the columns end, if there is a list: for SplitAxis 2.3 times the scale
// of the list's noise above its threshold, for Composition at its threshold.
func (p Params) chooseTurn(step float64) (float64, error) {
	if p.Delta == 0 && p.FalseKeys == 0 {
		p.FalseKeys = p.defaultFalseKeys()
	}
	if p.Delta == 0 && p.Dim == 0 {
		return 0, check.ParamsError("alp", "Dim", p.Dim, "at least 1 where Delta is 0: only a bounded key space has a list without δ")
	}
	least, scale, err := p.listReach()
	if err != nil {
		return 0, err
	}
	a, _ := p.split()
	if p.Turn > 0 {
		if turn := math.Round(p.Turn / step); turn*float64(a) >= least {
			return turn * step, nil
		}
		return 0, check.ParamsError("alp", "Turn", p.Turn, "0 or at least the list's threshold")
	}
	if p.Structure != Composition {
		least += 2.3 * scale
	}
	return math.Ceil(least/float64(a)) * step, nil
}

// defaultFalseKeys returns the number of false keys of a list without δ.
func (p Params) defaultFalseKeys() float64 {
	if p.Structure == Composition {
		return 0
	}
	return min(max(float64(p.Sparsity)/16, 0.5), float64(p.Dim)/4, 1<<26)
}

// chosenLevels returns Q for an axis of the given number of steps.
func (p Params) chosenLevels(reach float64) int {
	bits, unit := p.Bits, p.columnShare()*p.kappa()
	switch {
	case p.Linear, p.costly() && unit >= unaryStep && reach <= bits:
		return 2
	case p.costly() || p.Structure == ColumnsOnly && bits < 150:
		return 8
	case p.Structure == ColumnsOnly && bits < 600:
		return 16
	case p.Structure == ColumnsOnly:
		return 32
	case bits < 150 && reach*unit < 40:
		return 16
	case bits < 600:
		return 32
	}
	return 64
}

// costly reports whether values are integers of which each has a level of its own.
func (p Params) costly() bool {
	_, mixed := p.grid()
	return !mixed && p.columnShare()*p.kappa() >= costlyStep
}

// chosenSplit returns θ.
func (p Params) chosenSplit() float64 {
	if p.Delta == 0 {
		return 3.0 / 8
	}
	return 5.0 / 16
}

// chosenColumns returns m for an axis of the given number of steps.
func (p Params) chosenColumns(reach float64) int {
	width := 24.0 // in units of Δ/ε′
	switch unit := p.columnShare() * p.kappa(); {
	case p.Linear:
		width = 3
	case p.costly():
		width = float64(p.Levels-1) * unit
	case p.Levels == 2:
		width = 5
	case p.Structure != ColumnsOnly:
		width = min(64, maxLaw/float64(p.Levels)*unit)
	}
	const slack = 0.01 // of a column, which may be wider by so much
	return int(min(max(math.Ceil(reach*p.columnShare()*p.kappa()/width-slack), 1), min(maxColumns, float64(maxOutputs/p.Levels))))
}

// chosenWidth returns W for an axis of the given number of steps that has the given number of
// columns: the least that covers it, and odd for costly integers, so that the thresholds lie
// between values.
func (p Params) chosenWidth(reach float64, columns int) float64 {
	width := math.Ceil(reach / float64(columns))
	if p.costly() && math.Mod(width, 2) == 0 {
		width++
	}
	return width
}
