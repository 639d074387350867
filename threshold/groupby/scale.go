package groupby

import (
	"math"
	"strconv"
)

// scale is the public axis of quantiles, cut into cells. With a Resolution they are as wide as
// that, with their middles at Min, Min + Resolution, and so on. Without, a cell holds the values
// with the same leading 9 bits: it is 1/256 to 1/512 of its value wide. Below unit, a millionth of
// the larger end, cells are equally wide.
type scale struct {
	least, most float64
	step        float64 // 0: by leading bits
	unit        float64 // a power of 2
	first       int64   // the index of the first cell
	cells       int64
}

const (
	leading  = 8       // bits of a value's significand that make its cell
	largest  = 0x1p64  // the ends of the axis where there is no range
	smallest = 0x1p-32 // unit, there
	maxCells = 1 << 30 // as in package column
)

// scale returns that of the Params, which need not be valid.
func (p Params) scale() scale {
	s := scale{least: p.Min, most: p.Max, step: p.Resolution}
	if s.step > 0 {
		s.cells = int64(min(math.Round((s.most-s.least)/s.step), maxCells)) + 1
		return s
	}
	if s.least == 0 && s.most == 0 {
		s.least, s.most = -largest, largest
	}
	_, exponent := math.Frexp(max(math.Abs(s.least), math.Abs(s.most)))
	s.unit = math.Ldexp(1, exponent-20)
	if p.Min == 0 && p.Max == 0 {
		s.unit = smallest
	} else if near := min(math.Abs(s.least), math.Abs(s.most)); (s.least > 0) == (s.most > 0) && near > 0 {
		_, exponent := math.Frexp(near)
		s.unit = math.Ldexp(1, exponent-1)
	}
	s.first = s.index(s.least)
	s.cells = s.index(s.most) - s.first + 1
	return s
}

// cell returns that of a value; values beyond the ends count as these, and NaN as 0 or the end next
// to it.
func (s *scale) cell(x float64) uint32 {
	if x != x {
		x = 0
	}
	x = min(max(x, s.least), s.most)
	if s.step > 0 {
		return uint32(min(max(math.Floor((x-s.least)/s.step+0.5), 0), float64(s.cells-1)))
	}
	return uint32(min(max(s.index(x)-s.first, 0), s.cells-1))
}

// index numbers the values by their leading bits, those from −unit/64 to unit/64 with 0.
func (s *scale) index(x float64) int64 {
	t, i := math.Abs(x), int64(0)
	if t < s.unit {
		i = int64(t / s.unit * (1 << leading))
	} else {
		i = 1<<leading + int64(math.Float64bits(t)>>(52-leading)) - int64(math.Float64bits(s.unit)>>(52-leading))
	}
	if x < 0 {
		return -i
	}
	return i
}

// edge returns where a cell begins, within the range; of the cell behind the last its end.
func (s *scale) edge(cell int64) float64 {
	x := s.least + (float64(cell)-0.5)*s.step
	if s.step == 0 {
		x = s.from(cell + s.first)
	}
	if cell >= s.cells {
		return s.most
	}
	return min(max(x, s.least), s.most)
}

// from returns the least value of an index i > 0, or the largest of −i; cell 0 is between those of
// 1 and −1.
func (s *scale) from(i int64) float64 {
	switch n := i - 1<<leading; {
	case i <= 0: // from the side of 0
		return -s.from(1 - i)
	case n < 0:
		return float64(i) / (1 << leading) * s.unit
	default:
		return math.Float64frombits(uint64(n+int64(math.Float64bits(s.unit)>>(52-leading))) << (52 - leading))
	}
}

// value returns the value that stands for a cell: with a Resolution its middle, else a number of
// the fewest digits in it. So integers below 512 stand for themselves, as 1500 does.
func (s *scale) value(cell uint32) float64 {
	low, high := s.edge(int64(cell)), s.edge(int64(cell)+1)
	if s.step > 0 {
		return min(s.least+float64(cell)*s.step, s.most)
	}
	middle := low/2 + high/2
	for digits := 1; digits < 17; digits++ {
		for _, near := range [3]float64{middle, low, high} {
			x, err := strconv.ParseFloat(strconv.FormatFloat(near, 'e', digits-1, 64), 64)
			if err == nil && x >= low && x <= high && s.cell(x) == cell {
				return x
			}
		}
	}
	return middle
}
