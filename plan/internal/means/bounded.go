package means

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// What an interval can promise where rows are clipped.
//
// Nothing short is honest for all data. Let a ρ-zCDP mechanism (one row replaced) give intervals
// that hold the mean of the rows with probability ≥ 1 − α whatever rows in [−M, M] are. Take any
// rows below m and replace k of them by M: the two laws of the interval are k²ρ-zCDP, so at most
// k·√(ρ/2) apart in total variation (Pinsker), and with probability ≥ 1 − 2α − k·√(ρ/2) one
// interval holds both means, which are k(M−m)/n apart. ∎ So its mean width is at least
// (1 − 2α − k√(ρ/2))·k(M−m)/n for every k ≤ n; near k = (1−2α)/√(2ρ), if that is 1 or more, that
// is (1−2α)²/2·(M−m)/(n√(2ρ)). The Gaussian mechanism at the public bound has 7.8·M/(n√(2ρ)) at
// 95 %: a factor of 19 is all that can be won, however harmless the data are.
//
// [Mean.Bounded] makes that promise from numbers that are released anyway. Let wⱼ =
// min(1, C/‖yⱼ‖) and D = Σwⱼ, the sum behind γ. In one coordinate, of centre c and public range
// [a, b], the clipped sum S lacks Σ(1−wⱼ)(xⱼ−c), which lies between −(c−a)(n−D) and (b−c)(n−D). So
// the mean of the rows is at most
//
//	c + (S + (b−c)(n−D))/n = b − T/n,  T = (b−c)·D − S ≥ 0,
//
// and at least a + T′/n with T′ = (c−a)·D + S. S and D are released with independent Gaussian
// noise, of standard deviations σ and δ, so T is known up to Gaussian noise of √(σ² + (b−c)²δ²).
// Where n is public each end holds with probability (1+confidence)/2, and both with the confidence.
// Where the released D was cut off at n it is less than it was, and the bound wider.
//
// Under AddRemove no more than an upper bound on n is needed, as T ≥ 0: Params.Rows, or the
// released n and z of its standard deviations. That noise has decided what was planned, and so σ,
// δ, c and C: so each of the three events (n, T and T′ are what they are said to be, given all
// before) has a third of the probability that is left to error, and nothing need be independent.

// Bounded returns bounds that hold coordinate i of the mean of the rows with the given confidence
// over all noise, whatever the rows are: within the public range, and all of it where nothing tells
// what was clipped, or where the bounds cross. They cross only where one of them does not hold:
// then noise was larger than the confidence counts on, and nothing is known.
func (m *Mean) Bounded(i int, confidence float64) (lo, hi float64) {
	p := m.Params
	whole := p.Method == Plain
	least, most := m.ranges().of(p, i)
	// nothing of the column was in the sum: see scale.go
	leftOut := p.Relative && m.Scaled && p.Method == Adaptive && m.Scales != nil && m.Scales[i] == p.noScale()
	if p.Method == TwoPass || leftOut || (p.Steps.Undivided || m.relative() == 0) && !whole {
		return least, most
	}
	gamma := m.Divisor / cap1(m.Rows)
	switch {
	case whole && p.Relation == budget.Replace:
		gamma = 1
	case gamma <= leastGamma*(1+0x1p-20): // the released D was less
		return least, most
	}
	n, miss := cap1(m.Rows), (1-confidence)/2
	if p.Relation == budget.AddRemove {
		miss = (1 - confidence) / 3
	}
	z := math.Sqrt2 * math.Erfinv(1-2*miss)
	if p.PrivateRows() {
		n += z / math.Sqrt(2*countShare*p.Rho)
	}
	c, d := m.Centre(i), gamma*cap1(m.Rows)
	sum, sd, noise := (m.Values[i]-c)*d, m.noiseOfSum(i)*d, m.relative()*d
	if whole && p.Relation == budget.Replace {
		noise = 0
	}
	// C·2⁻²⁴: entries are rounded towards 0, by up to C·2⁻²⁵
	rounding := sd * 0x1p-24 * math.Sqrt(2*m.Spent.Sum) / p.sumSensitivity()
	// What is certain of T/n, for a distance to the end of the range and the sum away from it.
	// Where the released γ is near 1, its end is no nearer than that of the noise of the sum alone.
	within := func(reach, away float64) float64 {
		t := min(reach*d+away-z*math.Hypot(sd, reach*noise), reach*n+away-z*sd)
		return max(t/n-rounding, 0)
	}
	lo, hi = least+within(c-least, sum), most-within(most-c, -sum)
	if !(lo <= hi) {
		return least, most
	}
	return lo, hi
}

// noiseOfSum returns the standard deviation of the part of the noise of coordinate i that is that
// of the sum: σ/D̃ of (3) in clip.go.
func (m *Mean) noiseOfSum(i int) float64 {
	common := (m.Values[i] - m.Centre(i)) * m.relative() / m.Errors[i]
	return m.Errors[i] * math.Sqrt(max((1-common)*(1+common), 0))
}
