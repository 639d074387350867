package means

import (
	"context"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mechanism releases private means. It holds no private data, and each release spends the budget
// again.
type Mechanism struct {
	params Params    // resolved
	scales []float64 // public standard deviations, or nil
	ranges *ranges   // public, or nil
}

// New returns a Mechanism of valid Params.
func New(p Params) (*Mechanism, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Mechanism{params: p.Resolved()}, nil
}

// Wrap makes a *plan.Mechanism of a Mechanism. Package plan sets it, for package plan/thesis.
var Wrap func(*Mechanism) any

// Params returns the resolved Params.
func (m *Mechanism) Params() Params { return m.params }

// WithScales returns a Mechanism with public standard deviations.
func (m *Mechanism) WithScales(scales []float64) (*Mechanism, error) {
	p := m.params
	if p.Dim == 0 {
		return nil, notMade()
	}
	if len(scales) != p.Dim {
		return nil, bad("scales", len(scales), "as many as Dim")
	}
	given := make([]float64, len(scales))
	for i, s := range scales {
		if !(s > 0) || math.IsInf(s, 1) {
			return nil, bad("scales", s, "positive finite numbers")
		}
		given[i] = min(max(s, p.leastScale()), 2*p.Max)
	}
	return &Mechanism{params: p, scales: given, ranges: m.ranges}, nil
}

// bounds returns the public bounds of the rows.
func (m *Mechanism) bounds() bounds {
	return bounds{dim: m.params.Dim, least: m.params.least(), most: m.params.Max, ranges: m.ranges}
}

// Release spends the budget on dense rows. Under AddRemove an empty row is a missing one.
func (m *Mechanism) Release(ctx context.Context, x [][]float64) (*Mean, error) {
	r := &rows{bounds: m.bounds(), dense: x}
	if m.params.Relation != budget.Replace {
		r = r.present()
	}
	return m.release(ctx, r)
}

// ReleaseSparse spends the budget on sparse rows.
func (m *Mechanism) ReleaseSparse(ctx context.Context, x Sparse) (*Mean, error) {
	if !x.wellFormed() {
		return nil, bad("Sparse", "slices that do not fit together", "Offsets that ascend from 0 to len(Indices), and Values as many or none")
	}
	if m.ranges != nil && !m.ranges.haveZero() {
		return nil, bad("ranges", "one without 0", "0 in every range, as most entries of sparse rows are 0")
	}
	s := x.canonical(m.params.Dim)
	return m.release(ctx, &rows{bounds: m.bounds(), sparse: &s})
}

// release runs the method on the rows.
func (m *Mechanism) release(ctx context.Context, x *rows) (*Mean, error) {
	p := m.params
	if p.Dim == 0 {
		return nil, notMade()
	}
	sparse := x.sparse != nil
	if p.Method == TwoPass && !sparse {
		return nil, bad("Method", p.Method, "another one for dense rows, or ReleaseSparse")
	}
	if p.Relation == budget.Replace && p.Rows > 0 && p.Rows != x.count() {
		return nil, check.MismatchError("plan", "Rows", p.Rows, x.count())
	}
	r := newRun(ctx, p, x)
	r.given = m.scales
	if r.given == nil {
		r.p = r.p.chosen(r.n, sparse, m.ranges)
	} else {
		r.p = r.p.adaptable(sparse)
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

// sampler draws quantiles and noise. It belongs to one goroutine.
type sampler struct{ quantile.Sampler }

// run is one release: the rows, the budget, and what has been released so far.
type run struct {
	bounds   // of the rows, public
	p        Params
	ctx      context.Context
	x        *rows // private: who mentions it sees rows
	sparse   bool  // whether they are
	budget   spending
	samplers []sampler // one for each worker
	given    []float64 // public standard deviations

	n        float64 // the number of rows to plan with: public, or as released
	relative float64 // the standard deviation of its noise, as a part of it; 0 if it is public

	centre  []float64
	scale   []float64 // released or given standard deviations
	factor  []float64 // y = (x − centre)·factor
	tail    float64   // the part of the rows beyond what the last scales of Relative are
	content float64   // the sum of the means that the first of two passes has told
	margin  float64   // what the last C that was found was multiplied by
	scaled  bool
	spent   Spent

	shaping *shaping  // the map of rows by centre and factor that measure used last
	squares []float64 // ‖y‖² of all rows under it; both nil once they are summed
}

func newRun(ctx context.Context, p Params, x *rows) *run {
	r := &run{bounds: x.bounds, p: p, ctx: ctx, x: x, sparse: x.sparse != nil, budget: spending{total: p.Rho}, samplers: make([]sampler, max(p.Workers, 1))}
	r.p.Workers = 0
	r.centre = make([]float64, p.Dim)
	r.scale = make([]float64, p.Dim)
	r.factor = make([]float64, p.Dim)
	for i := range r.factor {
		r.factor[i] = 1
	}
	r.countRows()
	return r
}

// countShare is what a private number of rows costs of the whole budget. It is used to plan shares,
// so an error of some percent does no harm.
const countShare = 1.0 / 1024

// countRows finds the number of rows to plan with: it is public, or it is released with Gaussian
// noise of sensitivity 1.
func (r *run) countRows() {
	switch {
	case r.p.Relation == budget.Replace:
		r.p.Rows = r.x.count()
		r.n = float64(r.p.Rows)
	case r.p.Rows > 0:
		r.n = float64(r.p.Rows)
	default:
		rho := r.budget.take(r.p.Rho * countShare)
		law := zcdpNoise(1, rho)
		r.n = cap1(r.samplers[0].addNoise(int64(r.x.count()), law))
		r.relative = law.Sigma() / r.n
		r.spent.Divisor += rho
	}
}

// stop returns the error of the context, if it is done.
func (r *run) stop() error {
	if err := r.ctx.Err(); err != nil {
		return interrupted(err)
	}
	return nil
}

// fix returns the share if it is given, as a budget, else what choose returns, but no more than the
// part most of what is left. A given share is capped so that later steps keep some budget.
func (r *run) fix(share, most float64, choose func() float64) float64 {
	if share > 0 {
		return min(share*r.p.Rho, max(r.budget.left()-(1-mostShares)/2*r.p.Rho, mostShare*r.budget.left()))
	}
	return min(choose(), most*r.budget.left())
}

// fixPart is fix for m of the Dim coordinates: a given share is for all, a chosen one for them
// alone.
func (r *run) fixPart(share, most, m float64, choose func() float64) float64 {
	return r.fix(share*m/float64(r.p.Dim), most, choose)
}

// ranks returns how ranks in a column change between neighbours. Under AddRemove a sparse row may
// also lose all its entries: then the size of the column stays, and its value there becomes 0.
// Under Replace a dense row may have NaN in place of a number, which may not be in the column.
func (r *run) ranks() quantile.Change {
	if ch := r.p.ranks(); (ch == quantile.Replaced) == r.sparse {
		return ch
	}
	return quantile.Either
}

// quantiles releases a quantile of each of the listed columns with the budget rho each, as values
// of the axis.
func (r *run) quantiles(list []int, a *quantile.Keying, base []quantile.Region, level, rho float64) ([]float64, error) {
	keys, err := r.keys(list, a, base, level, rho)
	out := make([]float64, len(keys))
	for at, key := range keys {
		out[at] = a.Value(key)
	}
	return out, err
}

// keys is quantiles as keys of the axis.
func (r *run) keys(list []int, a *quantile.Keying, base []quantile.Region, level, rho float64) ([]uint32, error) {
	out := make([]uint32, len(list))
	if len(list) == 0 {
		return out, r.stop()
	}
	ch := r.ranks()
	draw, err := r.drawer(quantile.NewWeights(rho, level, ch, r.x.count()), a.Axis, base, rho, ch)
	if err != nil {
		return nil, err
	}
	err = r.x.columns(list, len(r.samplers), r.stop, a, standIns(a, rho, ch, r.x.count()), func(at, worker int, c quantile.Column) {
		out[at] = draw(&r.samplers[worker], c)
	})
	return out, err
}

// standIns returns what the first NaN entries of a column count as where its median is drawn with a
// budget of rho. A column in which hardly any value is there has a median then that lies within a
// Unit of 0, and not anywhere on the axis; of one in which half of them are it moves by a third of
// a standard deviation. They are the same for all data.
//
// Of 2m values at either end of a Unit the candidates between have the score 0, and are a part of
// asinh(1)/asinh(Max/Unit) of all; the others have up to m. So with cm = 4 − ln of that part the
// median lies elsewhere with probability e⁻⁴.
func standIns(a *quantile.Keying, rho float64, ch quantile.Change, n int) []uint32 {
	if a.Base != quantile.Asinh || a.Centre != nil {
		return nil
	}
	const need = 4
	part := math.Asinh(1) / math.Asinh(a.Max/a.Unit)
	keys := make([]uint32, int(min(2*(need-math.Log(part))/quantile.Reach(rho, 0.5, 2, ch), float64(n))))
	for j := range keys {
		keys[j] = a.Key(math.Copysign(a.Unit, float64(j%2)-0.5))
	}
	return keys
}

// drawer returns the function that draws candidates with the weights w, which a budget of rho
// affords.
func (r *run) drawer(w *quantile.Weights, a quantile.Axis, base []quantile.Region, rho float64, ch quantile.Change) (func(*sampler, quantile.Column) uint32, error) {
	if r.p.Steps.Search == 0 {
		return func(s *sampler, c quantile.Column) uint32 { return s.Quantile(c, base, w) }, nil
	}
	noisy, err := w.SearchNoise(rho, r.p.Steps.Search, ch)
	if err != nil {
		return nil, err
	}
	return func(s *sampler, c quantile.Column) uint32 {
		return s.BinarySearch(c, a.Keys, w, noisy, r.p.Steps.Search)
	}, nil
}

// budget hands out ρ. What a step gets may depend on what the steps before it have released, in
// particular on whether scales pay.
//
// That is sound: let step t have the laws P_t and Q_t given all releases before,
// D_α(P_t‖Q_t) ≤ αρ_t with ρ_t a function of those. Then E_Q[Π_{t≤T}
// (P_t/Q_t)^α·e^{−α(α−1)ρ_t}] ≤ 1, from the last step to the first. If Σρ_t ≤ ρ whatever is
// released, then E_Q[(P/Q)^α] ≤ e^{α(α−1)ρ}, for every α > 1: the whole is ρ-zCDP (Feldman and
// Zrnic, Individual Privacy Accounting via a Rényi Filter, NeurIPS 2021).
type spending struct{ total, spent float64 }

// take spends rho, or what is left of the total if that is less, and returns it.
func (b *spending) take(rho float64) float64 {
	rho = min(rho, b.left())
	b.spent = math.Nextafter(b.spent+rho, math.Inf(1)) // at least the exact sum
	return rho
}

// left returns what take can give, rounded down: spent and it do not exceed the total.
func (b *spending) left() float64 {
	return max(0, math.Nextafter(b.total-b.spent, 0)*(1-0x1p-50))
}
