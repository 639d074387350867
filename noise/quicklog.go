package noise

import (
	"math"
	"math/bits"
)

// logCell belongs to one of the intervals [1 + i/64, 1 + (i+1)/64) that [quickLog] cuts [1, 2)
// into.
type logCell struct{ inverse, log float64 } // of the midpoint, rounded; ln inverse

var logCells = newLogCells()

func newLogCells() (cells [64]logCell) {
	for i := range cells {
		inverse := 1 / (1 + (float64(i)+0.5)/64)
		cells[i] = logCell{inverse, math.Log(inverse)}
	}
	return cells
}

const (
	leastQuick  = 1 << 40 // the least w that quickLog takes
	quickMargin = 0x1p-36 // bounds the error of quickLog
)

// quickLog returns −ln U for U in [w, w+4)/2⁶⁴, w ≥ leastQuick a multiple of 4, to within
// quickMargin.
//
// w/2⁶⁴ = f·2^−n with f in [1, 2), and f = (1+r)/inverse with |r| ≤ 1/129. Of ln(1+r) four terms of
// the series are taken; the others sum to at most |r|⁵/(5(1−|r|)) < 2⁻³⁷·0.79. U for w adds 4/w ≤
// 2⁻³⁸, and the roundings of f, of inverse·f, of the terms, of ln inverse and of n·ln 2 < 17
// together less than 2⁻⁴⁷: in all below 2⁻³⁶·0.66.
func quickLog(w uint64) float64 {
	const mantissa, one = 52, 1023 << 52 // of a float64
	n := bits.LeadingZeros64(w) + 1
	digits := w << n
	cell := &logCells[digits>>58]
	r := math.Float64frombits(digits>>(64-mantissa)|one)*cell.inverse - 1
	r2 := r * r
	return float64(n)*math.Ln2 + cell.log - (r - r2*((1.0/2-r*(1.0/3))+r2*(1.0/4)))
}

// quickFloor returns ⌊b·(−ln U + shift)⌋ as floorLog does, for b < 2²⁰, if quickLog decides it. The
// shift adds 2⁻⁴⁸, and the product, below 2²⁰·18, is rounded by less than b·2⁻⁴⁸: b·quickMargin has
// room for both. Where t − err is negative it is above −1: truncation to 0 is right.
func quickFloor(w uint64, b, shift float64) (floor int64, decided bool) {
	if w < leastQuick {
		return 0, false
	}
	t := b * (quickLog(w&^3) + shift)
	err := b * quickMargin
	floor = int64(t - err)
	return floor, floor == int64(t+err)
}

// floorLog returns ⌊b·(−ln U + shift)⌋, shift in [0, ln 2] to within 2⁻⁴⁹, in float64 for U in [w,
// w+4)/2⁶⁴, w a multiple of 4, if that is possible. It ignores the last two digits of w.
//
// U is within a relative 4/w + 2⁻⁵³ of w/2⁶⁴. The two logarithms (at most 44.4) and their
// difference are each within 2⁻⁴⁷ of the truth, and shift and its sum too: math.Log is good to 1
// ulp. The product adds 1 ulp.
func floorLog(w uint64, b, shift float64) (floor int64, decided bool) {
	u := float64(w &^ 3)
	t := b * (64*math.Ln2 - math.Log(u) + shift)
	err := b*(8/u+0x1p-44) + t*0x1p-50
	if !(t >= err && w >= 1<<12) {
		return 0, false
	}
	floor = int64(t - err)
	return floor, floor == int64(t+err)
}
