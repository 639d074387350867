package column

import (
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxLevels = 32
	maxCells  = 1 << 30
	minLevel  = 0x1p-20 // of a level and of 1 − level
)

// quantileParams are the Params with the levels that are released, ascending; the entries behind
// the last are 0.
type quantileParams struct {
	Params
	Levels [maxLevels]float64
}

// withLevels returns the Params with the levels, or an error.
func (p Params) withLevels(levels []float64) (q quantileParams, err error) {
	if len(levels) == 0 || len(levels) > maxLevels {
		return q, bad("number of levels", len(levels), "1 to 32")
	}
	q.Params = p
	copy(q.Levels[:], levels)
	q = q.normal()
	if slices.Contains(levels, 0) {
		return q, bad("levels", levels, "ascending numbers in [2⁻²⁰, 1 − 2⁻²⁰]")
	}
	return q, q.validate()
}

// normal returns the Params with their defaults filled in and without −0.
func (p quantileParams) normal() quantileParams {
	p.Params = p.Params.normal()
	if p.Resolution == 0 {
		p.Resolution = (p.Max - p.Min) * 0x1p-20
	}
	for i := range p.Levels {
		p.Levels[i] += 0
	}
	return p
}

// validate checks normal Params.
func (p quantileParams) validate() error {
	if err := p.validateGuarantee(); err != nil {
		return err
	}
	if err := validateRange(p.Min, p.Max); err != nil {
		return err
	}
	switch {
	case p.Want != 0:
		return bad("Want", p.Want, "0 in NewQuantiles: it is for a Summary")
	case p.Rows != 0:
		return bad("Rows", p.Rows, "0 in NewQuantiles: it is for a Summary")
	case !(p.Resolution > 0 && p.Resolution <= p.Max-p.Min && (p.Max-p.Min)/p.Resolution <= maxCells-2):
		return bad("Resolution", p.Resolution, "0 or a number that goes into the interval once, and at most 2³⁰ − 2 times")
	}
	last := 0.0
	for i, level := range p.Levels {
		switch {
		case level == 0 && i > 0:
			last = 1
		case !(level >= max(last, minLevel) && level <= 1-minLevel) || level == last:
			return bad("levels", p.levels(), "ascending numbers in [2⁻²⁰, 1 − 2⁻²⁰]")
		default:
			last = level
		}
	}
	return nil
}

// levels returns the levels that are released.
func (p *quantileParams) levels() []float64 {
	n := 0
	for n < maxLevels && p.Levels[n] != 0 {
		n++
	}
	return p.Levels[:n]
}

// depth returns ⌈log₂(m + 1)⌉, the number of rounds in which m quantiles are found.
func (p *quantileParams) depth() int { return bits.Len(uint(len(p.levels()))) }

// cells returns D, the number of values there are.
func (p *quantileParams) cells() int64 { return int64(math.Round((p.Max-p.Min)/p.Resolution)) + 1 }

// loss returns the ε of one choice for one row added or removed, such that all rounds together keep
// the guarantee.
//
// Theorem. Let each round choose by weights of which one row, added or removed, changes each by a
// factor within exp(±loss/2). Then a choice is loss-private, and its ratios of probabilities are
// within a range of exp(loss). The values that are found cut the axis, and a row lies in one part
// in each round, so that a round costs as much as one choice, and r rounds are r·loss-private; by
// the bounded range they are r·loss²/8-zCDP (Cesar and Rogers 2021). A row that is replaced is one
// removed and one added, which may lie in two parts: twice the loss. ∎
func (p *quantileParams) loss() float64 {
	rounds := float64(max(p.depth(), 1))
	loss := p.Epsilon / rounds
	if p.gaussian() {
		loss = math.Sqrt(8 * p.rho() / rounds)
	}
	if p.Relation == budget.Replace {
		loss /= 2
	}
	return loss * (1 - 0x1p-45) // for the roundings
}

// place returns the number of the cell of a value, in [0, D). NaN is the one in the middle.
func (p *quantileParams) place(x float64) int64 {
	last := p.cells() - 1
	if x != x {
		return last / 2
	}
	y := math.Floor((min(max(x, p.Min), p.Max)-p.Min)/p.Resolution + 0.5)
	if !(y >= 0 && y <= maxCells) { // for no valid Params
		return 0
	}
	return min(int64(y), last)
}

// value returns the value of a cell.
func (p *quantileParams) value(cell int64) float64 {
	return min(p.Min+float64(cell)*p.Resolution, p.Max)
}
