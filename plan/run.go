package plan

import (
	"context"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// run is one release: the rows, the budget, and what has been released so far.
type run struct {
	p        Params
	ctx      context.Context
	x        *rows
	budget   spending
	samplers []sampler // one for each worker
	given    []float64 // public standard deviations

	n        float64 // the number of rows to plan with: public, or as released
	relative float64 // the standard deviation of its noise, as a part of it; 0 if it is public

	centre []float64
	scale  []float64 // released or given standard deviations
	factor []float64 // y = (x − centre)·factor
	margin float64   // what the last C that was found was multiplied by
	scaled bool
	spent  Spent

	shaping *shaping  // the map of rows by centre and factor that measure used last
	squares []float64 // ‖y‖² of all rows under it; both nil once they are summed
}

func newRun(ctx context.Context, p Params, x *rows) *run {
	r := &run{p: p, ctx: ctx, x: x, budget: spending{total: p.Rho}, samplers: make([]sampler, max(p.Workers, 1))}
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

// zcdpNoise returns Gaussian noise for a budget and a sensitivity that are known to be in range;
// else its samples are NaN.
func zcdpNoise(sensitivity, rho float64) noise.Gaussian {
	sigma, err := noise.GaussianSigmaZCDP(rho, sensitivity)
	if err != nil {
		return noise.Gaussian{}
	}
	law, _ := noise.NewGaussian(sigma)
	return law
}

// addNoise returns the sum with noise, NaN if there is no noise. They are added as integers, so
// that what is rounded is private already: 2³⁶ rows have sums of at most 2⁶², and noise is drawn up
// to σ = 2⁴⁶.
func (s *sampler) addNoise(sum int64, law noise.Gaussian) float64 {
	z := law.Sample(&s.src, 1)
	if z != z {
		return z
	}
	return float64(sum + int64(z))
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
func (r *run) ranks() change {
	if ch := r.p.ranks(); ch == replaced || r.x.sparse == nil {
		return ch
	}
	return either
}

// quantiles releases a quantile of each of the listed columns with the budget rho each, as values
// of the axis.
func (r *run) quantiles(list []int, a *keying, base []region, quantile, rho float64) ([]float64, error) {
	keys, err := r.keys(list, a, base, quantile, rho)
	out := make([]float64, len(keys))
	for at, key := range keys {
		out[at] = a.value(key)
	}
	return out, err
}

// keys is quantiles as keys of the axis.
func (r *run) keys(list []int, a *keying, base []region, quantile, rho float64) ([]uint32, error) {
	out := make([]uint32, len(list))
	if len(list) == 0 {
		return out, r.stop()
	}
	ch := r.ranks()
	draw, err := r.drawer(newWeights(rho, quantile, ch, r.x.count()), a.axis, base, rho, ch)
	if err != nil {
		return nil, err
	}
	err = r.x.columns(list, len(r.samplers), r.stop, a, func(at, worker int, c column) {
		out[at] = draw(&r.samplers[worker], c)
	})
	return out, err
}

// drawer returns the function that draws candidates with the weights w, which a budget of rho
// affords.
func (r *run) drawer(w *weights, a axis, base []region, rho float64, ch change) (func(*sampler, column) uint32, error) {
	if r.p.Steps.Search == 0 {
		return func(s *sampler, c column) uint32 { return s.quantile(c, base, w) }, nil
	}
	noisy, err := w.searchNoise(rho, r.p.Steps.Search, ch)
	if err != nil {
		return nil, err
	}
	return func(s *sampler, c column) uint32 { return s.binarySearch(c, a.keys, w, noisy, r.p.Steps.Search) }, nil
}
