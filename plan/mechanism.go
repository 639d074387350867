package plan

import (
	"context"
	"fmt"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// Mechanism releases private means. It holds no private data: each release spends the budget of the
// Params again. Any number of goroutines may use it.
type Mechanism means.Mechanism

func (m *Mechanism) engine() *means.Mechanism { return (*means.Mechanism)(m) }

// New returns a Mechanism, or an error that wraps [ErrParams].
//
// For experiments, values that protect hardly anybody are accepted: ε above 20, δ above 0.01.
func New(p Params) (*Mechanism, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return made(means.New(p.engine()))
}

// Params returns the parameters with every default filled in that does not depend on the number of
// rows or their form: Auto is decided at Release.
func (m *Mechanism) Params() Params { return paramsOf(m.engine().Params()) }

// Guarantee returns the guarantee of one release.
func (m *Mechanism) Guarantee() budget.Guarantee { return m.engine().Params().Guarantee() }

// String says what is released under which guarantee.
func (m *Mechanism) String() string {
	p := m.engine().Params()
	return fmt.Sprintf("plan.Mechanism: means of %d coordinates in [−%g, %g] by %v, %v", p.Dim, p.Max, p.Max, p.Method, m.Guarantee())
}

// made returns the Mechanism around what the engine returns.
func made(of *means.Mechanism, err error) (*Mechanism, error) {
	if err != nil {
		return nil, err
	}
	return (*Mechanism)(of), nil
}

// WithScales returns a Mechanism that takes the standard deviations of the coordinates as given,
// Dim positive finite numbers in the units of the data, and spends nothing on them. They must be
// public. Equal numbers scale nothing: rows are clipped by their norms alone. The error wraps
// [ErrParams].
func (m *Mechanism) WithScales(scales []float64) (*Mechanism, error) {
	return made(m.engine().WithScales(scales))
}

// WithRanges returns a Mechanism that knows the public range of every coordinate: Dim numbers min
// and max each, in the units of the data, min < max, within what the Params allow. Entries and
// released centres are clamped to their own range instead of [−Max, Max]. [Mean.IntervalBounded]
// and the Method [Plain] are as narrow as the ranges: Plain has noise for rows that are half a
// width away from the middle of each range. If rows are NonNegative, or sparse under AddRemove, it
// has noise for rows at the end of each range that is farther from 0. Sparse rows need ranges that
// contain 0. The error wraps [ErrParams].
//
// Where ranges are tight package elliptical is better: it spends nothing on finding scales.
func (m *Mechanism) WithRanges(min, max []float64) (*Mechanism, error) {
	return made(m.engine().WithRanges(min, max))
}

// Release spends the budget and returns the private mean of dense rows of Dim entries each.
//
// Entries are clamped to [−Max, Max]. Entries that a row is too short for count as 0, surplus ones
// are ignored. Under AddRemove an empty row is a missing one. The rows are not changed. For any
// rows the result is a valid Mean; with too few rows it is mostly noise.
//
// NaN, a missing value, is not among those that the centre and the scale of its column are found
// from, except for a few that draw a column of hardly any value to 0. It counts as the centre c of
// [Mean.Centre] then, or as the end of a range that c lies outside of. So with m the mean of the
// values that are there, in a part s of the rows, the mean of the column is c + s·(m − c). To
// divide by the number of those that are there, add a column that is 1 where there is one and else
// 0: its mean is s, and m is c + (Estimate − c)/s. A column in which fewer values are there than a
// release needs rows ([Plan.LeastRows]) has a centre near 0.
//
// Release stops when the context is done, with an error that wraps that of the context. Then
// nothing was released. How long a release takes, and so whether it was stopped, may depend on the
// data: do not publish that.
//
// The error wraps [ErrMismatch] if, under Replace, the number of rows is not Params.Rows, and
// [ErrParams] if the Method is TwoPass, which is for sparse rows.
func (m *Mechanism) Release(ctx context.Context, x [][]float64) (*Mean, error) {
	return released(m.engine().Release(ctx, x))
}

// ReleaseSparse is Release for sparse rows. It takes time and memory proportional to their entries
// plus the number of rows plus Dim, as long as the centre is the origin or the released median is 0
// in all except a few coordinates. An entry that is NaN is none. The error wraps [ErrParams] also
// if the slices do not fit together.
func (m *Mechanism) ReleaseSparse(ctx context.Context, x Sparse) (*Mean, error) {
	return released(m.engine().ReleaseSparse(ctx, means.Sparse(x)))
}

// released returns the Mean around what the engine returns.
func released(of *means.Mean, err error) (*Mean, error) {
	if err != nil {
		return nil, err
	}
	return &Mean{*of}, nil
}
