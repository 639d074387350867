package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// Quantile returns the x with CDF(x) = p: −Inf at 0, +Inf at 1 and where it overflows, NaN outside
// [0, 1]. For α = 3 it is s(2p−1)/(2√(p(1−p))); else an equation is solved, to a relative error of
// 1e-14 of x.
func (d Student) Quantile(p float64) float64 {
	switch {
	case !d.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case p > 0.5:
		return d.upperQuantile(1 - p) // 1 − p is exact
	}
	return 0 - d.upperQuantile(p)
}

// upperQuantile returns the x ≥ 0 with Pr[X > x] = p, for p in [0, ½].
func (d Student) upperQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(1)
	case p == 0.5:
		return 0
	case d.shape == 3:
		return (0.5 - p) / math.Sqrt(p) / math.Sqrt(1-p) * d.scale
	}
	unit := Student{d.shape, 1}
	if z := unit.solveCentre(0.5 - p); unit.near(z) {
		return z * d.scale
	}
	// Pr[X > z] < C·z^{−(α−1)}/(α−1) with C the peak, and nearly so far out.
	target := round.Log(p)
	bound := (math.Log(d.peak()/(d.shape-1)) - target) / (d.shape - 1)
	if bound > 40 { // the quotient of the two is 1 + O(1/z²)
		return math.Exp(bound + math.Log(d.scale))
	}
	return unit.solveTail(target, math.Exp(bound)) * d.scale
}

// solveCentre returns the z with Pr[0 < X ≤ z] = mass where that is near 0, else a z that is not.
func (d Student) solveCentre(mass float64) float64 {
	z := mass / d.peak() // too small, as the density falls: Newton's iteration climbs
	for range 60 {
		if !d.near(z) {
			return z
		}
		next := z + (mass-d.centre(z))/d.Prob(z)
		if next <= z*(1+0x1p-53) {
			return next
		}
		z = next
	}
	return z
}

// solveTail returns the z in [0, most] with ln Pr[X > z] = target: Newton's iteration on the
// logarithms of both sides, in which the tail is nearly straight, between bounds that shrink.
func (d Student) solveTail(target, most float64) float64 {
	lo, hi := 0.0, most
	z := most
	for range 100 {
		log := d.logUpper(z)
		excess := log - target
		if excess >= 0 {
			lo = z
		} else {
			hi = z
		}
		slope := z * math.Exp(d.LogProb(z)-log) // −d ln Pr[X > z]/d ln z
		next := z * math.Exp(excess/slope)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-z) <= z*0x1p-52 {
			return next
		}
		z = next
	}
	return z
}
