package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// QuantileMechanism releases private quantiles of columns. It holds no private data: each Release
// spends the budget again. Any number of goroutines may use it.
type QuantileMechanism struct {
	params QuantileParams // resolved
}

// NewQuantiles returns the mechanism, or an error that wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewQuantiles(q QuantileParams) (*QuantileMechanism, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	return &QuantileMechanism{q.resolved()}, nil
}

// Params returns the parameters with every default filled in.
func (q *QuantileMechanism) Params() QuantileParams { return q.params }

// Guarantee returns the guarantee of one Release, however many levels it has.
func (q *QuantileMechanism) Guarantee() budget.Guarantee { return q.params.Guarantee() }

// String says what is released under which guarantee.
func (q *QuantileMechanism) String() string {
	return fmt.Sprintf("plan.QuantileMechanism: quantiles of %d columns in [−%g, %g] by %v, %v", q.params.Dim, q.params.Max, q.params.Max, q.params.Base, q.Guarantee())
}

// Release spends the budget and returns the private quantiles of all columns of dense rows (see
// [Mechanism.Release] for rows of other lengths), for up to 64 levels in [0, 1]; a level that is
// given twice counts once. Each quantile gets an equal part of ρ. In each column they are put in
// ascending order, which brings none of them further from its level than the worst is.
//
// Under AddRemove levels are rounded to multiples of 2⁻¹⁶. The error wraps [ErrParams] for no
// levels, too many or one outside [0, 1], and [ErrMismatch] under Replace if the number of rows is
// not that of the Params.
func (q *QuantileMechanism) Release(x [][]float64, levels ...float64) (*Quantiles, error) {
	return q.ReleaseContext(context.Background(), x, levels...)
}

// ReleaseContext is Release that stops when the context is done.
func (q *QuantileMechanism) ReleaseContext(ctx context.Context, x [][]float64, levels ...float64) (*Quantiles, error) {
	r := &rows{dim: q.params.Dim, least: -q.params.Max, max: q.params.Max, dense: x}
	if q.params.Relation == budget.AddRemove {
		r = r.present()
	}
	return q.release(ctx, r, levels)
}

// ReleaseSparse is ReleaseContext for sparse rows: zeros are counted, not touched.
func (q *QuantileMechanism) ReleaseSparse(ctx context.Context, x Sparse, levels ...float64) (*Quantiles, error) {
	if !x.wellFormed() {
		return nil, bad("Sparse", "slices that do not fit together", "Offsets that ascend from 0 to len(Indices), and Values as many or none")
	}
	s := x.canonical(q.params.Dim)
	return q.release(ctx, &rows{dim: q.params.Dim, least: -q.params.Max, max: q.params.Max, sparse: &s}, levels)
}

const maxLevels = 64

// cleanLevels returns the levels in ascending order, each once.
func cleanLevels(levels []float64) ([]float64, error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(levels)))
	if len(sorted) == 0 || len(sorted) > maxLevels {
		return nil, bad("levels", len(sorted), "at least one and at most 64")
	}
	for i, level := range sorted {
		if !(level >= 0 && level <= 1) {
			return nil, bad("levels", level, "numbers in [0, 1]")
		}
		sorted[i] += 0 // −0
	}
	return sorted, nil
}

func (q *QuantileMechanism) release(ctx context.Context, x *rows, levels []float64) (*Quantiles, error) {
	p := q.params
	if p.Dim == 0 {
		return nil, notMade("QuantileMechanism")
	}
	levels, err := cleanLevels(levels)
	if err != nil {
		return nil, err
	}
	if p.Relation == budget.Replace {
		if p.Rows > 0 && p.Rows != x.count() {
			return nil, fault.Mismatch("plan", "Rows", p.Rows, x.count())
		}
		p.Rows = x.count()
	}
	r := &run{p: p.params(), ctx: ctx, x: x, samplers: make([]sampler, max(p.Workers, 1))}
	p.Workers = 0
	out := &Quantiles{params: p, levels: levels, keys: make([]uint32, p.Dim*len(levels))}
	a, all, rho := p.axis(), subset.Indices(p.Dim), p.each(len(levels))
	for at, level := range levels {
		keys, err := r.keys(all, &keying{axis: a}, a.plain(), level, rho)
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			out.keys[i*len(levels)+at] = key
		}
	}
	for i := range p.Dim {
		slices.Sort(out.column(i))
	}
	return out, nil
}

// each returns the budget of one quantile of so many levels, rounded down.
func (q QuantileParams) each(levels int) float64 {
	return each(q.Rho, float64(q.Dim)*float64(levels))
}
