package noise

import "math"

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k the result is k·step with probability Pr[(k−½)·step < X <
// (k+½)·step], for the scale and step given as float64, with no error at all. So v + Sample for v
// on the grid is the ideal Laplace mechanism followed by rounding, which is post-processing.
//
// step must be a power of two with scale/step ≤ 2⁴⁶; otherwise the result is NaN ([CheckStep]).
func (d Laplace) Sample(src *Source, step float64) float64 {
	k, unit := d.draw(src, step)
	return float64(k) * unit
}

// SampleSteps is Sample in steps, to be added to an integer. It is exact also beyond 2⁵³. For a
// step that Sample refuses, and on the zero value, it returns false and a draw that is uniform over
// all int64.
func (d Laplace) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	k, unit := d.draw(src, step)
	return k, unit == step
}

// exactSteps is draw without the fast path.
func (d Laplace) exactSteps(src *Source, step float64) (k int64, unit float64) {
	b, ok := gridScale(d.law.scale, step)
	if !ok {
		return unbuiltInt(src), math.NaN()
	}
	// ⌊|X| + ½⌋ = ⌊(⌊2|X|⌋ + 1)/2⌋ in steps, and ⌊2|X|⌋ is geometric.
	g, coins := geometric(src, 2*b)
	return withSign((g+1)>>1, coins), step
}

// exactInt is SampleInt without the fast path.
func (d DiscreteLaplace) exactInt(src *Source) int64 {
	if !d.law.valid() {
		return unbuiltInt(src)
	}
	if d.law.scale < 0x1p20 {
		return twoSided(src, d.law.scale, d.law.shift)
	}
	for {
		// 0 comes with either sign: keep it half the time.
		if k, coins := geometric(src, d.law.scale); k != 0 || coins&2 != 0 {
			return withSign(k, coins)
		}
	}
}

// Sample draws X, an integer, and rounds it to a multiple of step, halves up. Where step ≤ 1
// nothing is rounded. The draw is exact (see [DiscreteLaplace.SampleInt]).
//
// step must be a power of two and scale ≤ 2⁴⁶·max(step, 1), so that the result is exact in a
// float64; otherwise the result is NaN.
func (d DiscreteLaplace) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.law.scale, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}

// SampleInt draws X. Every integer k ≥ 0 has X ≥ k with probability exactly e^{−k/scale}, for the
// scale given as a float64. For the zero Geometric, which is no law, the draw is uniform over all
// int64.
func (d Geometric) SampleInt(src *Source) int64 {
	if !d.law.valid() {
		return unbuiltInt(src)
	}
	k, _ := geometric(src, d.law.scale)
	return k
}

// Sample draws X, an integer, and rounds it to a multiple of step, halves up. Where step ≤ 1
// nothing is rounded. The draw is exact (see [Geometric.SampleInt]).
//
// step must be a power of two and scale ≤ 2⁴⁶·max(step, 1), so that the result is exact in a
// float64; otherwise the result is NaN.
func (d Geometric) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.law.scale, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}
