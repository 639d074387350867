package noise

import "math"

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
