package column

import (
	"maps"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type quantileSecret = private.State[counts]

// QuantileBuilder counts the values of a column, by cells of the public Resolution: its memory
// grows with the cells in use, not with the rows. It holds private data: it prints nothing of it,
// and [QuantileBuilder.Release] is the only way out. One goroutine at a time may use it; a call
// panics where it sees another one at work.
type QuantileBuilder struct {
	quantileSecret
	params    quantileParams
	guarantee budget.Guarantee
}

// counts is what a QuantileBuilder holds.
type counts struct {
	cells  map[int64]int64
	params quantileParams
}

// NewQuantiles returns an empty QuantileBuilder of up to 32 levels in (0, 1), ascending: 0.5 is the
// median. Each doubling of their number costs as much again. The error wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewQuantiles(p Params, levels ...float64) (*QuantileBuilder, error) {
	q, err := p.withLevels(levels)
	if err != nil {
		return nil, err
	}
	return &QuantileBuilder{private.New(counts{map[int64]int64{}, q}), q, q.promise()}, nil
}

// Guarantee returns what Release promises, also after it. A QuantileBuilder that NewQuantiles did
// not make promises nothing.
func (b *QuantileBuilder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds one row. Values outside [Min, Max] are clamped; NaN counts as the middle of the
// interval. After Release, and on a QuantileBuilder that NewQuantiles did not make, Add does
// nothing.
func (b *QuantileBuilder) Add(x float64) {
	s := private.Enter(b.quantileSecret)
	if s == nil {
		return
	}
	s.cells[s.params.place(x)]++
	private.Leave(b.quantileSecret)
}

// Merge adds the rows of another QuantileBuilder with equal Params and levels, exactly, and the
// other one gives up its data.
//
// The error wraps [ErrMismatch] if the Params differ or other is b itself, and [ErrReleased] if one
// was released. Then nothing has changed.
func (b *QuantileBuilder) Merge(other *QuantileBuilder) error {
	if other == nil {
		other = new(QuantileBuilder)
	}
	return private.Merge(b.quantileSecret, other.quantileSecret, "column: Merge", "QuantileBuilder", func(s, o *counts) error {
		if b.params != other.params {
			return fault.Mismatch("column", "Params", b.params, other.params)
		}
		for cell, count := range o.cells {
			s.cells[cell] += count
		}
		return nil
	})
}

// Released reports whether the QuantileBuilder has been released, and Add therefore ignores what it
// is given.
func (b *QuantileBuilder) Released() bool { return private.Released(b.quantileSecret) }

// Release spends the budget and returns the quantiles. The QuantileBuilder gives up its data; a
// second Release returns an error that wraps [ErrReleased].
func (b *QuantileBuilder) Release() (*Quantiles, error) {
	s, err := private.Take(b.quantileSecret, "column: Release: the QuantileBuilder")
	if err != nil {
		return nil, err
	}
	q := &Quantiles{params: s.params}
	for _, x := range s.release(cellBits) {
		q.cells = append(q.cells, int(x>>cellBits))
	}
	return q, nil
}

// release returns the chosen places, with 2^bits places to a cell.
func (s *counts) release(bits uint) []int64 {
	var src noise.Source
	indices := slices.Sorted(maps.Keys(s.cells))
	rows := make([]int64, len(indices))
	for i, index := range indices {
		rows[i] = s.cells[index]
	}
	j := newJittered(indices, rows, bits, &src)
	return quantiles(j, s.params.cells()<<bits, j.len(), s.params.levels(), s.params.loss(), func(p part) int64 {
		return choose(p.segments(j), &src)
	})
}
