package elliptical

import "math"

// lane is what Add needs of a coordinate, in three words. In it the integer of a value x is that of
// coordinate.entry: y = x/step is exact, as step is a power of two, and where |y| is below 2⁵¹ the
// bits of y + 1.5·2⁵² as a float64 are those of 1.5·2⁵² plus the integer next to y, the even one of
// two.
type lane struct {
	inverse   float64 // 1/step
	low, high float64 // in steps
}

const (
	magic     = 0x1.8p52
	magicBits = 0x4338000000000000 // of magic
)

func (c coordinate) lane() lane { return lane{1 / c.step, float64(c.low), float64(c.high)} }

// addLanes adds the integers of a row to the sums; all three have one length.
func addLanes(sums []int64, lanes []lane, row []float64) {
	lanes, sums = lanes[:len(row)], sums[:len(row)]
	for i, x := range row {
		l := &lanes[i]
		y := x * l.inverse
		if !(y >= l.low && y <= l.high) {
			y = l.clamp(y)
		}
		sums[i] += int64(math.Float64bits(y+magic) - magicBits)
	}
}

// entry returns the integer of a value.
func (l *lane) entry(x float64) int64 {
	y := x * l.inverse
	if !(y >= l.low && y <= l.high) {
		y = l.clamp(y)
	}
	return int64(math.Float64bits(y+magic) - magicBits)
}

// clamp returns the number in [low, high] that stands for y outside: the nearer end, and for NaN
// that of 0.
//
//go:noinline
func (l *lane) clamp(y float64) float64 {
	if math.IsNaN(y) {
		y = 0
	}
	return min(max(y, l.low), l.high)
}
