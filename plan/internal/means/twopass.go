package means

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Two passes over non-negative rows.
//
// PLAN spends a part of its budget on means that serve for scaling only, and then throws them away.
// Here the first pass releases unscaled clipped sums. Their means give the scales. The second pass
// releases scaled sums with the rest of the budget. The two estimates of each mean have independent
// noise of known variance (clip.go) and are combined by inverse variance. No row has a negative
// coordinate, so the sensitivity under Replace is √2·C instead of 2·C (see sumSensitivity). A
// column whose mean seems to be above half of Max is complemented, Max − x for x: its entries are
// not negative then either, and rows are shorter.

const (
	firstShare  = 0.15  // of ρ for the sums of the first pass
	leastMean   = 0.5   // standard deviations of its noise: the least mean, for scaling
	mostFlipped = 0.5   // of n: fuller columns are complemented
	leastSpread = 1e-12 // of Max²: the least variance of a column
)

// twoPass runs TwoPass.
func (r *run) twoPass() (*Mean, error) {
	limit, err := r.limit(r.depth(first))
	if err != nil {
		return nil, err
	}
	c, err := r.clipAll(limit)
	if err != nil {
		return nil, err
	}
	rho := r.budget.take(r.fix(r.p.Shares.Scale, mostShare, func() float64 { return firstShare * r.p.Rho }))
	r.spent.Scale += rho
	sums, sd := r.noisySums(c, rho)
	r.shapeBy(sums, sd)
	r.content = max(r.content, sd/cap1(r.n))

	if limit, err = r.limit(r.depth(second)); err != nil {
		return nil, err
	}
	out, err := r.clippedMean(limit)
	if err != nil {
		return nil, err
	}
	r.combine(out, sums, sd)
	return out, nil
}

// shapeBy sets scales, factors and complemented columns by the sums of the first pass, which have
// noise of standard deviation sd.
func (r *run) shapeBy(sums []float64, sd float64) {
	r.scaled = r.p.Steps.Scaling != Unscaled
	// a row without entries must stay at 0 where it may be a missing one: see Params.Relation
	flip := r.p.Relation == budget.Replace
	for i, sum := range sums {
		most := r.clean(i, math.Inf(1))
		r.content += sum / cap1(r.n)
		full := cap1(r.n) * most
		q := min(max(sum, leastMean*sd)/full, 1)
		if flip && q > mostFlipped {
			r.centre[i], r.factor[i] = most, -1
			r.content += most - 2*sum/cap1(r.n)
			q = min(max(1-q, leastMean*sd/full), 0.5)
		}
		r.scale[i] = most * math.Sqrt(max(q*(1-q), leastSpread))
		if r.given != nil {
			r.scale[i] = r.given[i]
		}
		r.scale[i] = max(r.scale[i], r.p.Steps.Floor)
		if r.scaled {
			r.factor[i] *= r.p.factor(r.scale[i])
		}
	}
}

// combine weights both estimates of each mean by their inverse variances. The variance of the first
// includes the noise of n, where n is private, and the error of clipping.
func (r *run) combine(m *Mean, sums []float64, sd float64) {
	n := cap1(r.n)
	a, va, vb := make([]float64, len(sums)), make([]float64, len(sums)), make([]float64, len(sums))
	for i, sum := range sums {
		a[i] = sum / n
		sa := math.Hypot(sd/n, a[i]*r.relative)
		va[i], vb[i] = sa*sa, m.Errors[i]*m.Errors[i]
	}
	tau := clippingVariance(a, m.Values, va, vb)
	for i, b := range m.Values {
		v := va[i] + tau*b*b
		m.Values[i] = (a[i]*vb[i] + b*v) / (v + vb[i])
		m.Errors[i] = math.Sqrt(v * vb[i] / (v + vb[i]))
	}
}

// clippingVariance returns τ², the variance of the relative error that clipping makes in the first
// pass, from both estimates a and b of the same means and the variances of their noise.
//
// Clipping at one norm takes more from some columns than from others, and the first pass does not
// correct that. With a = θ(1+κ) + noise and b = θ + noise, E(a−b)² = v + τ²θ², where v is the sum
// of both variances. With b² − vb for θ², each coordinate gives an unbiased equation for τ². The
// method of moments weights the equations by θ²/v², in proportion to the inverse variance where
// noise decides. Only means that stand out from the noise count, which makes τ² slightly too large.
func clippingVariance(a, b, va, vb []float64) float64 {
	const clear = 6 // standard deviations
	excess, squares := 0.0, 0.0
	for i := range a {
		v := va[i] + vb[i]
		if !(b[i] > clear*math.Sqrt(v)) {
			continue
		}
		w, d := (b[i]/v)*(b[i]/v)-vb[i]/v/v, a[i]-b[i]
		excess += w * (d*d - v)
		squares += w * b[i] * b[i]
	}
	if !(excess > 0 && squares > 0 && excess/squares <= math.MaxFloat64) {
		return 0
	}
	return excess / squares
}
