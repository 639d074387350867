package plan

import (
	"context"
	"fmt"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// Mechanism releases private means. It holds no private data: each release spends the budget again.
// Any number of goroutines may use it.
type Mechanism means.Mechanism

func (m *Mechanism) engine() *means.Mechanism { return (*means.Mechanism)(m) }

// New returns a Mechanism, or an error that wraps [ErrParams]. An ε above 20 or a δ above 0.01
// protects hardly anybody.
func New(p Params) (*Mechanism, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return made(means.New(p.engine()))
}

// Params returns the parameters, filled in; Auto is decided at Release.
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

// WithScales returns a Mechanism with given standard deviations of the coordinates: Dim positive
// finite public numbers in the units of the data. Equal numbers scale nothing. The error wraps
// [ErrParams].
func (m *Mechanism) WithScales(scales []float64) (*Mechanism, error) {
	return made(m.engine().WithScales(scales))
}

// WithRanges returns a Mechanism that knows the public range of every coordinate: Dim numbers min
// and max each, in the units of the data, min < max, within what the Params allow. Entries and
// released centres are clamped to it, and [Mean.IntervalBounded] and [Plain] are as narrow. Ranges
// of sparse rows must contain 0. The error wraps [ErrParams].
func (m *Mechanism) WithRanges(min, max []float64) (*Mechanism, error) {
	return made(m.engine().WithRanges(min, max))
}

// Release spends the budget and returns the private mean of dense rows of Dim entries each. Missing
// entries at the end of a row are 0, surplus ones are ignored.
//
// When the context is done it stops, releases nothing, and returns the context's error, wrapped. Do
// not publish how long it takes, which may depend on the data. The error wraps [ErrMismatch] if,
// under Replace, the number of rows is not Params.Rows, and [ErrParams] for TwoPass.
func (m *Mechanism) Release(ctx context.Context, x [][]float64) (*Mean, error) {
	return released(m.engine().Release(ctx, x))
}

// ReleaseSparse is Release for sparse rows, in time and memory proportional to their entries plus
// the number of rows plus Dim. The error wraps [ErrParams] also if the slices do not fit together.
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
