package means

import "slices"

// shaping maps rows x to (x − centre)·factor, coordinate by coordinate. The map is public. Any
// number of goroutines may use it.
type shaping struct {
	x       *rows
	columns []columnMap

	// For sparse rows:
	fixed   []uint32  // coordinates with a centre other than 0: dense in all rows
	place   []int32   // 1 + the place of a coordinate in fixed; nil if fixed is empty
	zeros   []float64 // to what the fixed coordinates map 0
	factors []float64 // the factors, if fixed is empty; else nil
	same    bool      // whether they are all equal
	rest    float64   // ‖y‖² of a row of zeros

	// Where no values are stored, so that each is 1:
	ones    []float64 // to what coordinates map 1; nil where values are stored
	changes []float64 // by how much such an entry changes ‖y‖²
	equal   []float64 // n of them added one by one, if they are the same number; up to half a row
}

// columnMap maps an entry x of a column to (x − centre)·factor.
type columnMap struct{ centre, factor float64 }

func newShaping(x *rows, centre, factor []float64) *shaping {
	s := &shaping{x: x, columns: make([]columnMap, len(factor))}
	for i, f := range factor {
		s.columns[i] = columnMap{centre[i], f}
	}
	if x.sparse == nil {
		return s
	}
	for i, c := range centre {
		if c != 0 {
			s.fixed = append(s.fixed, uint32(i))
			s.zeros = append(s.zeros, -c*factor[i])
		}
	}
	s.rest = squaredNorm(s.zeros)
	if len(s.fixed) > 0 {
		s.place = make([]int32, x.dim)
	}
	for at, i := range s.fixed {
		s.place[i] = int32(at) + 1
	}
	if len(s.fixed) == 0 {
		s.factors, s.same = factor, !slices.ContainsFunc(factor, func(f float64) bool { return f != factor[0] })
	}
	if x.sparse.Values == nil {
		s.mapOnes()
	}
	return s
}

// mapOnes computes what rows without stored values have in common. All that comes of them is the
// same, to the last bit, as with values of 1 that are stored: else the representation of the rows,
// or one row that needs values, could change how every other row is rounded. So sums are of the
// same numbers in the same order, and no product is fused with an addition.
func (s *shaping) mapOnes() {
	m := s.x.sparse
	s.ones = make([]float64, s.x.dim)
	for i := range s.ones {
		s.ones[i] = s.at(i, 1)
	}
	s.changes = make([]float64, s.x.dim)
	same := len(s.fixed) == 0
	for i, y := range s.ones {
		zero := -s.columns[i].centre * s.columns[i].factor
		s.changes[i] = float64(y*y) - float64(zero*zero)
		same = same && y == s.ones[0]
	}
	if !same {
		return
	}
	longest := 0
	for j := range m.Rows() {
		longest = max(longest, m.Offsets[j+1]-m.Offsets[j])
	}
	s.equal = make([]float64, longest/2+2)
	for n := range s.equal[1:] {
		s.equal[n+1] = s.equal[n] + s.changes[0]
	}
}

// equalSquare returns ‖y‖² of a row of n equal entries, as factorSquare and dot do: two sums, of
// every other square.
func (s *shaping) equalSquare(n int) float64 { return s.equal[(n+1)/2] + s.equal[n/2] }

// stored returns the entries of sparse row j, and their values if these are stored.
func (s *shaping) stored(j int) (entries []uint32, values []float64) {
	m := s.x.sparse
	from, to := m.Offsets[j], m.Offsets[j+1]
	if m.Values != nil {
		values = m.Values[from:to:to]
	}
	return m.Indices[from:to:to], values
}

// at maps an entry x of column i.
func (s *shaping) at(i int, x float64) float64 {
	return (s.x.clean(i, x) - s.columns[i].centre) * s.columns[i].factor
}

// odd returns an entry x of column i of a dense row as [bounds.clean] does, with the centre for
// NaN. So NaN adds nothing to a norm or a sum, unless the centre is outside of the range: that is 0
// in NonNegative rows that Plain clips, and the nearest end counts.
func (s *shaping) odd(i int, x float64) float64 {
	if x != x {
		x = s.columns[i].centre
	}
	return s.x.clean(i, x)
}

// square returns ‖y‖² of row j, in time proportional to the number of its stored entries. The
// result has float64 rounding errors, which whole allows for.
func (s *shaping) square(j int) float64 {
	if s.x.sparse == nil {
		return s.denseSquare(s.x.dense[j])
	}
	entries, values := s.stored(j)
	sum := 0.0
	switch {
	case s.equal != nil:
		sum = s.equalSquare(len(entries))
	case s.changes != nil:
		sum = sumOf(s.changes, entries)
	case s.factors != nil:
		sum = s.factorSquare(entries, values)
	default:
		sum = s.sparseSquare(entries, values)
	}
	if sum += s.rest; sum < s.rest*0x1p-24 { // rounding errors, and perhaps below 0
		return 0
	}
	return sum
}

// sumOf returns the sum of the listed numbers, in the order of factorSquare and sparseSquare.
func sumOf(x []float64, list []uint32) float64 {
	var a, b float64
	n := len(list) &^ 1
	for at := 0; at < n; at += 2 {
		a += x[list[at]]
		b += x[list[at+1]]
	}
	if n < len(list) {
		a += x[list[n]]
	}
	return a + b
}

