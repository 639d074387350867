package means

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Scales are the standard deviations of the coordinates, up to a common factor, which PLAN does not
// need to know.

const (
	normalMedian  = 0.6744897501960817 // Φ⁻¹(¾): the median of |Z|
	medianDensity = 0.6355             // the density of |Z| there
	medianSlope   = 0.4287             // the same for ln|Z|: medianDensity·normalMedian
	scaleBits     = 10                 // binary digits to which a scale is resolved
	leastPart     = 1.0 / 16           // of the Resolution: the least scale
)

// leastScale returns the least standard deviation.
func (p Params) leastScale() float64 { return max(p.Resolution*leastPart, p.Steps.Floor) }

// scaleAxis returns the axis of |x − μ̃|.
func (p Params) scaleAxis() quantile.Axis {
	if p.Steps.Base == quantile.Uniform {
		return quantile.UniformAxis(0, 2*p.Max)
	}
	return quantile.LogAxis(p.leastScale()*normalMedian, 2*p.Max, scaleBits)
}

// scaleSlope is the centreSlope of scales: 1/(2L) of the data on either side of the median are
// within a factor e^{±1/(2L·medianSlope)}.
func (p Params) scaleSlope() float64 {
	a := p.scaleAxis()
	return 1 / medianSlope / math.Log(a.Max/a.Unit)
}

// spreads releases the standard deviations of the listed coordinates with the budget rho for all
// together.
func (r *run) spreads(list []int, rho float64, base []quantile.Region) error {
	rho = r.budget.take(rho)
	r.spent.Scale += rho
	var values []float64
	var err error
	switch share := each(rho, float64(len(list))); r.p.Steps.Spread {
	case Pairs:
		values, err = r.pairSpreads(list, share)
	case Direct:
		values, err = r.directSpreads(list, share)
	case Means:
		values, err = r.meanSpreads(list, share)
	default:
		values, err = r.deviations(list, share, base)
	}
	if err != nil {
		return err
	}
	for at, i := range list {
		r.scale[i] = min(max(values[at], r.p.leastScale()), 2*r.p.Max)
	}
	return nil
}

// deviations estimates σ by the median of |x − μ̃|.
func (r *run) deviations(list []int, rho float64, base []quantile.Region) ([]float64, error) {
	a := r.p.scaleAxis()
	values, err := r.quantiles(list, &quantile.Keying{Axis: a, Centre: r.centre}, base, 0.5, rho)
	for at := range values {
		values[at] /= normalMedian
	}
	return values, err
}

// directSpreads estimates σ by the .841 quantile minus μ̃.
func (r *run) directSpreads(list []int, rho float64) ([]float64, error) {
	a := r.p.centreAxis()
	values, err := r.quantiles(list, &quantile.Keying{Axis: a}, a.Plain(), 0.841, rho)
	for at, i := range list {
		values[at] -= r.centre[i]
	}
	return values, err
}

// noiseRatio returns the factor by which scaling multiplies the ℓₚ norm of the noise:
// ‖σ‖_{2p/(p+2)}/(d^{1/p}·‖σ‖₂), for scales of a sample of the coordinates.
//
// With factors σ^{−2/(p+2)} and C² = Σσᵢ^{2p/(p+2)}, the noise has standard deviations in
// proportion to C·σᵢ^{2/(p+2)}, and its ℓₚ norm to C·(Σσᵢ^{2p/(p+2)})^{1/p} = ‖σ‖_{2p/(p+2)};
// without, C = ‖σ‖₂ in all d coordinates.
func noiseRatio(scales []float64, p float64) float64 {
	e := 2 * p / (p + 2)
	var shaped, squares float64
	top := slices.Max(scales)
	for _, s := range scales {
		shaped += math.Pow(s/top, e)
		squares += s / top * (s / top)
	}
	return math.Pow(shaped, 1/e) / (math.Pow(float64(len(scales)), 1/p) * math.Sqrt(squares))
}

// scalingPays decides whether to scale. The scales of rest coordinates still have to be estimated.
func (r *run) scalingPays(pilot []int, rest int) bool {
	switch {
	case r.given != nil || r.p.Steps.Scaling == Scaled || r.p.Relative:
		return r.p.Steps.Scaling != Unscaled
	case r.p.Steps.Scaling == Unscaled:
		return false
	}
	cost := 0.0
	if rest > 0 {
		_, rho := r.scaleBudget(pilot, rest)
		cost = min(rho/max(r.budget.left(), rho), 0.9)
	}
	return noiseRatio(pick(r.scale, pilot), r.p.P) < scaleGain*math.Sqrt(1-cost)
}

// scaleBudget returns the base measure and the budget of the scales that were not in the pilot.
func (r *run) scaleBudget(pilot []int, rest int) ([]quantile.Region, float64) {
	a := r.p.scaleAxis()
	found := pick(r.scale, pilot)
	for at := range found {
		found[at] *= normalMedian
	}
	base, m := a.Window(found), float64(rest)
	rho := r.fixPart(r.p.Shares.Scale, mostShare, m, func() float64 {
		l := a.Requirement(base, m, r.p.Failure/stages, len(found), func(i int, width float64) (lo, hi float64) {
			f := math.Exp(width / medianSlope)
			return found[i] / f, found[i] * f
		}, func(i int) (lo, hi float64) { return found[i] / 3, found[i] * 3 })
		return r.p.medianBudget(m, l, r.n, r.ranks())
	})
	return base, rho
}

