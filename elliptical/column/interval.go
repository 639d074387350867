package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// rounding bounds the error of one row's value, in units of t: half a step of the grid.
const rounding = 0.5 / half

// Interval returns the range of numbers that the noise of the release leaves possible for a
// statistic of the clamped values, at the given confidence in [0, 1), else NaN. It contains the
// released number, except for a Count below 0; of a Mean of what may be no rows it is all of [Min,
// Max].
//
// If the range is learned, that of Sum and Mean is for all values, if no few hide far out: see the
// package page.
func (s *Summary) Interval(of Statistic, confidence float64) (lo, hi float64) {
	//	Count, Sum   the released number ± the quantile of its noise; of Count no end is below 0
	//	Mean         all m with |Σx − m·n| ≤ the quantile of the noise in that difference, n and
	//	             Σx as released (Fieller's set); all of [Min, Max] where the rows may be none
	//	Variance     the same for Σ(x−m)² − v·n, for all m in the set of the mean, each at half
	//	             of 1 − confidence
	//	StdDev       its square roots
	if !s.has(of) || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	if s.found != nil && of != Count {
		return s.learned(of, 1-confidence)
	}
	tail := 1 - confidence
	rows, first, _ := s.forms()
	g := s.grid()
	switch of {
	case Count:
		width := s.reach(rows, tail)
		if s.params.only() == Count {
			width = s.law.noises[0].Reach(tail)
		}
		return max(rows.value-width, 0), max(rows.value+width, 0)
	case Sum:
		sum := s.sum()
		width := s.reach(sum, tail) + math.Abs(rows.value)*g.unit*rounding
		return sum.value - width, sum.value + width
	case Mean:
		lo, hi = s.ratio(first, rows, -1, 1, tail)
		return min(g.value(lo-rounding), s.Value(Mean)), max(g.value(hi+rounding), s.Value(Mean))
	}
	lo, hi = s.spread(tail)
	lo, hi = max(lo-4*rounding, 0)*g.unit*g.unit, min(hi+4*rounding, 1)*g.unit*g.unit
	lo, hi = min(lo, s.Value(Variance)), max(hi, s.Value(Variance))
	if of == StdDev {
		return math.Sqrt(lo), math.Sqrt(hi)
	}
	return lo, hi
}

// spread returns the ends of the variance of t.
func (s *Summary) spread(tail float64) (lo, hi float64) {
	const parts = 8
	rows, first, second := s.forms()
	from, to := s.ratio(first, rows, -1, 1, tail/2)
	mean, _ := s.moments()
	lo, hi = 1, 0
	try := func(m float64) {
		about := second.plus(-2*m, first).plus(m*m, rows) // Σ(t − m)²
		a, b := s.ratio(about, rows, 0, 1, tail/2)
		lo, hi = min(lo, a), max(hi, b)
	}
	// The set moves with (m − mean)²: its ends are extreme at the ends and at the mean itself.
	try(min(max(mean, from), to))
	for i := range parts + 1 {
		try(from + (to-from)*float64(i)/parts)
	}
	return lo, hi
}

// ratio returns the hull of all v in [least, most] for which |num − v·den| is at most the quantile
// of its noise; [least, most] where there is none.
func (s *Summary) ratio(num, den form, least, most, tail float64) (lo, hi float64) {
	const parts = 16
	inside := func(v float64) float64 {
		f := num.plus(-v, den)
		return s.reach(f, tail) - math.Abs(f.value)
	}
	middle := least
	if den.value > 0 {
		middle = min(max(num.value/den.value, least), most)
	}
	if !(inside(middle) >= 0) {
		return least, most
	}
	// From the far end to the middle: the first point inside, and the edge before it.
	edge := func(far float64) float64 {
		if inside(far) >= 0 {
			return far
		}
		outer := far
		for i := 1; i <= parts; i++ {
			v := far + (middle-far)*float64(i)/parts
			if i == parts || inside(v) >= 0 {
				return exact.Root(v, outer, 40, inside) // the end towards outer
			}
			outer = v
		}
		return far
	}
	return edge(least), edge(most)
}

// reach returns an x with Pr[|noise of f| > x] ≤ tail.
func (s *Summary) reach(f form, tail float64) float64 {
	if s.law.gaussian {
		norm := math.Hypot(math.Hypot(f.noise[0], f.noise[1]), f.noise[2])
		return norm*math.Sqrt2*math.Erfcinv(tail) + f.slack
	}
	return exact.LaplaceReach(f.noise[:], tail) + f.slack
}
