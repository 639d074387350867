package column

import (
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type quantileSecret = private.State[counts]

// QuantileBuilder counts the values of a column, by cells of a public axis. It is private, and for
// one goroutine at a time, as a [Builder] is.
type QuantileBuilder struct {
	quantileSecret
	params    quantileParams
	guarantee budget.Guarantee
}

// counts is what a QuantileBuilder holds.
type counts struct {
	cells  map[int64]int64
	axis   rank.Axis
	params quantileParams
}

// NewQuantiles returns an empty QuantileBuilder of up to 32 levels in (0, 1), ascending: 0.5 is the
// median. One level has an interval in the units of the data, for a third of the budget. With
// several levels, each doubling of their number costs as much again. Min and Max may be 0; values
// are clamped to ±Bound then. The error wraps [ErrParams]. A large ε protects hardly anybody: see
// [New].
func NewQuantiles(p Params, levels ...float64) (*QuantileBuilder, error) {
	q, err := p.withLevels(levels)
	if err != nil {
		return nil, err
	}
	return &QuantileBuilder{private.New(counts{map[int64]int64{}, q.axis(), q}), q, q.promise()}, nil
}

// Guarantee returns what Release promises.
func (b *QuantileBuilder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds one row, as [Builder.Add] does.
func (b *QuantileBuilder) Add(x float64) { b.AddN(x, 1) }

// AddN adds n rows of one value, as [Builder.AddN] does, up to 2³².
func (b *QuantileBuilder) AddN(x float64, n int) {
	if int64(n) > mostAtOnce {
		private.Poison(b.quantileSecret, tooManyRows)
		return
	}
	s := private.Enter(b.quantileSecret)
	if s == nil {
		return
	}
	if n > 0 && s.params.isRow(x) {
		s.cells[s.axis.Cell(x)] += int64(n)
	}
	private.Leave(b.quantileSecret)
}

// Merge adds the rows of another QuantileBuilder, as [Builder.Merge] does.
func (b *QuantileBuilder) Merge(other *QuantileBuilder) error {
	if other == nil {
		other = new(QuantileBuilder)
	}
	return private.Merge(b.quantileSecret, other.quantileSecret, "column: Merge", "QuantileBuilder", func(s, o *counts) error {
		if b.params != other.params {
			return check.MismatchError("column", "Params", b.params, other.params)
		}
		for cell, count := range o.cells {
			s.cells[cell] += count
		}
		return nil
	})
}

// Released is [Builder.Released].
func (b *QuantileBuilder) Released() bool { return private.Released(b.quantileSecret) }

// Release spends the budget and returns the quantiles. A second Release returns an error that wraps
// [ErrReleased].
func (b *QuantileBuilder) Release() (*Quantiles, error) {
	s, err := private.Take(b.quantileSecret, "column: Release: the QuantileBuilder")
	if err != nil {
		return nil, err
	}
	return s.release(), nil
}

// release chooses the quantiles.
func (s *counts) release() *Quantiles {
	var src noise.Source
	q := &Quantiles{params: s.params, axis: s.axis}
	for _, count := range s.cells {
		q.rows += count
	}
	if s.params.Relation == budget.AddRemove {
		noise := s.params.rowsNoise()
		q.rows += noise.Sample(&src)
	}
	places := s.params.choose(rank.Sorted(s.cells), s.axis.Cells(), s.params.places(), func(rows *quantile.Spread, c quantile.Choice) int64 { return rows.Draw(c, &src) })
	for i, x := range places {
		if i < len(s.params.levels()) {
			q.cells = append(q.cells, int(x/s.params.places()))
		} else {
			q.ends[i-1] = int(x)
		}
	}
	return q
}

// choose returns the places of the levels among rows on end cells of places each, and for a single
// level the cells of the ends of its interval, plus 1: for these, enough rows are added before cell
// 0 and behind the last one. A level with no other one on its sides takes a cell as a whole.
func (p *quantileParams) choose(cells []quantile.Cell, end, places int64, draw func(*quantile.Spread, quantile.Choice) int64) []int64 {
	var rows quantile.Spread
	rows.Set(cells, places)
	parts := quantile.Parts(p.levels())
	found := quantile.Quantiles(end*places, p.levels(), p.loss(), func(i int, c quantile.Choice) int64 {
		c.Whole = quantile.Leaf(parts, i)
		return draw(&rows, c)
	})
	if p.single() {
		c, more := p.ended(end)
		padded := []quantile.Cell{{Weight: more}}
		for _, cell := range cells {
			padded = append(padded, quantile.Cell{Index: cell.Index + 1, Weight: cell.Weight})
		}
		rows.Set(append(padded, quantile.Cell{Index: uint32(end) + 1, Weight: more}), 1)
		for _, off := range [2]int64{-more, more} {
			// without what the level has of the added rows
			c.Shift = off + int64(math.Round((1-2*c.Level)*float64(more)))
			found = append(found, draw(&rows, c))
		}
	}
	return found
}

// ended returns how an end of the interval of a single level is chosen on an axis of that many
// cells, without its Shift, and by how many ranks it is off.
func (p *quantileParams) ended(cells int64) (c quantile.Choice, off int64) {
	share := endShare
	if p.Relation == budget.Replace {
		share += rowsShareOfOne / 2
	}
	c = quantile.Choice{To: cells + 2, Level: math.Round(p.Levels[0]*0x1p24) / 0x1p24, Loss: p.lossOf(share)}
	// one for the rounding of Shift, and one for the row that follows the wanted one
	return c, 2 + int64(math.Ceil(quantile.Most(c.To, c.Level, c.Loss, endMiss)))
}
