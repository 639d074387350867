package alp

import (
	"cmp"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

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
