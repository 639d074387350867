package jl

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// gramSum sums AAᵀ over the columns of A, some at a time. It is exact as long as all sums are
// integers below 2⁵³, in whatever order they are formed.
type gramSum struct {
	part blas64.General   // the last columns of A
	sum  blas64.Symmetric // the upper half
	used int
}

// The stride is no power of two, so that the entries of a column lie in different sets of the
// cache.
const (
	gramColumns = 128
	gramStride  = gramColumns + 8
)

func newGramSum(rows int) *gramSum {
	return &gramSum{
		part: blas64.General{Rows: rows, Stride: gramStride, Data: make([]float64, rows*gramStride)},
		sum:  blas64.Symmetric{N: rows, Stride: rows, Uplo: blas.Upper, Data: make([]float64, rows*rows)},
	}
}

// add adds a column.
func (g *gramSum) add(column []int64) {
	for i, v := range column {
		g.part.Data[i*gramStride+g.used] = float64(v)
	}
	if g.used++; g.used == gramColumns {
		g.flush()
	}
}

// flush adds the product of the columns at hand.
func (g *gramSum) flush() {
	g.part.Cols = g.used
	blas64.Syrk(blas.NoTrans, 1, g.part, 1, g.sum)
	g.used = 0
}

// symmetric returns the sum.
func (g *gramSum) symmetric() []float64 {
	g.flush()
	for a := range g.sum.N {
		for b := range a {
			g.sum.Data[a*g.sum.N+b] = g.sum.Data[b*g.sum.N+a]
		}
	}
	return g.sum.Data
}
