package quantile

import (
	"math"
	"slices"
)

// A base measure that has learnt from a few coordinates.
//
// Of d coordinates a few, the pilot, are estimated first, with the plain base measure. They show
// where the others are likely to be: these get a base measure that has 31/32 of its mass in a
// window around what the pilot found, and the rest everywhere. It is public, as the pilot is
// released. The gain is in ln(A/a) of (2): what lies far off, where a miss does harm, has 1/32 of
// the mass, and what is near has more of it. A coordinate outside the window needs ln 32 = 3.5 more
// of L; but few are (the window holds 62 of 64), and ln d is then the logarithm of their number.

const (
	windowParts = 31 // of 32 of the base measure
	trimmed     = 1  // on each side: a pilot that missed
)

// Window returns the base measure with a window around the pilot's values, or the plain one if that
// would not be narrower than half the axis.
func (a *Axis) Window(pilot []float64) []Region {
	keys := make([]uint32, len(pilot))
	for i, x := range pilot {
		keys[i] = a.Key(x)
	}
	slices.Sort(keys)
	if len(keys) <= 2*trimmed {
		return a.Plain()
	}
	from, to := uint64(keys[trimmed]), uint64(keys[len(keys)-1-trimmed])
	margin := (to-from)/2 + 8
	from, to = from-min(from, margin), min(to+1+margin, a.Keys)
	width := to - from
	if 2*width > a.Keys {
		return a.Plain()
	}
	return []Region{{0, from, 1}, {from, to, windowParts * (a.Keys / width)}, {to, a.Keys, 1}}
}

// mass returns the base measure of the keys of [lo, hi], values.
func (a *Axis) mass(base []Region, lo, hi float64) float64 {
	first, last := uint64(a.Key(lo)), uint64(a.Key(hi))+1
	sum := 0.0
	for _, r := range base {
		if start, end := max(first, r.Start), min(last, r.End); start < end {
			sum += float64(end-start) * float64(r.Weight)
		}
	}
	return sum
}

// Requirement returns L of (2) for dim coordinates of which the pilot is typical. near(i, width) is
// the interval around the i-th of its values that holds a part width of the data on either side of
// the quantile, far(i) the one beyond which a miss does harm.
func (a *Axis) Requirement(base []Region, dim, beta float64, pilot int, near func(i int, width float64) (lo, hi float64), far func(i int) (lo, hi float64)) float64 {
	all := 0.0
	for _, r := range base {
		all += float64(r.End-r.Start) * float64(r.Weight)
	}
	l := 16.0
	ratios := make([]float64, pilot)
	for range 4 {
		for i := range ratios {
			outside := max(all-a.massOf(base, far, i), 1)
			lo, hi := near(i, 1/(2*l))
			ratios[i] = math.Log(max(outside/a.mass(base, lo, hi), 1/dim))
		}
		slices.Sort(ratios)
		l = math.Log(dim) + ratios[max(0, pilot-1-2*trimmed)] - math.Log(beta)
	}
	return l
}

func (a *Axis) massOf(base []Region, interval func(i int) (lo, hi float64), i int) float64 {
	lo, hi := interval(i)
	return a.mass(base, lo, hi)
}
