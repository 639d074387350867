package groupby

import (
	"math"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// scale is the public axis of quantiles, cut into cells. With a Resolution they are as wide as
// that, with their middles at Min, Min + Resolution, and so on. Without, a cell holds the values
// whose distances from the origin have the same leading 9 bits: it is 1/256 to 1/512 of the
// distance wide. The origin is 0, or the end of the range that is nearest to 0. Below unit, a
// billionth of the range, cells are equally wide.
type scale struct {
	least, most float64
	step        float64 // 0: by leading bits
	origin      float64
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
	s.unit = smallest
	if s.least == 0 && s.most == 0 {
		s.least, s.most = -largest, largest
	} else {
		_, exponent := math.Frexp(s.most - s.least)
		s.unit = math.Ldexp(1, exponent-30)
	}
	s.origin = min(max(0, s.least), s.most)
	s.first = s.index(s.least)
	s.cells = s.index(s.most) - s.first + 1
	return s
}

// falls returns the base measure of a level near an end of several: half the weight for each octave
// from a public size on, towards the end.
func (s *scale) falls(upper bool, places int64) quantile.Fall {
	const every = 1 << leading
	from := s.unit * 0x1p6
	if s.unit == smallest && s.most == largest {
		from = 1
	}
	switch {
	case s.step > 0:
		return quantile.Fall{}
	case upper:
		return quantile.Fall{From: (s.index(s.origin+from) - s.first) * places, Every: every * places}
	}
	return quantile.Fall{From: (s.index(s.origin-from) - s.first + 1) * places, Every: -every * places}
}

// cell returns the cell of a value; values beyond the ends count as these, and NaN as 0 or the end
// next to it.
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

// index numbers the values by the leading bits of their distance from the origin, those nearest to
// it with 0.
func (s *scale) index(x float64) int64 {
	t, i := math.Abs(x-s.origin), int64(0)
	if t < s.unit {
		i = int64(t / s.unit * (1 << leading))
	} else {
		i = 1<<leading + int64(math.Float64bits(t)>>(52-leading)) - int64(math.Float64bits(s.unit)>>(52-leading))
	}
	if x < s.origin {
		return -i
	}
	return i
}

// edge returns where a cell begins, within the range; of the cell behind the last its end.
// Above the origin it is the least value of the cell, below it the largest of the cell before.
func (s *scale) edge(cell int64) float64 {
	if cell >= s.cells {
		return s.most
	}
	x := s.least + (float64(cell)-0.5)*s.step
	if i := cell + s.first; s.step == 0 {
		x = s.origin + s.from(i)
		up, down := math.Inf(1), math.Inf(-1)
		before := func(x float64) bool { return s.index(x) < i }
		if s.origin != 0 && i > 0 { // distances are rounded
			for before(x) {
				x = math.Nextafter(x, up)
			}
			for y := math.Nextafter(x, down); !before(y); y = math.Nextafter(y, down) {
				x = y
			}
		} else if s.origin != 0 {
			for !before(x) {
				x = math.Nextafter(x, down)
			}
			for y := math.Nextafter(x, up); before(y); y = math.Nextafter(y, up) {
				x = y
			}
		}
	}
	return min(max(x, s.least), s.most)
}

// from returns the least distance of an index i > 0, or the largest of −i; cell 0 is between those
// of 1 and −1.
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
