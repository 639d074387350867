package column

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxLevels = 32
	maxCells  = 1 << 30
	minLevel  = 0x1p-20 // of a level and of 1 − level
	subPlaces = 1 << 32 // of a cell, where there are several levels

	ascendingLevels = "ascending numbers in [2⁻²⁰, 1 − 2⁻²⁰]"

	// of ε or ρ, what the number of rows has, if it is private; of a single level, what the
	// quantile has, each end of its interval, and the number of rows
	rowsShare                            = .019
	pointShare, endShare, rowsShareOfOne = 2. / 3, .144, 1 - 2./3 - 2*.144
	endMiss                              = .005 // of each end

	// A quantile is unknown where fewer than an eighth of the rows that should be on one of its
	// sides may be there with a larger probability than the sum of these: by its draw, and as
	// there may be fewer rows in all.
	mostAstray, missRows = 6e-4, 4e-4
)

// quantileParams are the Params with the levels that are released, ascending; the entries behind
// the last are 0.
type quantileParams struct {
	Params
	Levels [maxLevels]float64
}

// withLevels returns the Params with the levels, or an error.
func (p Params) withLevels(levels []float64) (q quantileParams, err error) {
	q.Params = p
	copy(q.Levels[:], levels)
	q = q.normal()
	if err := checked(
		field{len(levels) > 0 && len(levels) <= maxLevels, "number of levels", len(levels), "1 to 32"},
		field{!slices.Contains(levels, 0), "levels", levels, ascendingLevels},
	); err != nil {
		return q, err
	}
	return q, q.validate()
}

// normal returns the Params with their defaults filled in and without −0.
func (p quantileParams) normal() quantileParams {
	p.Params = p.Params.normal()
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
	learns, resolution := p.Params.learns(), p.Resolution
	if err := p.validateRange(learns); err != nil {
		return err
	}
	last, ascending := 0.0, true
	for i, level := range p.Levels {
		switch {
		case level == 0 && i > 0:
			last = 1
		case !(level >= max(last, minLevel) && level <= 1-minLevel) || level == last:
			ascending = false
		default:
			last = level
		}
	}
	return checked(
		field{p.TailIndex == 0, "TailIndex", p.TailIndex, "0 in NewQuantiles: it is for a Summary"},
		field{p.Want == 0, "Want", p.Want, "0 in NewQuantiles: it is for a Summary"},
		field{p.Rows == 0, "Rows", p.Rows, "0 in NewQuantiles: it is for a Summary"},
		field{resolution == 0 || !learns, "Resolution", resolution, "0 without Min and Max"},
		field{resolution == 0 || resolution > 0 && resolution <= p.Max-p.Min && (p.Max-p.Min)/resolution <= maxCells-2, "Resolution", resolution,
			"0 or a number that goes into the interval once, and at most 2³⁰ − 2 times"},
		field{ascending, "levels", p.levels(), ascendingLevels},
	)
}

// levels returns the levels that are released.
func (p *quantileParams) levels() []float64 {
	return p.Levels[:slices.Index(append(p.Levels[:], 0), 0)]
}

// depth returns ⌈log₂(m + 1)⌉, the number of rounds in which m quantiles are found.
func (p *quantileParams) depth() int { return quantile.Rounds(len(p.levels())) }

// promise returns the guarantee of a release of valid Params.
func (p *quantileParams) promise() budget.Guarantee {
	g := p.Params.promise()
	if p.Delta > 0 {
		g = g.WithPair(budget.ZCDP(p.rho(), g.Unit()))
	}
	return g
}

// single reports whether there is one level, which has an interval.
func (p *quantileParams) single() bool { return p.Levels[1] == 0 }

// axis returns the cells of values: in steps of the Resolution, or by octaves, the finest of them
// 2⁻³⁰ of the range.
func (p *quantileParams) axis() rank.Axis {
	switch {
	case p.Resolution != 0:
		return rank.Linear(p.Min, p.Max, p.Resolution)
	case p.learns():
		return p.widest()
	}
	return rank.Octaves(p.Min, p.Max, (p.Max-p.Min)*0x1p-30)
}

// places returns the number of places in a cell. A place that cuts the rows for other levels holds
// one of them at most, if a cell has up to 2³².
func (p *quantileParams) places() int64 {
	if p.single() {
		return 1
	}
	return subPlaces
}

// loss returns the ε of one choice for one row added or removed, such that all rounds together keep
// the guarantee.
//
// Theorem. A choice is loss-private, and its ratios of probabilities are within a range of
// exp(loss) (internal/quantile, Lemma 1 of spread_proof.md). A round is no more than one choice
// (Lemma 2). So r rounds are r·loss-private; by the bounded range they are r·loss²/8-zCDP (Cesar
// and Rogers 2021). A row that is replaced is one removed and one added: twice the loss. ∎
//
// A single level is three choices among all rows, of the shares above. The number of rows is
// released first, with noise of its share; under Replace it is public, and has none.
func (p *quantileParams) loss() float64 {
	if p.single() {
		return p.lossOf(pointShare)
	}
	return p.lossOf((1 - p.rowsShare()) / float64(p.depth()))
}

// rowsShare returns the share of the number of rows.
func (p *quantileParams) rowsShare() float64 {
	switch {
	case p.Relation == budget.Replace:
		return 0
	case p.single():
		return rowsShareOfOne
	}
	return rowsShare
}

// rows returns the noise of the number of rows.
func (p *quantileParams) rowsNoise() drawn {
	of := Params{Epsilon: p.Epsilon}
	if p.gaussian() {
		of = Params{Rho: p.rho()}
	}
	n, _ := of.spending(share{p.rowsShare(), p.rowsShare()}).drawn(1) // valid, as p is
	return n
}

// lossOf returns the ε of a choice that has a share of ε or ρ.
func (p Params) lossOf(share float64) float64 {
	loss := p.Epsilon * share
	if p.gaussian() {
		loss = math.Sqrt(8 * p.rho() * share)
	}
	if p.Relation == budget.Replace {
		loss /= 2
	}
	return quantile.Loss(loss*(1-0x1p-45), 1) // for the roundings
}
