package plan

import "github.com/dpsketch/dpsketch/plan/internal/means"

// Sparse is a matrix in compressed form whose entries are mostly 0. Row j has the values
// Values[Offsets[j]:Offsets[j+1]] in the columns Indices[Offsets[j]:Offsets[j+1]]. It is private
// data of the caller: printing it prints the data.
//
// Offsets ascend from 0 to len(Indices). A matrix of n rows has n+1 of them; one without rows may
// have none. Values is as long as Indices, or nil if every stored value is 1. Indices should ascend
// within a row; otherwise a release sorts them. Values of one index in a row are added, in any
// order with the same result, before anything is clamped, also where each is 1. Indices of Dim or
// more are ignored. An entry that is NaN is none.
type Sparse struct {
	Offsets []int
	Indices []uint32
	Values  []float64
}

// Rows returns the number of rows.
func (s Sparse) Rows() int { return means.Sparse(s).Rows() }
