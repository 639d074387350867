package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// resolve validates the Params and fills in what is chosen. Resolved Params resolve to themselves.
func (p Params) resolve() (Params, error) {
	if err := p.validate(); err != nil {
		return p, err
	}
	p = p.normalised()
	if p.Sparsity == 0 {
		p.Sparsity = p.sparsityOfNorm(p.Norm)
	}
	return p.withDefaults().withRange()
}

// normalised returns the Params without a negative zero.
func (p Params) normalised() Params {
	for _, x := range []*float64{&p.Delta, &p.Sensitivity, &p.Max, &p.Norm, &p.FalseKeys, &p.Base, &p.Alpha, &p.Bits, &p.Split, &p.Turn, &p.SparsityShare} {
		*x += 0
	}
	return p
}

// withDefaults fills in what depends on nothing else.
func (p Params) withDefaults() Params {
	if p.Bits == 0 {
		p.Bits = 100
	}
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
			return p, fault.Params("alp", "Alpha", p.Alpha, "wider columns: more than 2¹⁴ would be needed")
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
		return 0, fault.Params("alp", "Dim", p.Dim, "at least 1 where Delta is 0: only a bounded key space has a list without δ")
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
		return 0, fault.Params("alp", "Turn", p.Turn, "0 or at least the list's threshold")
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

// axisReach returns the length of the columns' axis, in steps.
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
