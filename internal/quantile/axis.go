package quantile

import "math"

// Base is the public base measure of a private quantile: how probable each candidate would be if
// there were no data. The fewer candidates of a base lie far from where data can be, the less
// budget a quantile needs: see [Need].
type Base uint8

const (
	// AutoBase leaves the choice to the caller's method.
	AutoBase Base = iota
	// Asinh is uniform in asinh(x/Unit): linear below a Unit, logarithmic above, for both signs.
	Asinh
	// Log is uniform in the logarithm of |x|, from Unit to Max. Smaller values count as Unit.
	Log
	// Uniform is Lebesgue measure on all possible values, cut into 2³⁰ cells.
	Uniform
)

// Axis cuts the line into finitely many cells, the keys 0, …, keys−1. Data and candidates of a
// private quantile are keys, so all that is private happens in integers; the cells are public and
// equally probable under the base measure.
//
// Along an axis that is logarithmic a key is the leading bits of a float64: log₂ by its chords
// between powers of two, with no more than 0.09 between chord and logarithm. So equal numbers of
// cells are equal logarithms to a factor within [0.69, 1.39].
type Axis struct {
	Base Base
	Unit float64 // of Asinh; the value of key 0 of Log; of Uniform the width of a cell
	per  float64 // 1/unit
	min  float64 // values are clamped to [min, max]
	Max  float64
	bits uint   // binary digits of the significand that a key keeps
	Keys uint64 // number of cells, at most 2³²
	zero uint32 // the key of 0
}

const (
	uniformCells = 1 << 30
	offset       = 1023 // of the exponent of a float64
)

// UniformAxis returns the Uniform axis on [min, max].
func UniformAxis(min, max float64) Axis {
	unit := (max - min) / uniformCells
	a := Axis{Base: Uniform, Unit: unit, per: 1 / unit, min: min, Max: max, Keys: uniformCells}
	a.zero = a.Key(0)
	return a
}

// LogAxis returns the Log axis on [unit, max] that keeps bits binary digits.
func LogAxis(unit, max float64, bits uint) Axis {
	a := Axis{Base: Log, Unit: unit, per: 1 / unit, min: -max, Max: max, bits: bits}
	a.Keys = uint64(a.Key(max)) + 1
	return a
}

// AsinhAxis returns the Asinh axis on [−max, max] whose cells are at most unit/8 wide as long as
// max/unit ≤ 2²⁰.
func AsinhAxis(unit, max float64) Axis {
	digits := min(uint(math.Ceil(math.Log2(math.Max(max/unit, 64))))+4, 24)
	a := Axis{Base: Asinh, Unit: unit, per: 1 / unit, min: -max, Max: max, bits: digits}
	a.zero = a.Key(max)
	a.Keys = 2*uint64(a.zero) + 1
	return a
}

// Plain is the base measure that is uniform on the axis.
func (a Axis) Plain() []Region { return []Region{{0, a.Keys, 1}} }

// Key returns the cell of x; NaN counts as 0.
func (a *Axis) Key(x float64) uint32 {
	if x != x {
		x = 0
	}
	var key [1]uint32
	a.KeyAll(key[:], []float64{x})
	return key[0]
}

// Keying maps the entries of columns to keys: x itself, or where there are centres, which are
// public, the distance from the centre of the column.
type Keying struct {
	Axis
	Centre []float64
}

// Fill sets dst to the keys of entries of column i, which may be changed.
func (k *Keying) Fill(dst []uint32, i int, x []float64) {
	if k.Centre != nil {
		c := k.Centre[i]
		for at, v := range x {
			x[at] = math.Abs(v - c)
		}
	}
	k.KeyAll(dst, x)
}

// KeyAll sets dst to the keys of the values, of which none is NaN, or to anything of those.
func (a *Axis) KeyAll(dst []uint32, x []float64) {
	dst = dst[:len(x)]
	most, per, digits, below := a.Max, a.per, (52-a.bits)&63, uint64(offset)<<a.bits
	switch a.Base {
	case Asinh: // the leading bits of s = e^{asinh t}, t = |x|/unit, on either side of zero
		least := uint64(math.MaxUint64) // of t
		for _, v := range x {
			least = min(least, math.Float64bits(v)<<1)
		}
		// then t² + 1 is rounded to t², and s is 2t
		far := min(math.Float64frombits(least>>1), most)*per >= 1<<27
		for at, v := range x {
			t := math.Abs(v)
			if t > most {
				t = most
			}
			t *= per
			s := t + t
			if !far {
				s = t + math.Sqrt(float64(t*t)+1)
			}
			sign := uint32(math.Float64bits(v) >> 63) // no branch, which no machine could predict
			dst[at] = a.zero + (uint32(math.Float64bits(s)>>digits-below) ^ -sign + sign)
		}
	case Log:
		for at, v := range x {
			t := math.Abs(v)
			if t > most {
				t = most
			}
			if t *= per; !(t >= 1) {
				dst[at] = 0
				continue
			}
			dst[at] = uint32(math.Float64bits(t)>>digits-below) + 1
		}
	default:
		for at, v := range x {
			dst[at] = uint32(min(max(math.Floor((v-a.min)*per), 0), uniformCells-1))
		}
	}
}

// Value returns the middle of a cell: 0 for that of 0, except for Uniform.
func (a Axis) Value(key uint32) float64 {
	switch a.Base {
	case Asinh:
		switch {
		case key > a.zero:
			return min(a.sinh(key-a.zero), a.Max)
		case key < a.zero:
			return -min(a.sinh(a.zero-key), a.Max)
		}
		return 0
	case Log:
		if key == 0 {
			return a.Unit
		}
		return min(a.middle(key-1)*a.Unit, a.Max)
	}
	return a.min + (float64(key)+0.5)*a.Unit
}

// sinh inverts exponential: x = (s − 1/s)/2.
func (a Axis) sinh(cell uint32) float64 {
	s := a.middle(cell)
	return (s - 1/s) / 2 * a.Unit
}

// middle returns the middle of the numbers with the leading bits cell.
func (a Axis) middle(cell uint32) float64 {
	const half = 1
	return math.Float64frombits((uint64(cell)<<1 + half + uint64(2*offset)<<a.bits) << (51 - a.bits))
}
