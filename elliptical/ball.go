package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Rows in a ball. A row becomes integers q, by truncation towards 0 of its multiple that is within
// the ball, and Σ qᵢ² ≤ R² is checked in integers, R = ⌊NormBound/step⌋ between 2²⁹ and 2³⁰: it is
// scaled down until that holds. With Count a row adds W steps to the count.
//
// Privacy. A row is a vector of norm at most √(R² + W²), W = 0 without Count, whatever the float
// arithmetic did, so a row more changes the sum by that much, and one replaced, without Count, by
// 2R. The noise is that of the Gaussian mechanism for it, rounded to whole steps, as sums are
// whole. ∎
//
// Accuracy. Truncation takes less than a step of each coordinate. For an unknown number of rows the
// mean has, to first order, the variance (1 + w²)(d + m²/w²)·C²/(2ρn²) over all coordinates, w =
// W/R, m the norm of the mean in NormBounds: for m = 1 it is least at w² = 1/√d, and w is the power
// of two times 2^30/R next to that.

const (
	ballBits = 30
	maxBall  = 1 << 24 // of d
)

// validateBall checks resolved Params with a NormBound.
func (p Params) validateBall() error {
	switch {
	case !between(p.NormBound, minWidth, maxWidth):
		return bad("NormBound", p.NormBound, "a number in [2⁻¹⁰⁰, 2¹⁰⁰]")
	case p.Dim < 1 || p.Dim > maxBall:
		return bad("Dim", p.Dim, "1 to 2²⁴ where NormBound is given")
	case p.pure():
		return bad("Delta", p.Delta, "a number in [1e-300, 1), or Rho, where NormBound is given: its noise is Gaussian")
	case p.Min.Len() > 0 || p.Max.Len() > 0 || p.Ellipsoid.Len() > 0 || p.Weights.Len() > 0:
		return bad("NormBound", p.NormBound, "0 where Min, Max, Ellipsoid or Weights are given")
	case p.Shape != Optimal:
		return bad("Shape", p.Shape, "Optimal where NormBound is given")
	case p.Relative:
		return bad("Relative", p.Relative, "false where NormBound is given")
	case p.Count && p.Relation != budget.AddRemove:
		return bad("Count", p.Count, "false unless Relation is AddRemove")
	}
	return nil
}

// ends returns the interval of a coordinate.
func (p *Params) ends(i int) (least, most float64) {
	if p.NormBound > 0 {
		return -p.NormBound, p.NormBound
	}
	return p.Min.At(i), p.Max.At(i)
}

// ballSteps returns R for a step, and W, a power of two or 0.
func (p Params) ballSteps(step float64) (radius, count int64) {
	radius = int64(math.Floor(p.NormBound / step))
	if p.Count {
		count = 1 << max(int(math.Round(math.Log2(float64(radius))-math.Log2(float64(p.Dim))/4)), 0)
	}
	return radius, count
}

// calibrateBall is calibrate for a NormBound.
func (p Params) calibrateBall() (gridNoise, error) {
	scale := func(step float64) (float64, error) {
		radius, count := p.ballSteps(step)
		sensitivity := math.Hypot(float64(radius), float64(count)) * (1 + 0x1p-50) * step
		if p.replace() {
			sensitivity = 2 * float64(radius) * step
		}
		scales, err := p.scales([]float64{sensitivity}, []float64{1}, []int{1})
		if err != nil {
			return 0, err
		}
		return scales[0], nil
	}
	step := powerAbove(p.NormBound) * 0x1p-30
	s, err := scale(step)
	if err == nil && s > 0x1p45*step { // as for an Ellipsoid
		step = powerAbove(s) * 0x1p-45
		s, err = scale(step)
	}
	if err != nil {
		return gridNoise{}, err
	}
	radius, count := p.ballSteps(step)
	if radius < 1 {
		return gridNoise{}, bad("NormBound", p.NormBound, "a number for which the noise is not 2⁴⁵ times as large")
	}
	l := gridNoise{replace: p.replace(), dim: p.Dim, coordinates: make([]coordinate, p.Dim, p.Dim+1), radius: radius}
	for i := range l.coordinates {
		l.coordinates[i] = coordinate{step: step, scale: s, low: -radius, high: radius}
	}
	if p.Count {
		unit := 1 / float64(count)
		l.coordinates = append(l.coordinates, coordinate{step: unit, scale: s / step * unit * (1 + 0x1p-50), high: count})
	}
	return l, nil
}

// within sets q to the row in steps, within the ball. NaN counts as 0, and next to an infinity so
// does all that is finite.
func within(row []float64, step float64, radius int64, q []int64) {
	clear(q)
	largest, squares := largestOf(row), 0.0
	if largest == 0 {
		return
	}
	for _, x := range row {
		x = relative(x, largest)
		squares += x * x
	}
	factor := min(largest/step, float64(radius)/math.Sqrt(squares))
	for less := 0x1p-50; ; less *= 4 {
		norm := uint64(0)
		for i, x := range row {
			q[i] = int64(relative(x, largest) * factor) // towards 0
			norm += uint64(q[i] * q[i])
		}
		if norm <= uint64(radius)*uint64(radius) {
			return
		}
		factor *= 1 - less
	}
}
