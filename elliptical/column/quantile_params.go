package column

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxLevels = 32
	maxCells  = 1 << 30
	minLevel  = 0x1p-20 // of a level and of 1 − level
)

// QuantileParams are the public numbers of a release of quantiles. They are comparable. One of
// Epsilon and Rho is required, and Min < Max; the other fields may be 0.
type QuantileParams struct {
	// Epsilon is ε of pure ε-differential privacy, in [2⁻³⁰, 2¹⁰], or 0 where
	// Rho is given.
	Epsilon float64
	// Rho is ρ of ρ-zCDP, in [2⁻⁶⁰, 2²⁰], or 0.
	Rho float64
	// Relation says how neighbours differ: budget.AddRemove, also for 0, or
	// budget.Replace, which is as strong a guarantee at twice the rank error.
	Relation budget.Relation
	// Min and Max are the ends of the interval that values are clamped to, at
	// most 2²⁰⁰ in absolute value, at least 2⁻²⁰⁰ apart.
	Min, Max float64
	// Resolution is the least difference that matters: a value counts as the
	// next of Min, Min + Resolution, …, at most 2³⁰ of them, and so is what is
	// released. Take the unit in which the data are measured: fewer steps are
	// a little more exact in rank. 0 is (Max − Min)/2²⁰.
	Resolution float64
	// Levels are what is released, in (0, 1), ascending: 0.5 is the median. The
	// entries behind the last are 0; if all are, it is the median alone. Each
	// doubling of their number costs as much again.
	Levels [maxLevels]float64
}

// normal returns the Params with their defaults filled in and without −0.
func (p QuantileParams) normal() QuantileParams {
	p.Epsilon, p.Rho, p.Min, p.Max, p.Resolution = p.Epsilon+0, p.Rho+0, p.Min+0, p.Max+0, p.Resolution+0
	if p.Relation == 0 {
		p.Relation = budget.AddRemove
	}
	if p.Resolution == 0 {
		p.Resolution = (p.Max - p.Min) * 0x1p-20
	}
	for i := range p.Levels {
		p.Levels[i] += 0
	}
	if p.Levels == [maxLevels]float64{} {
		p.Levels[0] = 0.5
	}
	return p
}

// validate checks normal Params.
func (p QuantileParams) validate() error {
	if err := limits.OneOf("column", p.Epsilon, 0, p.Rho); err != nil {
		return err
	}
	if err := limits.Relation("column", p.Relation); err != nil {
		return err
	}
	if err := validateRange(p.Min, p.Max); err != nil {
		return err
	}
	if !(p.Resolution > 0 && p.Resolution <= p.Max-p.Min && (p.Max-p.Min)/p.Resolution <= maxCells-2) {
		return bad("Resolution", p.Resolution, "0 or a number that goes into the interval once, and at most 2³⁰ − 2 times")
	}
	last := 0.0
	for i, level := range p.Levels {
		switch {
		case level == 0 && i > 0:
			last = 1
		case !(level >= max(last, minLevel) && level <= 1-minLevel) || level == last:
			return bad("Levels", p.Levels, "ascending numbers in [2⁻²⁰, 1 − 2⁻²⁰], and 0 behind them")
		default:
			last = level
		}
	}
	return nil
}

// Guarantee returns what a release of these Params promises for one row. Invalid Params promise
// nothing.
func (p QuantileParams) Guarantee() budget.Guarantee {
	p = p.normal()
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	return guarantee(p.Epsilon, p.Rho, p.Relation)
}

// levels returns the levels that are released.
func (p *QuantileParams) levels() []float64 {
	n := 0
	for n < maxLevels && p.Levels[n] != 0 {
		n++
	}
	return p.Levels[:n]
}

// depth returns ⌈log₂(m + 1)⌉, the number of rounds in which m quantiles are found.
func (p *QuantileParams) depth() int { return bits.Len(uint(len(p.levels()))) }

// cells returns D, the number of values there are.
func (p *QuantileParams) cells() int64 { return int64(math.Round((p.Max-p.Min)/p.Resolution)) + 1 }

// loss returns the ε of one choice for one row added or removed, such that all rounds together keep
// the guarantee.
//
// Theorem. Let each round choose by weights of which one row, added or removed, changes each by a
// factor within exp(±loss/2). Then a choice is loss-private, and its ratios of probabilities are
// within a range of exp(loss). The values that are found cut the axis, and a row lies in one part
// in each round, so that a round costs as much as one choice, and r rounds are r·loss-private; by
// the bounded range they are r·loss²/8-zCDP (Cesar and Rogers 2021). A row that is replaced is one
// removed and one added, which may lie in two parts: twice the loss. ∎
func (p *QuantileParams) loss() float64 {
	rounds := float64(max(p.depth(), 1))
	loss := p.Epsilon / rounds
	if p.Rho > 0 {
		loss = math.Sqrt(8 * p.Rho / rounds)
	}
	if p.Relation == budget.Replace {
		loss /= 2
	}
	return loss * (1 - 0x1p-45) // for the roundings
}

// place returns the number of the cell of a value, in [0, D). NaN is the one in the middle.
func (p *QuantileParams) place(x float64) int64 {
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
func (p *QuantileParams) value(cell int64) float64 {
	return min(p.Min+float64(cell)*p.Resolution, p.Max)
}
