package loss

import (
	"cmp"
	"math"
	"slices"
)

// Points is how many lattice points a distribution has: the error of a composition of equal
// releases is about .1 % of ε, and a quarter of that with twice as many.
const Points = 1024

// resolution returns how many points the distribution of so many releases deserves, of the many
// that are composed with a density of 1: its standard deviation grows with the square root of its
// span, and the error goes with the number of points in a standard deviation. Where there are few
// distributions, there is time for a greater density.
func resolution(releases, density float64, points int) float64 {
	return min(float64(points), math.Ceil(float64(points)/8*density*math.Sqrt(releases)))
}

// Compose returns the convolution of two distributions, on at most so many points.
func Compose(a, b *Measure, points int) *Measure { return compose(a, b, 8, points) }

func compose(a, b *Measure, density float64, points int) *Measure {
	if a.span() < b.span() {
		a, b = b, a
	}
	releases, span := a.releases+b.releases, a.span()+b.span()
	want := resolution(releases, density, points)
	step := a.step
	if _, same := multiple(b.step, a.step); same || span == 0 {
		want = float64(points) // nothing is lost yet
	} else {
		for span < want*step {
			step /= 2
		}
	}
	fine, other := a.on(step), b.on(step)
	c := &Measure{
		base:     up(a.base + b.base),
		step:     step,
		mass:     convolve(fine.mass, other.mass),
		infinite: a.escape(b),
		releases: releases,
		points:   max(a.points, b.points),
	}
	// Coarsening adds h²/4 to the variance of a loss as often as it is repeated: the fewer the
	// releases, the smaller h has to be.
	want = max(want, c.points/math.Sqrt(releases))
	c.trim()
	for len(c.mass) > int(want) && len(c.mass) > 2 {
		c.coarsen()
	}
	return c
}

// escape returns the mass at ∞ of the convolution.
func (m *Measure) escape(b *Measure) float64 {
	if m.infinite == 0 && b.infinite == 0 {
		return 0
	}
	return (m.infinite*(b.finite()+b.infinite) + m.finite()*b.infinite) * slack(0)
}

// Power returns the distribution of n ≥ 1 independent losses of the distribution m.
func (m *Measure) Power(n uint64, points int) *Measure {
	if n <= 1 {
		return m
	}
	half := m.Power(n/2, points)
	square := Compose(half, half, points)
	if n%2 == 1 {
		return Compose(square, m, points)
	}
	return square
}

// All returns the convolution of all the distributions, the narrowest first, or nil if there are
// none.
func All(list []*Measure, points int) *Measure {
	if len(list) == 0 {
		return nil
	}
	narrow := func(a, b *Measure) int { return cmp.Compare(a.span(), b.span()) }
	density := min(max(math.Sqrt(128/float64(len(list))), 1), 8)
	queue := slices.SortedStableFunc(slices.Values(list), narrow)
	for len(queue) > 1 {
		c := compose(queue[0], queue[1], density, points)
		queue = queue[2:]
		i, _ := slices.BinarySearchFunc(queue, c, narrow)
		queue = slices.Insert(queue, i, c)
	}
	return queue[0]
}

// convolve returns upper bounds on the sums of a[i]·b[k−i], all ≥ floor: masses are 0 or at least
// floor, so no product underflows.
func convolve(a, b []float64) []float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	buffer := make([]float64, len(a)+len(b)+2+len(b)+6)
	c, padded := buffer[:len(a)+len(b)+2], buffer[len(a)+len(b)+2:]
	copy(padded[3:], b) // three zeros on either side
	i := 0
	for ; i < len(a); i += 4 {
		var x [4]float64
		if copy(x[:], a[i:]); x == [4]float64{} {
			continue
		}
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		// c[i+k] gets x0·b[k] + x1·b[k−1] + x2·b[k−2] + x3·b[k−3], and b[k] is padded[k+3].
		out := c[i:min(i+len(b)+3, len(c))]
		p0, p1, p2, p3 := padded[3:3+len(out)], padded[2:2+len(out)], padded[1:1+len(out)], padded[:len(out)]
		for k := range out {
			out[k] += x0*p0[k] + x1*p1[k] + x2*p2[k] + x3*p3[k]
		}
	}
	c = c[:len(a)+len(b)-1]
	most := slack(len(a))
	for k := range c {
		c[k] = c[k]*most + floor
	}
	return c
}
