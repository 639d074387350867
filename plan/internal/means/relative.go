package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Errors in standard deviations: Params.Relative.
//
// The split. With factors f and C² = Σfᵢ²σᵢ², the noise of coordinate i is κC/fᵢ = κσᵢ/√sᵢ, where
// sᵢ = fᵢ²σᵢ²/C² and Σsᵢ = 1: coordinate i has the part sᵢ of ρ. Let errors count with weights wᵢ.
//
// Theorem. E Σ(wᵢ|ηᵢ|)^p is least, for every p > 0, if sᵢ is in proportion to (wᵢσᵢ)^{2p/(p+2)}.
//
// Proof. It is in proportion to Σaᵢ·sᵢ^{−p/2} with aᵢ = (wᵢσᵢ)^p, which is convex in s. Its
// derivatives −(p/2)·aᵢ·sᵢ^{−p/2−1} are all equal, as they are at the least value with Σsᵢ = 1,
// where sᵢ is in proportion to aᵢ^{2/(p+2)}. ∎
//
// The thesis has wᵢ = 1: parts in proportion to σᵢ for p = 2 and to σᵢ^{2/3} for p = 1, so fᵢ =
// σᵢ^{−2/(p+2)}. Relative has wᵢ = 1/σᵢ: then all parts are 1/d and fᵢ = 1/σᵢ, whatever p is, and
// each column has noise of κ√d of its own standard deviations, however the scales differ. It is
// also where p → 0 leads for any weights: (Σ(wᵢ|ηᵢ|)^p/d)^{1/p} becomes the geometric mean, in
// which weights are a common factor. So it minimises the product of all errors, the volume of the
// box of intervals, which no choice of units changes. With the parts of p = 2, column i has
// √(‖σ‖₁/(dσᵢ)) times the noise: of scales 1 and 10⁹, the column of 1 has 2·10⁴ times as much.
//
// The scales. Here they decide how much noise a column has, not the unit of the table, so they are
// looked for as far out as the budget affords: σ̂ is a quantile of |x − μ̃| over that of the normal
// law. Rows that are clipped are those in the tail; a column with heavy tails should not decide how
// long the rows of all are. With errors of ln σ̂ of variance τ², the noise energy grows by
// E e^{2ε}·E e^{−2ε} = e^{4τ²}. The rank that is drawn has the standard deviation √2/c, and ln x
// changes by 1/(z·h(z)) for each part of the tail, h the hazard rate: τ = √2/(L·z·h(z)) where c·n·t
// = L. L is above 15, which makes the loss less than 4 % at the median and 1 % further out. More
// budget buys a smaller t rather than a smaller τ, and no more than relativeShare of ρ.
//
// Where all but a few entries of a column are the same, the quantile is 0, or what the centre errs
// by. The axis reaches so far down that a scale between 0 and the few entries would be drawn at
// random from it, so most of its base measure is at the bottom. Such columns, which are few, are
// looked at again, farther out. A column that has no scale then is left out of the rows: it would
// be long in up to tn of them, and decide about C. Its mean is its centre. Less than about 2tn of
// its entries are elsewhere, which is at most √(2t) of its standard deviations, and 2t of its
// range: t of that is what the Mean says as its standard deviation.

const (
	// of ρ for scales farther out than the median; twice as much in the second look
	relativeShare = 0.05
	nearer        = 0.75    // the next t that is tried
	farthest      = 0x1p-10 // the least t
	relativeBits  = 3       // binary digits of a scale
	bottomWeight  = 1 << 19 // of key 0; all others together are 2¹⁰ at most
	bottomNeed    = 7       // by how much that raises L at the median
	// The largest |mean|, in standard deviations, that Enough and the budget of centres count on
	// where no Resolution is given.
	mostOffset   = 1 << 10
	centreDigits = 0x1p-22 // of a centre: its distance from entries that are all the same
)

// scaleFree reports whether no Resolution was given.
func (p Params) scaleFree() bool { return p.Resolution == p.Max*minResolution }

// factor returns the factor of a coordinate of scale s, 0 for a column that is left out.
func (p *Params) factor(s float64) float64 {
	switch {
	case p.Relative && s == p.noScale():
		return 0
	case p.Relative:
		return 1 / s
	}
	return shapingFactor(s, p.P)
}

// noScale is the scale of a column that is left out, larger than all others.
func (p Params) noScale() float64 { return 4 * p.Max }

// normalTail returns the z that |Z| exceeds with probability t, and the relative change of z over
// 1/L of the tail, times L.
func normalTail(t float64) (z, change float64) {
	z = math.Sqrt2 * math.Erfinv(1-t)
	return z, t / (z * 2 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi))
}

// relativeAxis is scaleAxis for Relative.
func (p Params) relativeAxis() quantile.Axis {
	return quantile.LogAxis(p.leastScale()*normalMedian, 2*p.Max, relativeBits)
}

// relativeNeed returns L of the scales of m columns by the tail t.
func (p Params) relativeNeed(m, t float64) float64 {
	a := p.relativeAxis()
	_, change := normalTail(t)
	l := quantile.LogSum(m, p.Failure/stages, 2*change/math.Log(a.Max/a.Unit))
	if t == 0.5 {
		l += bottomNeed
	}
	return l
}

// relativeTail returns the part t of the rows above the quantile that the scales of m columns are
// found by, for a share of ρ, and the budget that all take: the median if nothing better is
// affordable.
func (p Params) relativeTail(m, n, share float64, ch quantile.Change) (t, rho float64) {
	need := func(t float64) float64 { return m * quantile.Need(p.relativeNeed(m, t), 1-t, n, ch) }
	for t = 0.5; t*nearer > farthest && need(t*nearer) <= share*p.Rho; {
		t *= nearer
	}
	return t, need(t)
}

// relativeSpreads releases the scales of all columns for Relative.
func (r *run) relativeSpreads() error {
	list, a, last := exact.Indices(r.p.Dim), r.p.relativeAxis(), 1.0
	base := []quantile.Region{{End: 1, Weight: bottomWeight}, {Start: 1, End: a.Keys, Weight: 1}}
	for look := range 2 {
		m := float64(len(list))
		t, need := r.p.relativeTail(m, r.n, relativeShare*float64(1+look), r.ranks())
		if len(list) == 0 || t >= last {
			break
		}
		last = t
		rho := r.budget.take(r.fix(0, mostShare, func() float64 { return need }))
		r.spent.Scale += rho
		values, err := r.quantiles(list, &quantile.Keying{Axis: a, Centre: r.centre}, base, 1-t, each(rho, m))
		if err != nil {
			return err
		}
		z, _ := normalTail(t)
		var none []int
		for at, i := range list {
			r.scale[i] = values[at] / z
			if !(r.scale[i] > max(r.p.leastScale(), math.Abs(r.centre[i])*centreDigits)) {
				r.scale[i], none = r.p.noScale(), append(none, i)
			}
		}
		list = none
	}
	r.tail = last
	return r.stop()
}
