package plan

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/enum"
)

// Base is the public base measure of a private quantile: how probable each candidate would be if
// there were no data. The fewer candidates of a base lie far from where data can be, the less
// budget a quantile needs: see [QuantileParams.RequiredRho].
type Base uint8

const (
	// AutoBase is Asinh where values may have either sign, and Log for norms and deviations.
	AutoBase Base = iota
	// Asinh is uniform in asinh(x/Unit): linear below a Unit, logarithmic above, for both signs.
	Asinh
	// Log is uniform in the logarithm of |x|, from Unit to Max. Smaller values count as Unit.
	Log
	// Uniform is Lebesgue measure on all possible values, cut into 2³⁰ cells.
	Uniform

	lastBase = Uniform
)

var baseNames = []string{"AutoBase", "Asinh", "Log", "Uniform"}

// String returns the name of the constant.
func (b Base) String() string { return enum.Name(b, baseNames, "Base") }

// axis cuts the line into finitely many cells, the keys 0, …, keys−1. Data and candidates of a
// private quantile are keys, so all that is private happens in integers; the cells are public and
// equally probable under the base measure.
//
// Along an axis that is logarithmic a key is the leading bits of a float64: log₂ by its chords
// between powers of two, with no more than 0.09 between chord and logarithm. So equal numbers of
// cells are equal logarithms to a factor within [0.69, 1.39].
type axis struct {
	base Base
	unit float64 // of Asinh; the value of key 0 of Log; of Uniform the width of a cell
	per  float64 // 1/unit
	min  float64 // values are clamped to [min, max]
	max  float64
	bits uint   // binary digits of the significand that a key keeps
	keys uint64 // number of cells, at most 2³²
	zero uint32 // the key of 0
}

const (
	uniformCells = 1 << 30
	offset       = 1023 // of the exponent of a float64
)

// uniformAxis returns the Uniform axis on [min, max].
func uniformAxis(min, max float64) axis {
	unit := (max - min) / uniformCells
	a := axis{base: Uniform, unit: unit, per: 1 / unit, min: min, max: max, keys: uniformCells}
	a.zero = a.key(0)
	return a
}

// logAxis returns the Log axis on [unit, max] that keeps bits binary digits.
func logAxis(unit, max float64, bits uint) axis {
	a := axis{base: Log, unit: unit, per: 1 / unit, min: -max, max: max, bits: bits}
	a.keys = uint64(a.key(max)) + 1
	return a
}

// asinhAxis returns the Asinh axis on [−max, max] whose cells are at most unit/8 wide as long as
// max/unit ≤ 2²⁰.
func asinhAxis(unit, max float64) axis {
	digits := min(uint(math.Ceil(math.Log2(math.Max(max/unit, 64))))+4, 24)
	a := axis{base: Asinh, unit: unit, per: 1 / unit, min: -max, max: max, bits: digits}
	a.zero = a.exponential(max)
	a.keys = 2*uint64(a.zero) + 1
	return a
}

// key returns the cell of x; NaN counts as 0.
func (a *axis) key(x float64) uint32 {
	if x != x {
		x = 0
	}
	switch a.base {
	case Asinh:
		return a.signed(x)
	case Log:
		return a.logarithm(x)
	}
	return a.cell(x)
}

// signed is key for Asinh. It has no branch for the sign, which no machine could predict.
func (a *axis) signed(x float64) uint32 {
	sign := uint32(math.Float64bits(x) >> 63)
	return a.zero + (a.exponential(math.Abs(x)) ^ -sign + sign)
}

// exponential returns the leading bits of e^{asinh t}, t = x/unit ≥ 0, from 0 on.
func (a *axis) exponential(x float64) uint32 {
	if x > a.max {
		x = a.max
	}
	t := x * a.per
	s := t + math.Sqrt(float64(t*t)+1)
	return uint32(math.Float64bits(s)>>(52-a.bits) - offset<<a.bits)
}

// logarithm is key for Log.
func (a *axis) logarithm(x float64) uint32 {
	if x = math.Abs(x); x > a.max {
		x = a.max
	}
	t := x * a.per
	if !(t >= 1) {
		return 0
	}
	return uint32(math.Float64bits(t)>>(52-a.bits)-offset<<a.bits) + 1
}

// cell is key for Uniform.
func (a *axis) cell(x float64) uint32 {
	return uint32(min(max(math.Floor((x-a.min)*a.per), 0), uniformCells-1))
}

// keying maps the entries of columns to keys: x itself, or where there are centres, which are
// public, the distance from the centre of the column.
type keying struct {
	axis
	centre []float64
}

// fill sets dst to the keys of entries of column i, which may be changed.
func (k *keying) fill(dst []uint32, i int, x []float64) {
	if k.centre != nil {
		c := k.centre[i]
		for at, v := range x {
			x[at] = math.Abs(v - c)
		}
	}
	k.keyAll(dst, x)
}

// keyAll sets dst to the keys of the values.
func (k *axis) keyAll(dst []uint32, x []float64) {
	dst = dst[:len(x)]
	switch k.base {
	case Asinh:
		for at, v := range x {
			dst[at] = k.signed(v)
		}
	case Log:
		for at, v := range x {
			dst[at] = k.logarithm(v)
		}
	default:
		for at, v := range x {
			dst[at] = k.cell(v)
		}
	}
}

// value returns the middle of a cell: 0 for that of 0, except for Uniform.
func (a axis) value(key uint32) float64 {
	switch a.base {
	case Asinh:
		switch {
		case key > a.zero:
			return min(a.sinh(key-a.zero), a.max)
		case key < a.zero:
			return -min(a.sinh(a.zero-key), a.max)
		}
		return 0
	case Log:
		if key == 0 {
			return a.unit
		}
		return min(a.middle(key-1)*a.unit, a.max)
	}
	return a.min + (float64(key)+0.5)*a.unit
}

// sinh inverts exponential: x = (s − 1/s)/2.
func (a axis) sinh(cell uint32) float64 {
	s := a.middle(cell)
	return (s - 1/s) / 2 * a.unit
}

// middle returns the middle of the numbers with the leading bits cell.
func (a axis) middle(cell uint32) float64 {
	const half = 1
	return math.Float64frombits((uint64(cell)<<1 + half + uint64(2*offset)<<a.bits) << (51 - a.bits))
}
