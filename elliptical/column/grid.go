package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/wide"
)

// half is H. A value x becomes the integer τ in {−H, …, H} next to H·(x − middle)/(Max − middle),
// so rounding is off by at most 2⁻³⁰ of the range.
const half = 1 << 28

// grid maps values to integers. It is public.
type grid struct {
	half         int64
	lo, hi       float64
	zero, factor float64 // τ = round((x − zero)·factor)
	offset       int64   // … − offset
	middle, unit float64 // x = middle + unit·τ/H
}

// grid returns the map of valid Params onto {−half, …, half}: of the interval, or for a sum alone
// of the interval around 0 that contains it.
func (p Params) grid(half int64) grid {
	g := grid{half: half, lo: p.Min, hi: p.Max}
	switch p.only() {
	case Count:
	case Sum:
		g.unit = max(math.Abs(p.Min), math.Abs(p.Max))
		g.factor = float64(half) / g.unit
	default:
		g.unit = (p.Max - p.Min) / 2
		g.middle = p.Min + g.unit
		g.zero, g.factor, g.offset = p.Min, 2*float64(half)/(p.Max-p.Min), half
	}
	return g
}

// place returns τ: an integer in [−H, H], whatever x is and however the arithmetic rounded.
// Infinities are clamped; NaN is 0, the middle of the interval (for a sum alone the value 0).
func (g *grid) place(x float64) int64 {
	if x != x {
		return 0
	}
	y := math.Floor((min(max(x, g.lo), g.hi)-g.zero)*g.factor + 0.5)
	if !(math.Abs(y) <= 0x1p40) { // for no valid interval
		return 0
	}
	return min(max(int64(y)-g.offset, -g.half), g.half)
}

// totals is what rows add up to: their number, Στ and Στ².
type totals struct {
	rows          int64
	first, second wide.Int
}

// add adds one row.
func (s *totals) add(tau int64) {
	s.rows++
	s.first = s.first.Plus(wide.Of(tau))
	s.second = s.second.Plus(wide.Of(tau * tau)) // 2⁶³ rows of |τ²| ≤ 2⁵⁶ fit
}
