package plan

import (
	"context"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// QuantileParams are the public numbers of a release of quantiles. They are comparable.
type QuantileParams struct {
	// Rho is ρ, the budget of all quantiles of all columns together, in [2⁻³⁰,
	// 2²⁰].
	Rho float64
	// Dim is the number of columns, at most 2²⁴.
	Dim int
	// Rows is the number of rows, public under Replace; 0 takes it from the
	// data. It is not used under AddRemove.
	Rows int
	// Max is M: entries are clamped to [−M, M], and results lie there.
	Max float64
	// Unit is the least difference that matters, 0 being Max/2²⁰: of Asinh the
	// width of the linear part, of Log the least value.
	Unit float64
	// Relation is budget.Replace or budget.AddRemove. 0 is Replace.
	Relation budget.Relation
	// Base is the public base measure; AutoBase is Asinh. With Log it is the
	// quantiles of |x| that are released.
	Base Base
	// Search is the number T of steps, at most 64, of the binary search. 0 is
	// the exponential mechanism, which is as good as a search of 2 steps.
	Search int
	// Workers is the number of goroutines, at most 1024; 0 is 1.
	Workers int
}

// params returns Params with the same meaning, for their checks and defaults.
func (q QuantileParams) params() Params {
	return Params{Rho: q.Rho, Dim: q.Dim, Rows: q.Rows, Max: q.Max, Unit: q.Unit, Relation: q.Relation, Steps: Steps{Search: q.Search}, Workers: q.Workers}
}

// Quantiles releases private quantiles of columns. It holds no private data: each Release spends
// the budget again.
type Quantiles struct {
	params Params
	axis   axis
}

// NewQuantiles returns the mechanism, or an error that wraps [ErrParams].
func NewQuantiles(q QuantileParams) (*Quantiles, error) {
	if q.Base > lastBase {
		return nil, bad("Base", q.Base, "one of the constants")
	}
	p := q.params()
	if err := p.validate(); err != nil {
		return nil, err
	}
	p = p.resolved()
	return &Quantiles{p, q.axis(p)}, nil
}

// axis returns the axis of the candidates.
func (q QuantileParams) axis(p Params) axis {
	switch q.Base {
	case Uniform:
		return uniformAxis(-p.Max, p.Max)
	case Log:
		return logAxis(p.Unit, p.Max, scaleBits)
	}
	return asinhAxis(p.Unit, p.Max)
}

// Guarantee returns the guarantee of one Release, however many levels it has.
func (q *Quantiles) Guarantee() budget.Guarantee { return q.params.Guarantee() }

// Release spends the budget and returns, for each level in [0, 1], the private quantiles of all
// columns of dense rows (see [Mechanism.Release] for rows of other lengths). Each quantile gets an
// equal part of ρ. They may be out of order where the data do not tell them apart.
//
// Under AddRemove levels are rounded to multiples of 2⁻¹⁶. The error wraps [ErrParams] for no
// levels or one outside [0, 1], and [ErrMismatch] under Replace if the number of rows is not that
// of the Params.
func (q *Quantiles) Release(x [][]float64, levels ...float64) ([][]float64, error) {
	return q.ReleaseContext(context.Background(), x, levels...)
}

// ReleaseContext is Release that stops when the context is done.
func (q *Quantiles) ReleaseContext(ctx context.Context, x [][]float64, levels ...float64) ([][]float64, error) {
	r := &rows{dim: q.params.Dim, least: -q.params.Max, max: q.params.Max, dense: x}
	if q.params.Relation == budget.AddRemove {
		r = r.present()
	}
	return q.release(ctx, r, levels)
}

// ReleaseSparse is ReleaseContext for sparse rows: zeros are counted, not touched.
func (q *Quantiles) ReleaseSparse(ctx context.Context, x Sparse, levels ...float64) ([][]float64, error) {
	if !x.wellFormed() {
		return nil, bad("Sparse", "slices that do not fit together", "Offsets that ascend from 0 to len(Indices), and Values as many or none")
	}
	s := x.canonical(q.params.Dim)
	return q.release(ctx, &rows{dim: q.params.Dim, least: -q.params.Max, max: q.params.Max, sparse: &s}, levels)
}

func (q *Quantiles) release(ctx context.Context, x *rows, levels []float64) ([][]float64, error) {
	if q.params.Dim == 0 {
		return nil, notMade("Quantiles")
	}
	if len(levels) == 0 {
		return nil, bad("levels", levels, "at least one")
	}
	for _, level := range levels {
		if !(level >= 0 && level <= 1) {
			return nil, bad("levels", level, "numbers in [0, 1]")
		}
	}
	if q.params.Relation == budget.Replace && q.params.Rows > 0 && q.params.Rows != x.count() {
		return nil, fault.Mismatch("plan", "Rows", q.params.Rows, x.count())
	}
	p := q.params
	r := &run{p: p, ctx: ctx, x: x, samplers: make([]sampler, max(p.Workers, 1))}
	all := subset.Indices(p.Dim)
	out := make([][]float64, len(levels))
	for at, level := range levels {
		var err error
		rho := each(p.Rho, float64(p.Dim)*float64(len(levels)))
		if out[at], err = r.quantiles(all, q.axis, q.axis.plain(), level, rho, func(_ int, x float64) uint32 { return q.axis.key(x) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// RequiredRho returns the budget at which, by (2) in budget.go, all quantiles of the level in n
// rows lie among the data with probability 1 − beta, if near each of them 1/n of the data takes at
// least the part density/n of the candidates. Constant columns have the least density: all data on
// one of the [Quantiles.Candidates]. NaN if an argument is invalid. For the binary search it is the
// budget at which the rank error is below n·min(q, 1−q).
func (q *Quantiles) RequiredRho(n int, level, density, beta float64) float64 {
	if n < 1 || !(level > 0 && level < 1) || !(density > 0) || !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	d, ch := float64(q.params.Dim), q.params.ranks()
	if steps := q.params.Steps.Search; steps > 0 {
		ranks := float64(n) * min(level, 1-level) / unitChange(level, ch)
		return d * float64(steps) * math.Log(max(float64(steps)*d/beta, 1)) / (ranks * ranks)
	}
	l := logSum(d, beta, min(density, 1))
	return d * need(l, level, float64(n), ch)
}

// RankError returns the rank error that, with probability 1 − beta, none of the quantiles of a
// level in one release with that many levels exceeds by binary search: see search.go. NaN for the
// exponential mechanism, whose rank error depends on the data, and if an argument is invalid.
func (q *Quantiles) RankError(level float64, count int, beta float64) float64 {
	if q.params.Steps.Search == 0 || !(level >= 0 && level <= 1) || count < 1 || !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	all := float64(q.params.Dim) * float64(count)
	return rankError(q.params.Steps.Search, beta/all, q.params.Rho/all, unitChange(level, q.params.ranks()))
}

// Candidates returns the number of values that a quantile can have.
func (q *Quantiles) Candidates() uint64 { return q.axis.keys }