// factorSquare is sparseSquare where no coordinate is fixed.
func (s *shaping) factorSquare(entries []uint32, values []float64) float64 {
	least, most := s.x.usual()
	var sum, other float64
	if s.same {
		for at, x := range values {
			if !(x >= least && x <= most) {
				x = s.x.clean(int(entries[at]), x)
			}
			y := x * s.factors[0]
			sum, other = other, sum+float64(y*y)
		}
		return sum + other
	}
	for at, i := range entries {
		x := values[at]
		if !(x >= least && x <= most) {
			x = s.x.clean(int(i), x)
		}
		y := x * s.factors[i]
		sum, other = other, sum+float64(y*y)
	}
	return sum + other
}

// sparseSquare returns by how much the entries change ‖y‖² of a row of zeros.
func (s *shaping) sparseSquare(entries []uint32, values []float64) (sum float64) {
	least, most := s.x.usual()
	var other float64
	for at, i := range entries {
		x, c := values[at], s.columns[i]
		if !(x >= least && x <= most) {
			x = s.x.clean(int(i), x)
		}
		y, zero := (x-c.centre)*c.factor, -c.centre*c.factor
		sum, other = other, sum+(float64(y*y)-float64(zero*zero))
	}
	return sum + other
}

func (s *shaping) denseSquare(row []float64) float64 {
	least, most := s.x.usual()
	var sum, other float64
	row = row[:min(len(row), len(s.columns))]
	columns := s.columns[:len(row)]
	for i, x := range row {
		if !(x >= least && x <= most) {
			x = s.odd(i, x)
		}
		y := (x - columns[i].centre) * columns[i].factor
		sum, other = other, sum+y*y
	}
	for i := len(row); i < len(s.columns); i++ {
		y := s.at(i, 0)
		sum += y * y
	}
	return sum + other
}

// whole reports whether a row is certainly not longer than limit, given its computed square.
//
// The computed square is a sum of less than 2²⁶ terms. The entries in fixed columns subtract at
// most rest in all, so the absolute values of the terms add up to A ≤ ‖y‖² + 2·rest, and the sum is
// within 2⁻²⁶·A of ‖y‖². That error, together with the rounding of the terms themselves, is less
// than what is added here. (Terms below the range of a float64 do not matter: limit is at least
// 2⁻²⁰⁰.)
func (s *shaping) whole(square, limit float64) bool {
	return square+0x1p-24*(square+s.rest) <= limit*limit
}

// shaped yields mapped rows, one at a time. It belongs to one goroutine.
type shaped struct {
	*shaping
	index []uint32 // scratch: the coordinates of a sparse row
	y     []float64
}

// row returns row j, mapped. If index is nil, y has all coordinates; otherwise y has those that
// index lists, and the others are 0. Both slices are valid until the next call.
func (v *shaped) row(j int) (index []uint32, y []float64) {
	if v.x.sparse == nil {
		v.denseRow(v.x.dense[j])
		return nil, v.y
	}
	entries, values := v.stored(j)
	k := len(v.fixed)
	if n := k + len(entries); cap(v.y) < n {
		v.y, v.index = make([]float64, 2*n), make([]uint32, 2*n)
	}
	y = v.y[:k+len(entries)]
	if v.ones != nil {
		for at, i := range entries {
			y[k+at] = v.ones[i]
		}
	}
	for at, x := range values {
		y[k+at] = v.at(int(entries[at]), x)
	}
	if k == 0 {
		return entries, y
	}
	index = append(v.index[:0], v.fixed...)
	copy(y, v.zeros)
	for at, i := range entries {
		if v.columns[i].centre != 0 {
			y[v.place[i]-1] = y[len(v.fixed)+at]
			continue
		}
		y[k] = y[len(v.fixed)+at]
		index, k = append(index, i), k+1
	}
	return index, y[:k]
}

func (v *shaped) denseRow(row []float64) {
	if v.y == nil {
		v.y = make([]float64, v.x.dim)
	}
	row = row[:min(len(row), len(v.y))]
	for i, x := range row {
		v.y[i] = (v.odd(i, x) - v.columns[i].centre) * v.columns[i].factor
	}
	for i := len(row); i < len(v.y); i++ {
		v.y[i] = v.at(i, 0)
	}
}

// squaredNorm returns ‖y‖², with float64 rounding.
func squaredNorm(y []float64) float64 { return dot(y, y) }

// dot returns Σ aᵢbᵢ, with float64 rounding: every other product in one of two sums.
func dot(a, b []float64) float64 {
	var s, t float64
	b = b[:len(a)]
	n := len(a) &^ 1
	for i := 0; i < n; i += 2 {
		s += float64(a[i] * b[i])
		t += float64(a[i+1] * b[i+1])
	}
	if n < len(a) {
		s += float64(a[n] * b[n])
	}
	return s + t
}

// measure computes ‖y‖² of all rows as they are shaped now, for limit and clipAll.
func (r *run) measure() error {
	s, squares := newShaping(r.x, r.centre, r.factor), make([]float64, r.x.count())
	r.shaping, r.squares = s, squares
	return workers(len(r.samplers), (len(squares)+block-1)/block, r.stop, func(b, _ int) {
		for j := b * block; j < min((b+1)*block, len(squares)); j++ {
			squares[j] = s.square(j)
		}
	})
}