// scales releases the scales that were not in the pilot, and shrinks all.
func (r *run) scales(pilot, rest []int) error {
	if r.given != nil {
		copy(r.scale, r.given)
		return nil
	}
	if len(rest) > 0 {
		base, rho := r.scaleBudget(pilot, len(rest))
		if err := r.spreads(rest, rho, base); err != nil {
			return err
		}
	}
	if r.p.Relative || r.p.Steps.Spread != Deviations {
		return nil
	}
	if r.p.scaleFree() {
		r.floorScales()
	}
	if !r.p.Steps.Unshrunk {
		r.shrinkScales()
	}
	return nil
}

// floorScales raises scales to what adds a 64th to C² at most, in place of a Resolution: a scale
// that is drawn between two values of its column, and so anywhere below their distance, would make
// rows long. It is post-processing.
func (r *run) floorScales() {
	const part = 1.0 / 64
	e, sum := 2*r.p.P/(r.p.P+2), 0.0
	top := slices.Max(r.scale)
	for _, s := range r.scale {
		sum += math.Pow(s/top, e)
	}
	least := top * math.Pow(part*sum/float64(len(r.scale)), 1/e)
	for i, s := range r.scale {
		r.scale[i] = max(s, least)
	}
}

// shrinkScales moves every log σ̂ towards the median of all by the part of their variance that is
// noise, 1.1·τ²/V at most 1. The variance of a quantile's rank is 2/c², so that of log σ̂ is
// τ² = 2/(c·n·medianSlope)². V is taken from the quartiles, so that a scale that was missed does
// not hide what the others tell. It is post-processing.
func (r *run) shrinkScales() {
	perScale := r.spent.Scale / float64(r.p.Dim)
	tau := math.Sqrt2 / (quantile.Reach(perScale, 0.5, r.n, r.ranks()) * 2 * medianSlope)
	logs := make([]float64, len(r.scale))
	for i, s := range r.scale {
		logs[i] = math.Log(s)
	}
	sorted := slices.Sorted(slices.Values(logs))
	n := len(sorted)
	middle, spread := sorted[n/2], (sorted[n*3/4]-sorted[n/4])/(2*normalMedian)
	keep := max(0, 1-1.1*tau*tau/(spread*spread))
	if !(keep < 1) { // or NaN, if all are equal
		return
	}
	for i := range r.scale {
		r.scale[i] = math.Exp(middle + keep*(logs[i]-middle))
	}
}

// shape sets the factors of the coordinates by their scales.
func (r *run) shape() {
	r.scaled = true
	for i, s := range r.regularized() {
		r.factor[i] = r.p.factor(s)
	}
}

// shapingFactor returns s^{−2/(p+2)}, for 2⁻²⁰⁰ < s < 2²⁰⁰.
func shapingFactor(s, p float64) float64 {
	switch p {
	case 1:
		return 1 / math.Cbrt(s*s)
	case 2:
		return 1 / math.Sqrt(s)
	}
	return math.Pow(s, -2/(p+2))
}

// regularized returns the scales, or, as assumption 5.1 and Definition 5.6 of the thesis allow,
// larger ones: σ^e + ‖σ^e‖₁/d to the power 1/e.
func (r *run) regularized() []float64 {
	if !r.p.Steps.Regularized {
		return r.scale
	}
	e := 2 * r.p.P / (r.p.P + 2)
	mean := 0.0
	for _, s := range r.scale {
		mean += math.Pow(s, e) / float64(r.p.Dim)
	}
	out := make([]float64, r.p.Dim)
	for i, s := range r.scale {
		out[i] = math.Pow(math.Pow(s, e)+mean, 1/e)
	}
	return out
}

// escaped reports whether there must be heavy coordinates that the pilot did not see, as rows are
// much longer than its typical scale explains. The quantile of a χ² distribution of d degrees that
// a part e^{−x} exceeds is below d + 2√(dx) + 2x.
func (r *run) escaped(limit float64, pilot []int) bool {
	if r.p.Steps.Scaling != AutoScaling || len(pilot) == r.p.Dim {
		return false
	}
	typical := slices.Sorted(slices.Values(pick(r.scale, pilot)))[len(pilot)/2]
	d, x := float64(r.p.Dim), max(math.Log(mostClipped*cap1(r.n)/cap1(r.p.depth(r.n, only).rows)), 0)
	return limit*limit > heavyRatio*(d+2*math.Sqrt(d*x)+2*x)*typical*typical
}

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
// distribution. Rows that are clipped are those in the tail; a column with heavy tails should not
// decide how long the rows of all are. With errors of ln σ̂ of variance τ², the noise energy grows
// by E e^{2ε}·E e^{−2ε} = e^{4τ²}. The rank that is drawn has the standard deviation √2/c, and ln x
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
