package column

import (
	"math"
	"math/big"
	"math/bits"
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
	switch p.Only {
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
	first, second wide
}

// add adds one row.
func (s *totals) add(tau int64) {
	s.rows++
	s.first.add(wideOf(tau))
	s.second.add(wideOf(tau * tau))
}

// wide is an integer of 128 bits in two's complement. 2⁶³ rows of |τ²| ≤ 2⁵⁶ fit.
type wide struct {
	hi int64
	lo uint64
}

func wideOf(x int64) wide { return wide{x >> 63, uint64(x)} }

func (w *wide) add(x wide) {
	lo, carry := bits.Add64(w.lo, x.lo, 0)
	w.lo, w.hi = lo, w.hi+x.hi+int64(carry)
}

// big returns w as a big integer.
func (w wide) big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	return x.Add(x, new(big.Int).SetUint64(w.lo))
}

// float returns w rounded to a float64.
func (w wide) float() float64 {
	x, _ := new(big.Float).SetInt(w.big()).Float64()
	return x
}

// narrow returns x, which must fit into 128 bits.
func narrow(x *big.Int) wide {
	lo := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64)) // two's complement, as for all of math/big
	return wide{new(big.Int).Rsh(x, 64).Int64(), lo.Uint64()}
}
