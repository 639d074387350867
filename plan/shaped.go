package plan

// shaped yields rows as (x − centre)·factor. It belongs to one goroutine.
type shaped struct {
	x              *rows
	centre, factor []float64
	index          []uint32 // the coordinates of a sparse row, nil for a dense one
	y              []float64
	fixed          []uint32 // coordinates of which the centre is not 0: no row is sparse there
	place          []int32  // 1 + the place in fixed
	zeros          []float64
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
	if len(s.fixed) > 0 {
		s.place = make([]int32, x.dim)
		for at, i := range s.fixed {
			s.place[i] = int32(at) + 1
		}
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
	s.index, s.y = append(s.index[:0], s.fixed...), append(s.y[:0], s.zeros...)
	for at := m.Offsets[j]; at < m.Offsets[j+1]; at++ {
		i := m.Indices[at]
		y := (s.x.clean(int(i), m.value(at)) - s.centre[i]) * s.factor[i]
		if s.place != nil && s.place[i] > 0 {
			s.y[s.place[i]-1] = y
			continue
		}
		s.index, s.y = append(s.index, i), append(s.y, y)
	}
	return s.index, s.y
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
