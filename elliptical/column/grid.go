package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// half is H. A value x becomes the integer τ in {−H, …, H} next to H·(x − middle)/unit, so rounding
// is off by at most 2⁻²⁹ of the unit.
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
	if p.only() == Sum {
		return around(0, p.Min, p.Max, half)
	}
	return across(p.Min, p.Max, half)
}

// across returns the grid whose ends are lo and hi.
func across(lo, hi float64, half int64) grid {
	unit := (hi - lo) / 2
	return grid{half, lo, hi, lo, 2 * float64(half) / (hi - lo), half, lo + unit, unit}
}

// around returns the grid around a middle that reaches to lo and hi, whichever is farther.
func around(middle, lo, hi float64, half int64) grid {
	unit := max(hi-middle, middle-lo)
	return grid{half, lo, hi, middle, float64(half) / unit, 0, middle, unit}
}

// place returns τ: an integer in [−H, H], whatever x is and however the arithmetic rounded.
// Infinities are clamped; NaN, which is a row under Replace alone, is 0, the middle of the
// interval.
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
	first, second exact.Int128
}

// add adds one row.
func (s *totals) add(tau int64) {
	s.rows++
	s.first = s.first.Plus(exact.Int128Of(tau))
	s.second = s.second.Plus(exact.Int128Of(tau * tau)) // 2⁶³ rows of |τ²| ≤ 2⁵⁶ fit
}

// addN adds n equal rows.
func (s *totals) addN(tau, n int64) {
	s.rows += n
	s.first = s.first.Plus(exact.Product128(tau, n))
	s.second = s.second.Plus(exact.Product128(tau*tau, n))
}
