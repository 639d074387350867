package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// upperQuantile returns the x ≥ 0 with Pr[X > x] = p, for p in [0, ½]. For α = 3 it is
// s(1−2p)/(2√(p(1−p))); else an equation is solved.
func (d studentFormulas) upperQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(1)
	case p == 0.5:
		return 0
	case d.shape == 3:
		return (0.5 - p) / math.Sqrt(p) / math.Sqrt(1-p) * d.scale
	}
	unit := studentFormulas{d.shape, 1}
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
func (d studentFormulas) solveCentre(mass float64) float64 {
	z := mass / d.peak() // too small, as the density falls: Newton's iteration climbs
	for range 60 {
		if !d.near(z) {
			return z
		}
		next := z + (mass-d.centre(z))/d.density(z)
		if next <= z*(1+0x1p-53) {
			return next
		}
		z = next
	}
	return z
}

// solveTail returns the z in [0, most] with ln Pr[X > z] = target: Newton's iteration on the
// logarithms of both sides, in which the tail is nearly straight, between bounds that shrink.
func (d studentFormulas) solveTail(target, most float64) float64 {
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
		slope := z * math.Exp(d.logDensity(z)-log) // −d ln Pr[X > z]/d ln z
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
