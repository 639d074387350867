package means

import (
	"context"
	"math"
	"runtime"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
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
	longest float64   // R of the first of two passes: see choosesMargin
	content float64   // the sum of the means that the first of two passes has told
	margin  float64   // what the last C that was found was multiplied by
	scaled  bool
	spent   Spent

	shaping *shaping  // the map of rows by centre and factor that measure used last
	squares []float64 // ‖y‖² of all rows under it; both nil once they are summed
}

func newRun(ctx context.Context, p Params, x *rows) *run {
	r := &run{bounds: x.bounds, p: p, ctx: ctx, x: x, sparse: x.sparse != nil, budget: spending{total: p.Rho}, samplers: make([]sampler, x.workers(p.Workers))}
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

// manyEntries is from how many entries on, stored ones of sparse rows, a release takes all cores
// unless Workers says otherwise. Each of its goroutines has randomness of its own, and their sums
// are of integers, so the schedule changes no distribution.
const manyEntries = 1 << 18

// workers returns the number of goroutines.
func (r *rows) workers(wanted int) int {
	entries := len(r.dense) * r.dim
	if r.sparse != nil {
		entries = len(r.sparse.Indices)
	}
	if wanted == 0 && entries >= manyEntries {
		return runtime.GOMAXPROCS(0)
	}
	return max(wanted, 1)
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
		gaussian := zcdpNoise(1, rho)
		r.n = cap1(r.samplers[0].addNoise(int64(r.x.count()), gaussian))
		r.relative = gaussian.Sigma() / r.n
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

// The improved PLAN, and Algorithm 17 as it stands with its own steps selected.
//
// 1. A pilot of 64 random coordinates: their centres and scales, at the budget per coordinate that
//    they need.
// 2. Centres of all others, with a base measure that has learnt from the pilot.
// 3. If scaling pays, scales of all others, likewise.
// 4. C, a quantile of the norms of the centred and scaled rows, and γ, the mean of min(1, C/‖y‖).
// 5. The sum of the clipped rows, with Gaussian noise from all that is left of the budget.
//
// Each is released, and may depend on what was released before: see spending.

const (
	pilotSize  = 64
	leastDim   = 8 * pilotSize // below, a pilot costs more than it gains
	leastShare = 0.02          // of ρ for the centres, below which their own error would show
	mostShare  = 0.45          // of ρ for the centres, and for the scales
	pilotShare = 0.10          // of ρ for the pilot, at most
	gammaShare = 0.002         // of ρ for γ
	leastRank  = 8             // the least L: a median then has an error of .22σ
	spareNeed  = 15            // what L is more, so that no median misses,
	spareShare = 0.01          // as far as a step affords that for this part of ρ
	// Units that a mean is assumed to be away from 0 where the whole of [−Max, Max] would cost too
	// much
	moderate   = 16
	scaleGain  = 0.97 // scaling must bring the noise below that
	heavyRatio = 1.3  // C²/(d·median σ̂²) from which on scales pay that the pilot did not see
	// of Σσ̂^{2p/(p+2)}, the square of the norm: a coordinate that has more is heavy
	zeroWeight = 1 << 24 // of a centre of 0 if no Resolution is given, in cells: an octave
	heavyPart  = 0.005
	heavyShare = 0.01 // of ρ for the centres of heavy coordinates
	stages     = 3    // that may fail, each with probability β/3
)

// adaptive runs Adaptive and Thesis.
func (r *run) adaptive() (*Mean, error) {
	pilot, rest := r.choosePilot()
	if err := r.pilot(pilot, len(rest) > 0); err != nil {
		return nil, err
	}
	if err := r.centres(pilot, rest); err != nil {
		return nil, err
	}
	scaled := r.scalingPays(pilot, len(rest))
	if scaled {
		if err := r.scaleAll(pilot, rest); err != nil {
			return nil, err
		}
	}
	limit, err := r.limit(r.depth(only))
	if err != nil {
		return nil, err
	}
	if !scaled && r.escaped(limit/r.margin, pilot) {
		if err := r.scaleAll(pilot, rest); err != nil {
			return nil, err
		}
		if limit, err = r.limit(r.depth(only)); err != nil {
			return nil, err
		}
	}
	return r.clippedMean(limit)
}

// scaleAll releases all scales, and scales by them.
func (r *run) scaleAll(pilot, rest []int) error {
	if err := r.scales(pilot, rest); err != nil {
		return err
	}
	if err := r.recentre(); err != nil {
		return err
	}
	r.shape()
	return nil
}

// choosePilot splits the coordinates into the pilot, chosen at random, and the others. Below
// leastDim, and where there is nothing to decide, all are the pilot.
func (r *run) choosePilot() (pilot, rest []int) {
	order := exact.Indices(r.p.Dim)
	learn := r.p.Method == Adaptive && !r.p.Relative && r.p.Dim >= leastDim && r.p.Steps.Base == quantile.AutoBase
	if !learn {
		return order, nil
	}
	return exact.DrawSubset(order, pilotSize, r.samplers[0].Src.Uint64N), order[pilotSize:]
}

// pilot releases the centres and, if they may be used, the scales of the listed coordinates: all,
// or the part that is to teach.
func (r *run) pilot(list []int, part bool) error {
	most := mostShare
	if part {
		most = pilotShare
	}
	m := float64(len(list))
	if r.p.Steps.Centre == Median {
		rho := r.fixPart(r.p.Shares.Centre, most, m, func() float64 {
			moderately := min(moderate*r.p.Resolution, r.p.Max)
			cautious := r.stageNeed(m, r.p.centreSlope(r.p.Max))
			wanted := min(cautious, max(most/2*r.p.Rho, r.stageNeed(m, r.p.centreSlope(moderately))))
			if part {
				return wanted
			}
			return max(wanted, leastShare*r.p.Rho)
		})
		if err := r.medians(list, rho, r.p.centreBase()); err != nil {
			return err
		}
	}
	if r.given != nil || r.p.Steps.Scaling == Unscaled && !part {
		return r.stop()
	}
	if r.p.Relative {
		return r.relativeSpreads()
	}
	rho := r.fixPart(r.p.Shares.Scale, most, m, func() float64 { return r.stageNeed(m, r.p.scaleSlope()) })
	return r.spreads(list, rho, r.p.scaleAxis().Plain())
}

// stageNeed returns the budget of medians of m coordinates with a plain base measure, of which
// slope/L lies within 1/c ranks.
func (r *run) stageNeed(m, slope float64) float64 {
	return r.p.medianBudget(m, quantile.LogSum(m, r.p.Failure/stages, slope), r.n, r.ranks())
}

// medianBudget returns the budget of medians of m coordinates of n rows that need L: what L+15
// needs, or what L needs and a hundredth of ρ. The probability of a miss, d·(A/a)·e^{−L} by (2)
// of need.go, falls with L so fast that a share that nobody notices takes it from β/3 to 10⁻⁹.
func (p Params) medianBudget(m, l, n float64, ch quantile.Change) float64 {
	need := func(l float64) float64 { return m * quantile.Need(l, 0.5, n, ch) }
	l = max(l, leastRank)
	return min(need(l+spareNeed), need(l)+spareShare*p.Rho)
}

// centreAxis returns the axis of the centres.
func (p Params) centreAxis() quantile.Axis {
	if p.Steps.Base == quantile.Uniform {
		return quantile.UniformAxis(-p.Max, p.Max)
	}
	return quantile.AsinhAxis(p.Resolution, p.Max)
}

// centreSlope returns the part of the axis, times L, that the candidates within 1/c ranks of the
// median of N(x, Resolution²) take: 1/(2L) of the data on either side lie within √(π/2)/L of that
// scale. A uniform axis has its cells for a Resolution.
func centreSlope(a quantile.Axis, x float64) float64 {
	const widths = 1 << 10
	within := 1.2533 * a.Unit / widths
	return (math.Asinh((x+within)/a.Unit) - math.Asinh((x-within)/a.Unit)) * widths / (2 * math.Asinh(a.Max/a.Unit))
}

// centreSlope is that of the axis at x; if no Resolution is given, for all x that are no more than
// mostOffset standard deviations.
func (p Params) centreSlope(x float64) float64 {
	a := p.centreAxis()
	if p.scaleFree() && a.Base == quantile.Asinh {
		return 1.2533 / mostOffset / math.Asinh(a.Max/a.Unit)
	}
	return centreSlope(a, x)
}

// centreBase returns the base measure of centres. If no Resolution is given, most of the axis lies
// between 0 and the entries of a column that is mostly 0, so 0 itself has the measure of an octave.
func (p Params) centreBase() []quantile.Region {
	a := p.centreAxis()
	if !p.scaleFree() || a.Base != quantile.Asinh {
		return a.Plain()
	}
	zero := uint64(a.Key(0))
	return []quantile.Region{{End: zero, Weight: 1}, {Start: zero, End: zero + 1, Weight: zeroWeight}, {Start: zero + 1, End: a.Keys, Weight: 1}}
}

// medians releases the medians of the listed coordinates with the budget rho for all together.
func (r *run) medians(list []int, rho float64, base []quantile.Region) error {
	rho = r.budget.take(rho)
	r.spent.Centre += rho
	a := r.p.centreAxis()
	values, err := r.quantiles(list, &quantile.Keying{Axis: a}, base, 0.5, each(rho, float64(len(list))))
	if err != nil {
		return err
	}
	for at, i := range list {
		r.centre[i] = r.clean(i, values[at])
	}
	return nil
}

// each returns rho/n, rounded down.
func each(rho, n float64) float64 { return rho / cap1(n) * (1 - 0x1p-50) }

// centres releases the centres of the coordinates that were not in the pilot.
func (r *run) centres(pilot, rest []int) error {
	if r.p.Steps.Centre != Median || len(rest) == 0 {
		return r.stop()
	}
	a := r.p.centreAxis()
	base := a.Window(pick(r.centre, pilot))
	m := float64(len(rest))
	rho := r.fixPart(r.p.Shares.Centre, mostShare, m, func() float64 {
		l := a.Requirement(base, m, r.p.Failure/stages, len(pilot), func(i int, width float64) (lo, hi float64) {
			x, s := r.centre[pilot[i]], r.scaleOrUnit(pilot[i])
			return x - 2.5066*width*s, x + 2.5066*width*s // 1/φ(0)
		}, func(i int) (lo, hi float64) {
			x, s := r.centre[pilot[i]], r.scaleOrUnit(pilot[i])
			return x - 10*s, x + 10*s
		})
		return max(r.p.medianBudget(m, l, r.n, r.ranks()), leastShare*r.p.Rho)
	})
	return r.medians(rest, rho, base)
}

// recentre releases the medians of heavy coordinates again, with more budget. Where one coordinate
// is a good part of the norm, rows that are far out in it are the ones that are clipped, and the
// mean is drawn towards the centre more than γ makes up for; so its centre should be good.
func (r *run) recentre() error {
	if r.p.Method != Adaptive || r.p.Relative || r.p.Steps.Centre != Median || r.given != nil {
		return nil
	}
	e, sum := 2*r.p.P/(r.p.P+2), 0.0
	for _, s := range r.scale {
		sum += math.Pow(s, e)
	}
	var heavy []int
	for i, s := range r.scale {
		if part := math.Pow(s, e) / sum; part > heavyPart && part > 4/float64(r.p.Dim) {
			heavy = append(heavy, i)
		}
	}
	rho := min(heavyShare*r.p.Rho, clipPart*r.budget.left())
	wanted := r.stageNeed(float64(len(heavy)), r.p.centreSlope(r.p.Max))
	if len(heavy) == 0 || wanted > rho {
		return r.stop()
	}
	return r.medians(heavy, rho, r.p.centreAxis().Plain())
}

// scaleOrUnit returns the released standard deviation of the coordinate, or Unit.
func (r *run) scaleOrUnit(i int) float64 {
	if s := r.scale[i]; s > 0 {
		return s
	}
	return r.p.Resolution
}

// pick returns the values at the listed places.
func pick(x []float64, list []int) []float64 {
	out := make([]float64, len(list))
	for at, i := range list {
		out[at] = x[i]
	}
	return out
}

// plain runs the Gaussian mechanism on rows that no step has shaped.
func (r *run) plain() (*Mean, error) {
	if r.ranges.centred(r.p, r.sparse) {
		r.centre, _ = r.ranges.middles()
	}
	r.p.Steps.Undivided = r.p.Steps.Undivided || r.p.Relation == budget.Replace
	return r.clippedMean(r.ranges.bound(r.p, r.sparse))
}
