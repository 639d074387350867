package plan

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Free shrinkage: non-parametric empirical Bayes (Robbins 1956; Kiefer and Wolfowitz 1956). A
// released value z has the distribution N(θ, s²) with a public s. Were the θ of many coordinates
// drawn from a distribution G, the best estimate of each would be its posterior mean or median; and
// G can be estimated from the z themselves, by maximum likelihood over all laws on a grid. All of
// it is post-processing.
//
// The weights w of the grid points g maximise Σ_j ln Σ_k w_k·φ((z_j−g_k)/s_j), a concave function;
// each round of
//
//	w_k ← (1/d)·Σ_j w_k·φ((z_j−g_k)/s_j) / Σ_l w_l·φ((z_j−g_l)/s_j)
//
// increases it (the EM algorithm). A value that is many s away from the rest is what it is, and is
// kept.
//
// All coordinates have one distribution, whatever their s, also where s depends on noise. In two
// passes a_j ~ N(θ_j, α_j²) is the first estimate, α_j the same for all, and the noise β_j of the
// second, b_j ~ N(θ_j, β_j²), is a function of the a. With z_j the combination by inverse
// variances, s_j^{−2} = α_j^{−2} + β_j^{−2},
//
//	φ((a−θ)/α)·φ((b−θ)/β) = φ((z−θ)/s)·(a function of a and b alone),
//
// so the likelihood of θ_j is that of N(θ_j, s_j²), although s_j depends on a_j: the sum above is
// the logarithm of the likelihood of one common distribution, and posteriors under it are what they
// seem. A distribution for each class of like s_j would have neither property: the class is chosen
// by a_j, and the likelihood lacks the factor 1/Pr[class | θ].

const (
	shrinkRounds = 60
	shrinkKeep   = 6 // standard deviations from the anchor beyond which a value is kept
	// standard deviations from the anchor up to which values tell of the distribution, and the grid
	// goes
	shrinkFit     = 9
	shrinkGrowth  = 0.15 // of the distance from the anchor: the most between grid points
	shrinkSlowest = 0.05 // of it: less than that is not needed
	// of the least standard deviation: the distance of the nearest grid point
	shrinkFinest  = 1.0 / 32
	shrinkWidest  = 1.0 / 3 // of that too: the most between grid points, else
	shrinkLeast   = 30      // coordinates: fewer tell nothing of a distribution
	shrinkSample  = 1 << 14 // at most, of all coordinates, that the distribution is estimated from
	shrinkEntries = 1 << 21 // at most, of the matrix of their likelihoods: 16 MiB
)

// Shrink returns estimates of θ₁, …, θ_d from independent normal values with these means and
// standard deviations, for the ℓₚ error with p = 1 (posterior medians) or p = 2 (posterior means).
// nonNegative says that no θ is below 0.
//
// Where many θ are alike, equal to 0 or to one another, the total error falls by a factor of up to
// 2 to 4; it hardly ever grows. But the estimates are biased, and the standard deviations are not
// theirs. Values that are not finite or have no noise stay as they are; so do all if d is below 30.
// The error wraps [ErrParams] for slices of different lengths, a standard deviation that is not
// finite and ≥ 0, and another p.
func Shrink(values, stdDevs []float64, nonNegative bool, p float64) ([]float64, error) {
	if len(values) != len(stdDevs) {
		return nil, bad("len(stdDevs)", len(stdDevs), "as many as values")
	}
	if p != 1 && p != 2 {
		return nil, bad("p", p, "1 or 2")
	}
	out, order := slices.Clone(values), make([]int, 0, len(values))
	for j, s := range stdDevs {
		switch {
		case !(s >= 0 && s <= math.MaxFloat64):
			return nil, bad("stdDevs", s, "finite numbers ≥ 0")
		case s > 0 && !math.IsNaN(values[j]) && !math.IsInf(values[j], 0):
			order = append(order, j)
		}
	}
	if len(order) >= shrinkLeast {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(stdDevs[a], stdDevs[b]) })
		prior := newPrior(values, stdDevs, order, nonNegative)
		prior.estimate(order, min(shrinkSample, shrinkEntries/len(prior.points)))
		for _, j := range order {
			out[j] = prior.posterior(values[j], stdDevs[j], p)
		}
	}
	if nonNegative {
		for j, x := range out {
			out[j] = math.Max(x, 0) // NaN stays
		}
	}
	return out, nil
}

// Shrunk returns [Shrink] of the released values; the noise of the divisor stays. nil for a p that
// is neither 1 nor 2.
func (m *Mean) Shrunk(p float64) []float64 {
	// After two passes this is all noise: no mean is below 0 there, so the prior is centred at
	// 0, as are the errors of the divisors. At a relative noise δ these are at most 6δ times the
	// StdDev of a value that is shrunk, and enlarge it by a fraction of at most 18δ².
	out, err := Shrink(m.of.Values, m.of.Independent(), m.of.Params.NonNegative, p)
	if err != nil {
		return nil
	}
	return out
}

