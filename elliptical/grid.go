package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Every coordinate has a grid of its own, a power of two. A coordinate of a row becomes an integer
// number of steps in [low, high], the interval with its ends rounded outwards, and noise is drawn
// in steps, so all that is summed is an integer.
//
// Sensitivity on the grid, for rows: each is an integer in [low, high], so replacing one changes
// the sum by at most high − low steps, and adding one changes the sum of deviations from centre by
// at most max(high − centre, centre − low). Sums are exact: an entry is at most 2³⁸ steps, so that
// 2⁶³ rows are below 2¹⁰¹, and they are kept in 128 bits. ∎
//
// For a ready sum x, whose neighbours differ by at most K·step with an integer K: rounding to
// ⌊x/step + ½⌋ changes by at most K, because that map does not decrease and moves by K when x does
// by K·step. Rounding halves to even or away from 0 has not this property: 0.5 and 1.5 become 0
// and 2. With a count, ⌊x/step + ½⌋ − n·centre for a ready sum x of n rows is formed exactly, and
// saturates only then, at ±2¹⁰⁰ steps: if x saturated by itself, a row more of such sums would
// still take away a centre, which may be far more than the calibrated change. ∎

const (
	fineness = 32      // bits from the step to the width
	maxTotal = 0x1p100 // where ready sums saturate, in steps
	maxScale = 0x1p46  // of independent noise, in steps: above, it cannot be drawn exactly
	maxRows  = 1 << 53 // up to which a number of rows is exact as a float64
)

// coordinate is what the release needs to know of one coordinate, or of the count.
type coordinate struct {
	step float64 // a power of two, in the units of the data
	// of the noise, in the units of the data: σ or the Laplace scale; 0 for Box
	scale             float64
	low, high, centre int64 // of a row's value, in steps
	group             int   // of Box: the index in groups
}

// gridded returns coordinate i with its grid, for noise of about the given scale. The grid has
// 2^bits steps to the width, or fewer, so that the noise is at most 2⁴⁵ steps and the interval lies
// within 2³⁶ steps of 0. Rounding a row is off by half a step: at most 2⁻³³ of the width, 2⁻⁴⁵ of
// the noise or 2⁻³⁶ of the distance from 0, the largest of the three.
func (p *Params) gridded(i int, scale float64, bits int) coordinate {
	v := p.interval(i)
	far := math.Abs(v.low)
	step := max(powerAbove(v.width())*math.Ldexp(1, -bits), powerAbove(scale)*0x1p-45, powerAbove(far)*0x1p-36)
	return p.box(v, coordinate{step: step, scale: scale})
}

// box fills in the bounds of a row's value, and the number from which the value is counted.
func (p *Params) box(v interval, c coordinate) coordinate {
	low, high := v.low, v.high
	c.low, c.high = int64(math.Floor(low/c.step)), int64(math.Ceil(high/c.step))
	if low < 0 && c.low == 0 { // the quotient underflowed
		c.low = -1
	}
	if high > 0 && c.high == 0 {
		c.high = 1
	}
	if p.Count {
		c.high += (c.high - c.low) & 1
		c.centre = c.low + (c.high-c.low)/2
	}
	return c
}

// counted returns the coordinate of the count, for noise of about the given scale. Its step is a
// part of 1 where the noise is small, and above 1 only where the noise would be more than 2⁴⁵
// steps.
func counted(scale float64, bits int) coordinate {
	step := max(min(1, math.Ldexp(powerAbove(scale), -min(bits, 20))), math.Ldexp(powerAbove(scale), -45))
	return coordinate{step: step, scale: scale, high: int64(math.Ceil(1 / step))}
}

// powerAbove returns the least power of two ≥ x; 0 for x = 0.
func powerAbove(x float64) float64 {
	unit := 1.0
	if x < 0x1p-1022 { // of fewer digits
		x, unit = x*0x1p60, 0x1p-60
	}
	const fraction = 1<<52 - 1 // the next number with no digits behind the first
	return math.Float64frombits((math.Float64bits(x)+fraction)&^fraction) * unit
}

