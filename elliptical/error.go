package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// The noise of one released coordinate is ηᵢ, or ηᵢ + cᵢ·η₀ with a count. The methods here leave
// out that it is rounded to the grid, which adds at most half a step, 2⁻⁴⁴ of the noise or 2⁻³³ of
// the width, except for halfWidth.

// part is noise in the units of the data. Its scale is σ, the Laplace scale, or for Box the
// sensitivity: there the noise is the sensitivity times the group's radius times a number in [−1,
// 1].
type part struct {
	scale float64
	group int
}

// part returns the noise of coordinate i times a factor, and the most that rounding it,
// and a ready sum, adds: half a step each, and for Box what the widths in a group differ by.
func (l gridNoise) part(i int, factor float64) (x part, rounding float64) {
	c := l.coordinates[i]
	x, rounding = part{c.scale, c.group}, c.step
	if l.kind == uniform {
		g := l.groups[c.group]
		x.scale = float64(c.change(l.replace)) * c.step
		rounding += x.scale * math.Ldexp(float64(len(g.members)), -1-int(g.bits))
	}
	x.scale *= factor
	return x, rounding * factor
}

// parts returns ηᵢ and cᵢ·η₀, which is 0 without a count. With an Ellipsoid ηᵢ is row i of L times
// the noise of z. For i = dim it returns the parts of the count.
func (l gridNoise) parts(i int) (own, shared part, rounding float64) {
	if l.lower != nil {
		c, norm, sum := l.coordinates[i], 0.0, 0.0
		for _, x := range l.lower[i] {
			norm, sum = math.Hypot(norm, x), sum+math.Abs(x)
		}
		return part{scale: c.scale * norm}, part{}, sum * c.step / 2
	}
	own, rounding = l.part(i, 1)
	if i == l.dim || len(l.coordinates) == l.dim {
		return own, part{}, rounding
	}
	shared, more := l.part(l.dim, math.Abs(l.centre(i)))
	return own, shared, rounding + more
}

// centre returns the number from which deviations of coordinate i are taken, in units of the data.
func (l gridNoise) centre(i int) float64 {
	return float64(l.coordinates[i].centre) * l.coordinates[i].step
}

// spread returns the standard deviation of a part.
func (l gridNoise) spread(x part) float64 {
	switch l.kind {
	case laplace:
		return math.Sqrt2 * x.scale
	case uniform:
		return x.scale * math.Sqrt(l.groups[x.group].square/3)
	}
	return x.scale
}

// deviation returns the standard deviation of coordinate i, that of the count for i = dim.
func (l gridNoise) deviation(i int) float64 {
	own, shared, _ := l.parts(i)
	return math.Hypot(l.spread(own), l.spread(shared))
}

// variance returns the variance of coordinate i.
func (l gridNoise) variance(i int) float64 {
	if i < 0 || i >= l.dim {
		return math.NaN()
	}
	return square(l.deviation(i))
}

// covariance returns the covariance of coordinates i ≥ j. (Those that share a radius have none.)
func (l gridNoise) covariance(i, j int) float64 {
	switch {
	case i == j:
		return l.variance(i)
	case l.lower != nil:
		sum := 0.0
		for k, x := range l.lower[j] {
			sum += x * l.lower[i][k]
		}
		return sum * l.coordinates[0].scale * l.coordinates[0].scale
	case len(l.coordinates) == l.dim:
		return 0
	}
	return l.centre(i) * l.centre(j) * square(l.deviation(l.dim))
}

func square(x float64) float64 { return x * x }

// moment returns E|noise|ᵖ of coordinate i.
func (l gridNoise) moment(i int, p float64) float64 {
	own, shared, _ := l.parts(i)
	switch {
	case l.kind == gaussian:
		return gaussianMoment(math.Hypot(own.scale, shared.scale), p)
	case l.kind == laplace:
		return laplaceMoment(own.scale, shared.scale, p)
	case p == 2:
		return l.variance(i)
	}
	return l.boxMoment(own, shared, p)
}

