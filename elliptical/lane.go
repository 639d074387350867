package elliptical

import "math"

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
