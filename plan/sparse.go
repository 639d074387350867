package plan

import "github.com/dpsketch/dpsketch/plan/internal/means"

// Sparse is a matrix whose entries are mostly 0, private data of the caller. Row j has the values
// Values[Offsets[j]:Offsets[j+1]] in the columns Indices[Offsets[j]:Offsets[j+1]].
//
// Offsets ascend from 0 to len(Indices), one more than rows. Values is as long as Indices, or nil
// if every value is 1. Values of one index in a row are added before anything is clamped. Indices
// of Dim or more are ignored, and so is NaN.
type Sparse struct {
	Offsets []int
	Indices []uint32
	Values  []float64
}

// Rows returns the number of rows.
func (s Sparse) Rows() int { return means.Sparse(s).Rows() }