// expectedError returns the sum of the moments over the coordinates.
func (l gridNoise) expectedError(p float64) float64 {
	if !(p > 0) || math.IsInf(p, 1) || l.dim == 0 {
		return math.NaN()
	}
	if p > 0x1p1000 { // Γ(p) exceeds all, and its logarithm overflows
		return math.Inf(1)
	}
	return l.errorOf(p, func(int) float64 { return 1 })
}

// errorOf returns the sum of the moments, times many of each coordinate.
func (l gridNoise) errorOf(p float64, many func(i int) float64) (sum float64) {
	if p == 2 && l.lower == nil {
		return l.squareError(many)
	}
	moment := l.moment
	if l.kind == uniform && len(l.coordinates) == l.dim && p != 2 { // each group's radii once
		logs := make([]float64, len(l.groups))
		for g := range l.groups {
			logs[g] = l.groups[g].logMoment(p)
		}
		moment = func(i int, p float64) float64 {
			own, _, _ := l.parts(i)
			return math.Exp(p*math.Log(own.scale)+logs[own.group]) / (p + 1)
		}
	}
	for i := range l.dim {
		sum += many(i) * moment(i, p)
	}
	return sum
}

// squareError is errorOf for p = 2, where no root is needed.
func (l gridNoise) squareError(many func(i int) float64) (sum float64) {
	of := func(c *coordinate) float64 { // the variance of its noise
		switch l.kind {
		case laplace:
			return 2 * square(c.scale)
		case uniform:
			return square(float64(c.change(l.replace))*c.step) * l.groups[c.group].square / 3
		}
		return square(c.scale)
	}
	count := 0.0
	if len(l.coordinates) > l.dim {
		count = of(&l.coordinates[l.dim])
	}
	for i := range l.coordinates[:l.dim] {
		c := &l.coordinates[i]
		sum += many(i) * (of(c) + square(float64(c.centre)*c.step)*count)
	}
	return sum
}

// reach returns an x with Pr[|own + shared| > x] ≤ tail.
func (l gridNoise) reach(own, shared part, tail float64) float64 {
	switch l.kind {
	case gaussian:
		return gaussianReach(math.Hypot(own.scale, shared.scale), tail)
	case laplace:
		return exact.LaplaceReach([]float64{own.scale, shared.scale}, tail)
	}
	return l.boxReach(own, shared, tail)
}

// halfWidth returns the half width of the interval around a released value that holds the true one
// with the given confidence, rounding included.
func (l gridNoise) halfWidth(i int, confidence float64) float64 {
	if !check.Confidence(confidence) {
		return math.NaN()
	}
	return l.halfWidthAt(i, 1-confidence)
}

// halfWidthAt returns the half width that the noise exceeds with the probability tail, at most.
func (l gridNoise) halfWidthAt(i int, tail float64) float64 {
	own, shared, rounding := l.parts(i)
	return l.reach(own, shared, tail) + rounding
}

// halfWidthOfAll returns the half width for coordinate i of intervals that hold all true values at
// once with the given confidence.
//
// Independent groups of Box, each with tail 1 − c^{1/k}, hold all with c; with a count, which ties
// them together, intervals of tail (1−c)/d do. Otherwise intervals of confidence c^{1/d} do: they
// ask |ηᵢ + cᵢ·η₀| ≤ tᵢ, of which the probability given η₀ is a product of functions that decrease
// in |η₀|, as ηᵢ is symmetric and unimodal, and such functions are positively correlated. For the
// Gaussian noise of an Ellipsoid it is Šidák's theorem (1967).
func (l gridNoise) halfWidthOfAll(i int, confidence float64) float64 {
	if !check.Confidence(confidence) {
		return math.NaN()
	}
	// 1 − c^{1/n}
	tail := func(n int) float64 { return -math.Expm1(math.Log(confidence) / float64(n)) }
	switch {
	case l.kind != uniform:
		return l.halfWidthAt(i, tail(l.dim))
	case len(l.coordinates) > l.dim:
		return l.halfWidthAt(i, (1-confidence)/float64(l.dim))
	}
	own, _, rounding := l.parts(i)
	g := l.groups[own.group]
	return own.scale*g.radii(coarse).reachAll(len(g.members), tail(len(l.groups))) + rounding
}
