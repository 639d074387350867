package jl

import (
	"github.com/dpsketch/dpsketch/hashing"
)

// normal is the dense matrix of independent normal entries (normaltable.go). It is not stored: its
// columns are drawn again, one after the other, whenever they are needed.
//
// Theorem. With κ = E X⁴/(E X²)² − 3, which is just below 0, Var⟨Sx,
// Sy⟩ = (‖x‖²‖y‖² + ⟨x,y⟩² + κΣx²y²)/k: the rows are independent, and one row a has
// E⟨a,x⟩²⟨a,y⟩² = ‖x‖²‖y‖² + 2⟨x,y⟩² + κΣx²y². ∎ (Theorem 4.2 of the thesis needs the entries
// divided by √k, else its estimator is k times too large.)
type normal struct {
	rows, dim int
	seed      hashing.Seed
	bound     norms
	greatest  float64 // the greatest sum of the sizes of a row
}

func newNormal(p Params) *normal {
	m := &normal{rows: p.Rows, dim: int(p.Dim), seed: p.Seed.Derive(labelEntries)}
	c, sums := newColumnNorms(m.dim), make([]int64, m.rows)
	var g *gramSum
	if p.Change.norm == l2 {
		g = newGramSum(m.rows)
	}
	m.each(func(j int, column []int64) {
		for i, v := range column {
			sums[i] += max(v, -v)
			c.add(j, v)
		}
		if g != nil {
			g.add(column)
		}
	})
	m.bound = c.norms()
	if g != nil {
		m.bound = gramNorms(m.rows, g.symmetric())
	}
	for _, sum := range sums {
		m.greatest = max(m.greatest, float64(sum))
	}
	return m
}

// each calls visit with every column in turn. The slice is used again.
func (m *normal) each(visit func(j int, column []int64)) {
	words, column := newStream(m.seed), make([]int64, m.rows)
	for j := range m.dim {
		for i := range column {
			column[i] = normalEntry(words.next())
		}
		visit(j, column)
	}
}

func (m *normal) apply(x []int64) []int64 {
	y := make([]int64, m.rows)
	m.each(func(j int, column []int64) {
		for i, v := range column {
			y[i] += v * x[j]
		}
	})
	return y
}

func (m *normal) norms(norm) norms { return m.bound }

// bytes is 0, as the columns are not kept.
func (m *normal) bytes() int { return 0 }

func (m *normal) gain() float64 { return max(m.greatest, 1) }
