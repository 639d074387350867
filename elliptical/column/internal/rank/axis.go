package rank

import (
	"math"
	"strconv"
)

// Axis cuts an interval of values into cells, the places of a quantile. It is public: which cell a
// value is in depends on that value alone, so any axis is as private as another.
//
// A linear axis has cells of one width, around multiples of it. The other one cuts each octave of 1
// + |x − origin|/unit evenly, which is an asinh to within .09 of an octave: a cell is a few
// millionths of |x − origin| wide, or of the unit where that is more. It needs the bits of a
// float64 and no logarithm, so a value has the same cell on every machine and cells are in order of
// values.
type Axis struct {
	Low, High float64
	cells     int64
	unit      float64 // of a linear axis the width of a cell, of another a power of two
	linear    bool
	origin    float64
	shift     uint // a cell has 2^shift digits
	first     int64
	scale     float64 // 1/unit
}

const (
	mostCells = 1 << 24 // of an axis of octaves
	one       = 0x3ff << 52
)

// Linear returns the axis whose cells are around low, low + unit, …: at most 2³⁰ of them.
func Linear(low, high, unit float64) Axis {
	return Axis{Low: low, High: high, unit: unit, linear: true, cells: int64(math.Round((high-low)/unit)) + 1}
}

// Octaves returns an axis of up to 2²⁴ cells. It is finest at 0, or at the end that is nearer to 0.
func Octaves(low, high, unit float64) Axis {
	_, exp := math.Frexp(unit)
	a := Axis{Low: low, High: high, unit: math.Ldexp(0.5, exp), origin: min(max(0, low), high)}
	a.scale = 1 / a.unit
	from, to := a.digits(low), a.digits(high)
	for (to-from)>>a.shift >= mostCells-1 {
		a.shift++
	}
	a.first = from >> a.shift
	a.cells = to>>a.shift - a.first + 1
	return a
}

// Cells returns the number of cells.
func (a *Axis) Cells() int64 { return a.cells }

// digits returns log₂(1 + |x − origin|/unit) by its chords, in units of 2⁻⁵², below 0 for x below
// the origin. It does not decrease.
func (a *Axis) digits(x float64) int64 {
	d := int64(math.Float64bits(1+math.Abs(x-a.origin)*a.scale)) - one
	if x < a.origin {
		return -d
	}
	return d
}

// Cell returns the cell of a value, from 0 on. Values outside the interval are clamped; NaN counts
// as its middle.
func (a *Axis) Cell(x float64) int64 {
	if x != x {
		x = a.Low/2 + a.High/2
	}
	x = min(max(x, a.Low), a.High)
	if !a.linear {
		return a.digits(x)>>a.shift - a.first
	}
	y := math.Floor((x-a.Low)/a.unit + 0.5)
	if !(y >= 0 && y <= 1<<30) { // for no valid axis
		return 0
	}
	return min(int64(y), a.cells-1)
}

// at returns the value of so many digits.
func (a *Axis) at(digits int64) float64 {
	if digits < 0 {
		return a.origin - (math.Float64frombits(uint64(one-digits))-1)*a.unit
	}
	return a.origin + (math.Float64frombits(uint64(one+digits))-1)*a.unit
}

// Edges returns an interval that holds all values of a cell, and hardly any others. Cells before
// the first and behind the last are the ends of the axis.
func (a *Axis) Edges(cell int64) (low, high float64) {
	switch {
	case cell < 0:
		return a.Low, a.Low
	case cell >= a.cells:
		return a.High, a.High
	case a.linear:
		middle := a.Low + float64(cell)*a.unit
		low, high = middle-a.unit/2, middle+a.unit/2
	default:
		low, high = a.at((a.first+cell)<<a.shift), a.at((a.first+cell+1)<<a.shift)
	}
	// for the roundings here and in Cell
	slack := 0x1p-50 * (math.Abs(low) + math.Abs(high) + math.Abs(a.origin) + a.unit)
	low, high = max(low-slack, a.Low), min(high+slack, a.High)
	if cell == 0 {
		low = a.Low
	}
	if cell == a.cells-1 {
		high = a.High
	}
	return low, high
}

// Value returns the value that stands for a cell: of a linear axis its middle, and of another the
// decimal in the cell that has the fewest digits.
func (a *Axis) Value(cell int64) float64 {
	if a.linear {
		return min(a.Low+float64(cell)*a.unit, a.High)
	}
	low, high := a.Edges(cell)
	middle := low/2 + high/2
	if low <= 0 && high >= 0 && a.Cell(0) == cell {
		return 0
	}
	for digits := range 16 {
		// Where a cell holds a decimal of so many digits, it holds the one that is next to the
		// middle.
		x, _ := strconv.ParseFloat(strconv.FormatFloat(middle, 'e', digits, 64), 64)
		if x >= a.Low && x <= a.High && a.Cell(x) == cell {
			return x
		}
	}
	return min(max(middle, a.Low), a.High)
}