// prior is a distribution on a grid of points.
type prior struct {
	values, stdDevs []float64
	anchor          float64 // what values are near to: 0, or their median
	points, weights []float64
	posteriors      []float64 // scratch
}

// newPrior makes the grid for the coordinates in the order of their standard deviations: the
// anchor, and points from a 32nd of the least standard deviation to 10 of the largest away from it,
// on one side if nonNegative. They are 15 % of that distance apart, or a third of the least
// standard deviation if that is less and not below 5 %.
func newPrior(values, stdDevs []float64, order []int, nonNegative bool) *prior {
	p := &prior{values: values, stdDevs: stdDevs}
	least, most := stdDevs[order[0]], stdDevs[order[len(order)-1]]
	if !nonNegative {
		p.anchor = medianOf(values, order)
	}
	p.points = append(p.points, p.anchor)
	for x := max(least*shrinkFinest, most*0x1p-20); x < most*(shrinkFit+1); x += min(shrinkGrowth*x, max(shrinkSlowest*x, least*shrinkWidest)) {
		p.points = append(p.points, p.anchor+x)
		if !nonNegative {
			p.points = append(p.points, p.anchor-x)
		}
	}
	slices.Sort(p.points)
	p.weights, p.posteriors = make([]float64, len(p.points)), make([]float64, len(p.points))
	for k := range p.weights {
		p.weights[k] = 1 / float64(len(p.weights))
	}
	return p
}

// medianOf returns the median of the values of the coordinates.
func medianOf(values []float64, order []int) float64 {
	sorted := make([]float64, len(order))
	for at, j := range order {
		sorted[at] = values[j]
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// sample is a value that occurred count times, with its standard deviation.
type sample struct{ value, stdDev, count float64 }

// samples returns the values that are not far away: at most the given number, evenly spaced in
// order of their standard deviations if there are more. Values of equal standard deviation that are
// next to one another, to a 64th of it, are one.
func (p *prior) samples(order []int, most int) (merged []sample) {
	stride := (len(order) + most - 1) / most
	var all []sample
	for at := 0; at < len(order); at += stride {
		x := sample{p.values[order[at]], p.stdDevs[order[at]], 1}
		if math.Abs(x.value-p.anchor) <= shrinkFit*x.stdDev {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.stdDev, b.stdDev), cmp.Compare(a.value, b.value))
	})
	for _, x := range all {
		if n := len(merged); n > 0 && merged[n-1].stdDev == x.stdDev && x.value-merged[n-1].value <= x.stdDev/64 {
			merged[n-1].count++
			continue
		}
		merged = append(merged, x)
	}
	return merged
}

// estimate sets the weights by at most the given number of values.
func (p *prior) estimate(order []int, most int) {
	rows := p.samples(order, most)
	if len(rows) == 0 {
		return
	}
	points, total := len(p.points), 0.0
	likelihoods := make([]float64, 0, len(rows)*points)
	for _, x := range rows {
		likelihoods = p.appendLikelihoods(likelihoods, x.value, x.stdDev)
		total += x.count
	}
	next := make([]float64, points)
	for range shrinkRounds {
		clear(next)
		for r, x := range rows {
			row := likelihoods[r*points : (r+1)*points]
			// the largest entry of a row is 1, and no weight that a row needs vanishes
			scale := x.count / floats.Dot(row, p.weights)
			for k, x := range row {
				next[k] += x * scale
			}
		}
		for k := range next {
			p.weights[k] *= next[k] / total
		}
	}
}

// appendLikelihoods appends φ((z−g)/s) for all grid points g, in proportion, the largest being 1.
func (p *prior) appendLikelihoods(dst []float64, z, s float64) []float64 {
	start := len(dst)
	nearest := math.Inf(1)
	for _, g := range p.points {
		t := (z - g) / s
		dst = append(dst, t*t/2)
		nearest = min(nearest, t*t/2)
	}
	for k := start; k < len(dst); k++ {
		dst[k] = math.Exp(nearest - dst[k])
	}
	return dst
}

// posterior returns the median (p = 1) or mean of θ given z, or z where it is far from the anchor.
func (p *prior) posterior(z, s, power float64) float64 {
	if !(math.Abs(z-p.anchor) <= shrinkKeep*s) {
		return z
	}
	mass := p.appendLikelihoods(p.posteriors[:0], z, s)
	sum, mean := 0.0, 0.0
	for k, w := range p.weights {
		mass[k] *= w
		sum += mass[k]
		mean += mass[k] * (p.points[k] - p.anchor)
	}
	switch {
	case !(sum > 0):
		return z
	case power == 2:
		return p.anchor + mean/sum
	}
	below := 0.0
	for k, m := range mass {
		if below += m; below >= sum/2 {
			return p.points[k]
		}
	}
	return z
}
