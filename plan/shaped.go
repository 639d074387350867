package plan

import "math"

// shaped yields rows as (x − centre)·factor. It belongs to one goroutine.
type shaped struct {
	x              *rows
	centre, factor []float64
	index          []uint32 // the coordinates of a sparse row, nil for a dense one
	y              []float64
	fixed          []uint32 // coordinates of which the centre is not 0: no row is sparse there
	place          []int32  // 1 + the place in fixed
	zeros          []float64
	quick          []float64 // factors, times what a 1 is where all entries that are stored are that; NaN in fixed columns
}

func newShaped(x *rows, centre, factor []float64) *shaped {
	s := &shaped{x: x, centre: centre, factor: factor}
	if x.sparse == nil {
		s.y = make([]float64, x.dim)
		return s
	}
	for i, c := range centre {
		if c != 0 {
			s.fixed = append(s.fixed, uint32(i))
			s.zeros = append(s.zeros, -c*factor[i])
		}
	}
	s.quick = make([]float64, x.dim)
	for i, f := range factor {
		if s.quick[i] = f; x.sparse.Values == nil {
			s.quick[i] = x.clean(i, 1) * f
		}
	}
	if len(s.fixed) > 0 {
		s.place = make([]int32, x.dim)
	}
	for at, i := range s.fixed {
		s.place[i], s.quick[i] = int32(at)+1, math.NaN()
	}
	return s
}

// row returns row j: all coordinates if index is nil, else the listed ones, the others being 0.
// Both slices are valid until the next call.
func (s *shaped) row(j int) (index []uint32, y []float64) {
	if s.x.sparse == nil {
		s.denseRow(s.x.dense[j])
		return nil, s.y
	}
	m := s.x.sparse
	from, to := m.Offsets[j], m.Offsets[j+1]
	entries, values := m.Indices[from:to:to], []float64(nil)
	if m.Values != nil {
		values = m.Values[from:to]
	}
	k := len(s.fixed)
	if cap(s.y) < k+len(entries) {
		s.y, s.index = make([]float64, 2*(k+len(entries))), make([]uint32, 2*(k+len(entries)))
	}
	s.y = s.y[:k+len(entries)]
	if k == 0 {
		s.plainRow(s.y, entries, values)
		return entries, s.y
	}
	s.index = s.index[:k+len(entries)]
	copy(s.y, s.zeros)
	copy(s.index, s.fixed)
	for at, i := range entries {
		q, v := s.quick[i], 1.0
		if values != nil {
			v = s.x.clean(int(i), values[at])
			q *= v
		}
		if q != q { // clean never returns NaN
			s.y[s.place[i]-1] = (s.x.clean(int(i), v) - s.centre[i]) * s.factor[i]
			continue
		}
		s.y[k], s.index[k] = q, i
		k++
	}
	s.y, s.index = s.y[:k], s.index[:k]
	return s.index, s.y
}

// plainRow sets y to the entries of a row where no column has a centre but 0. clean counts NaN as
// 0.
func (s *shaped) plainRow(y []float64, entries []uint32, values []float64) {
	if values == nil {
		for at, i := range entries {
			y[at] = s.quick[i]
		}
		return
	}
	for at, i := range entries {
		y[at] = s.x.clean(int(i), values[at]) * s.quick[i]
	}
}

func (s *shaped) denseRow(row []float64) {
	row = row[:min(len(row), len(s.y))]
	for i, x := range row {
		s.y[i] = (s.x.clean(i, x) - s.centre[i]) * s.factor[i]
	}
	for i := len(row); i < len(s.y); i++ {
		s.y[i] = (s.x.clean(i, 0) - s.centre[i]) * s.factor[i]
	}
}

// squaredNorm returns ‖y‖², with float64 rounding.
func squaredNorm(y []float64) float64 { return dot(y, y) }

// dot returns Σ aᵢbᵢ, with float64 rounding.
func dot(a, b []float64) float64 {
	var s, t float64
	b = b[:len(a)]
	n := len(a) &^ 1
	for i := 0; i < n; i += 2 {
		s += a[i] * b[i]
		t += a[i+1] * b[i+1]
	}
	if n < len(a) {
		s += a[n] * b[n]
	}
	return s + t
}
