package plan

import "slices"

// Sparse is a matrix in compressed form whose entries are mostly 0. Row j has the values
// Values[Offsets[j]:Offsets[j+1]] in the columns Indices[Offsets[j]:Offsets[j+1]]. It is private
// data of the caller: printing it prints the data.
//
// Offsets ascend from 0 to len(Indices). Their number is that of the rows plus 1; a matrix without
// rows may have none. Values is as long as Indices, or nil if every stored value is 1. Indices
// should ascend within a row; otherwise a release sorts them. Values of the same index in a row
// are added; without Values a repeated index counts once. Indices of Dim or more are ignored.
type Sparse struct {
	Offsets []int
	Indices []uint32
	Values  []float64
}

// Rows returns the number of rows.
func (s Sparse) Rows() int { return max(len(s.Offsets)-1, 0) }

// wellFormed reports whether the lengths and the offsets fit together.
func (s Sparse) wellFormed() bool {
	if len(s.Offsets) == 0 {
		return len(s.Indices) == 0 && len(s.Values) == 0
	}
	return s.Offsets[0] == 0 && slices.IsSorted(s.Offsets) && s.Offsets[len(s.Offsets)-1] == len(s.Indices) &&
		(s.Values == nil || len(s.Values) == len(s.Indices))
}

// entry is one entry of a row.
type entry struct {
	index uint32
	value float64
}

// canonical returns the matrix with strictly ascending indices below dim in each row. If it has
// them already, the slices are those of s.
func (s Sparse) canonical(dim int) Sparse {
	ascending := func(j int) bool {
		row := s.Indices[s.Offsets[j]:s.Offsets[j+1]]
		for i := 1; i < len(row); i++ {
			if row[i] <= row[i-1] {
				return false
			}
		}
		return len(row) == 0 || int64(row[len(row)-1]) < int64(dim)
	}
	j := 0
	for j < s.Rows() && ascending(j) {
		j++
	}
	if j == s.Rows() {
		return s
	}
	out := Sparse{Offsets: append(make([]int, 0, len(s.Offsets)), 0)}
	var row []entry
	for j := range s.Rows() {
		row = row[:0]
		for i := s.Offsets[j]; i < s.Offsets[j+1]; i++ {
			if int64(s.Indices[i]) < int64(dim) {
				row = append(row, entry{s.Indices[i], s.value(i)})
			}
		}
		slices.SortStableFunc(row, func(a, b entry) int { return int(int64(a.index) - int64(b.index)) })
		for i, e := range row {
			if i > 0 && row[i-1].index == e.index {
				if s.Values != nil {
					out.Values[len(out.Values)-1] += e.value
				}
				continue
			}
			out.Indices = append(out.Indices, e.index)
			if s.Values != nil {
				out.Values = append(out.Values, e.value)
			}
		}
		out.Offsets = append(out.Offsets, len(out.Indices))
	}
	return out
}

// value returns stored value i, or 0 if that is NaN.
func (s Sparse) value(i int) float64 {
	if s.Values == nil {
		return 1
	}
	if v := s.Values[i]; v == v {
		return v
	}
	return 0
}

// transposed returns the matrix whose rows are the columns of s.
func (s *Sparse) transposed(dim int) *Sparse {
	out := &Sparse{Offsets: make([]int, dim+1), Indices: make([]uint32, len(s.Indices)), Values: make([]float64, len(s.Indices))}
	for _, i := range s.Indices {
		out.Offsets[i+1]++
	}
	for i := range dim {
		out.Offsets[i+1] += out.Offsets[i]
	}
	next := slices.Clone(out.Offsets)
	for j := range s.Rows() {
		for e := s.Offsets[j]; e < s.Offsets[j+1]; e++ {
			at := next[s.Indices[e]]
			next[s.Indices[e]]++
			out.Indices[at], out.Values[at] = uint32(j), s.value(e)
		}
	}
	return out
}