// change returns the most that one row changes the sum by, in steps.
func (c coordinate) change(replace bool) int64 {
	if replace {
		return c.high - c.low
	}
	return max(c.high-c.centre, c.centre-c.low)
}

// steps returns ⌊x/step + ½⌋, limited to ±2¹¹⁰. NaN counts as 0.
func (c coordinate) steps(x float64) exact.Int128 {
	y := x / c.step
	if math.IsNaN(y) {
		y = 0
	}
	y = min(max(y, -0x1p110), 0x1p110)
	floor := math.Floor(y)
	if y-floor >= 0.5 { // exact, except for −2⁻⁵³ < y < 0, where 1 stands for nearly 1
		floor++
	}
	return exact.Int128OfFloat(floor)
}

// entry returns the integer that a row with the value x adds to the sum: x in steps, rounded to the
// nearest integer (halves to even) and clamped to [low, high]. NaN counts as 0.
func (c coordinate) entry(x float64) int64 {
	l := c.lane()
	return l.entry(x)
}

// deviation returns ⌊x/step + ½⌋ − n·centre, limited to ±2¹⁰⁰: the ready sum x of n ≤ 2⁵³ rows as a
// sum of deviations from the centre. (n·centre is at most 2⁹⁰, so where steps is at its limit the
// difference is beyond its own.)
func (c coordinate) deviation(x float64, n int64) exact.Int128 {
	d := c.steps(x).Minus(exact.Product128(n, c.centre))
	most := exact.Int128OfFloat(maxTotal)
	switch least := exact.Int128OfFloat(-maxTotal); {
	case most.Less(d):
		return most
	case d.Less(least):
		return least
	}
	return d
}

// lane is a coordinate as the loop of Add reads it: three numbers. It maps a value x to the same
// integer as coordinate.entry. y = x/step is exact, because step is a power of two. For |y| < 2⁵¹,
// adding 1.5·2⁵² rounds y to the nearest integer (halves to even), and the bits of the float64 sum,
// minus those of 1.5·2⁵², are that integer.
type lane struct {
	inverse   float64 // 1/step
	low, high float64 // in steps
}

const (
	magic     = 0x1.8p52
	magicBits = 0x4338000000000000 // of magic
)

func (c coordinate) lane() lane { return lane{1 / c.step, float64(c.low), float64(c.high)} }

// addLanes adds the integers of a row to the sums. The three slices have the same length. NaN is
// the middle of an interval, or if it may not be that adds nothing.
func addLanes(sums []int64, lanes []lane, row []float64, middle bool) {
	lanes, sums = lanes[:len(row)], sums[:len(row)]
	for i, x := range row {
		l := &lanes[i]
		y := x * l.inverse
		if !(y >= l.low && y <= l.high) {
			y = l.outside(y, middle)
		}
		sums[i] += int64(math.Float64bits(y+magic) - magicBits)
	}
}

// entry returns the integer of a value. NaN counts as 0.
func (l *lane) entry(x float64) int64 {
	y := x * l.inverse
	if !(y >= l.low && y <= l.high) {
		y = l.clamp(y)
	}
	return int64(math.Float64bits(y+magic) - magicBits)
}

// clamp returns the end of [low, high] that is nearer to y. NaN counts as 0, clamped likewise.
//
//go:noinline
func (l *lane) clamp(y float64) float64 {
	if math.IsNaN(y) {
		y = 0
	}
	return min(max(y, l.low), l.high)
}

// outside is clamp, except that NaN is the middle of [low, high], rounded down, or adds nothing.
// Under AddRemove that is no further from the centre than an end, as it is the centre; under
// Replace the middle is within the interval.
//
//go:noinline
func (l *lane) outside(y float64, middle bool) float64 {
	switch {
	case !math.IsNaN(y):
		return l.clamp(y)
	case middle:
		return math.Floor((l.low + l.high) / 2)
	}
	return 0
}
