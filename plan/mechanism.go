package plan

import (
	"context"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mechanism releases private means. It holds no private data: each Release spends the budget of the
// Params again. Any number of goroutines may use it.
type Mechanism struct {
	params Params    // resolved
	scales []float64 // public standard deviations, or nil
	ranges *ranges   // public, or nil
}

// New returns a Mechanism, or an error that wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func New(p Params) (*Mechanism, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return &Mechanism{params: p.resolved()}, nil
}

// Params returns the parameters with every default filled in that does not depend on the number of
// rows or their form: Auto is decided at Release.
func (m *Mechanism) Params() Params { return m.params }

// Guarantee returns the guarantee of one Release.
func (m *Mechanism) Guarantee() budget.Guarantee { return m.params.Guarantee() }

// String says what is released under which guarantee.
func (m *Mechanism) String() string {
	return fmt.Sprintf("plan.Mechanism: means of %d coordinates in [−%g, %g] by %v, %v", m.params.Dim, m.params.Max, m.params.Max, m.params.Method, m.Guarantee())
}

// WithScales returns a Mechanism that takes the standard deviations of the coordinates as given,
// Dim positive finite numbers in the units of the data, and spends nothing on them. They must be
// public. The error wraps [ErrParams].
func (m *Mechanism) WithScales(scales []float64) (*Mechanism, error) {
	if m.params.Dim == 0 {
		return nil, notMade("Mechanism")
	}
	if len(scales) != m.params.Dim {
		return nil, bad("scales", len(scales), "as many as Dim")
	}
	given := make([]float64, len(scales))
	for i, s := range scales {
		if !(s > 0) || math.IsInf(s, 1) {
			return nil, bad("scales", s, "positive finite numbers")
		}
		given[i] = min(max(s, m.params.leastScale()), 2*m.params.Max)
	}
	return &Mechanism{params: m.params, scales: given, ranges: m.ranges}, nil
}

// Release spends the budget and returns the private mean of dense rows of Dim entries each.
//
// Entries are clamped to [−Max, Max] and NaN counts as 0. Missing entries of a row count as 0,
// surplus ones are ignored. Under AddRemove an empty row is a missing one. The rows are not
// changed. Whatever they are, the result is a valid Mean: with no rows, or far too few, one that is
// noise.
//
// The error wraps [ErrMismatch] if the number of rows is not that of the Params, under Replace, and
// [ErrParams] if the Method is TwoPass, which is for sparse rows.
func (m *Mechanism) Release(x [][]float64) (*Mean, error) {
	return m.ReleaseContext(context.Background(), x)
}

// ReleaseContext is Release that stops when the context is done, with an error that wraps that of
// the context. Nothing was released then, and how long a release takes, and so whether it was
// stopped, may depend on the data: do not publish that.
func (m *Mechanism) ReleaseContext(ctx context.Context, x [][]float64) (*Mean, error) {
	r := &rows{dim: m.params.Dim, least: m.params.least(), max: m.params.Max, ranges: m.ranges, dense: x}
	if m.params.Relation == budget.AddRemove {
		r = r.present()
	}
	return m.release(ctx, r)
}

// ReleaseSparse is Release for sparse rows, in time and memory proportional to their entries plus
// the number of rows plus Dim, for every Method but InstanceOptimal, which rotates, and as long as
// the centre is the origin or the released median is 0 in all but a few coordinates. The error
// wraps [ErrParams] also if the slices do not fit together.
func (m *Mechanism) ReleaseSparse(x Sparse) (*Mean, error) {
	return m.ReleaseSparseContext(context.Background(), x)
}

// ReleaseSparseContext is ReleaseSparse with the context of ReleaseContext.
func (m *Mechanism) ReleaseSparseContext(ctx context.Context, x Sparse) (*Mean, error) {
	if !x.wellFormed() {
		return nil, bad("Sparse", "slices that do not fit together", "Offsets that ascend from 0 to len(Indices), and Values as many or none")
	}
	if m.ranges != nil && !m.ranges.haveZero() {
		return nil, bad("ranges", "one without 0", "0 in every range, as most entries of sparse rows are 0")
	}
	s := x.canonical(m.params.Dim)
	return m.release(ctx, &rows{dim: m.params.Dim, least: m.params.least(), max: m.params.Max, ranges: m.ranges, sparse: &s})
}

// release runs the method on the rows.
func (m *Mechanism) release(ctx context.Context, x *rows) (*Mean, error) {
	p := m.params
	if p.Dim == 0 {
		return nil, notMade("Mechanism")
	}
	if p.Method == TwoPass && x.sparse == nil {
		return nil, bad("Method", p.Method, "another one for dense rows, or ReleaseSparse")
	}
	if p.Relation == budget.Replace && p.Rows > 0 && p.Rows != x.count() {
		return nil, fault.Mismatch("plan", "Rows", p.Rows, x.count())
	}
	r := newRun(ctx, p, x)
	r.given = m.scales
	if r.given == nil {
		r.p = r.p.chosen(r.n, x.sparse != nil, m.ranges)
	} else {
		r.p = r.p.adaptable(x.sparse != nil)
	}
	switch r.p.Method {
	case TwoPass:
		return r.twoPass()
	case Plain:
		return r.plain()
	case InstanceOptimal:
		return r.instanceOptimal()
	}
	return r.adaptive()
}
