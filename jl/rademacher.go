package jl

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
)

// rademacher is √k·S: independent signs. A polynomial, 4-wise independent or as much as
// Params.Independence says, gives the signs of 60 rows at once, the bits 0 to 59 of its value,
// which is uniform on [0, 2⁶¹−1) and so within 2⁻⁶⁰ of independent bits.
//
// Var‖Sx‖² = (2/k)(‖x‖₂⁴ − ‖x‖₄⁴): each row is that of an SJLT with one row, and the rows are
// independent.
type rademacher struct {
	rows   int
	dim    uint64
	hashes []hashing.Polynomial
}

const signsPerHash = 60

// outlineRademacher returns the matrix without its random parts: what gain, and under L1 norms,
// look at.
func outlineRademacher(p Params) *rademacher { return &rademacher{rows: p.Rows, dim: p.Dim} }

func newRademacher(p Params) *rademacher {
	m := outlineRademacher(p)
	m.hashes = make([]hashing.Polynomial, (m.rows+signsPerHash-1)/signsPerHash)
	for i := range m.hashes {
		m.hashes[i] = p.polynomial(labelSigns + uint64(i))
	}
	return m
}

func (m *rademacher) add(rows []fixed, j uint64, v fixed) {
	for i, h := range m.hashes {
		word := h.Hash(j)
		block := rows[i*signsPerHash : min((i+1)*signsPerHash, m.rows)]
		for n := range block {
			block[n] = block[n].subtractOrAdd(v, word&1)
			word >>= 1
		}
	}
}

func (m *rademacher) apply(x []int64) []int64 {
	y := make([]int64, m.rows)
	for j, v := range x {
		signed := [2]int64{v, -v}
		for i, h := range m.hashes {
			word := h.Hash(uint64(j))
			block := y[i*signsPerHash : min((i+1)*signsPerHash, m.rows)]
			for n := range block {
				block[n] += signed[word&1]
				word >>= 1
			}
		}
	}
	return y
}

// norms follows from the k entries ±1 of a column. For ‖d‖₂ ≤ 1 the operator norm is bounded by the
// Gram matrix of the rows, whose entries are counted by words of signs.
func (m *rademacher) norms(r Norm) norms {
	k := float64(m.rows)
	if r == L1 {
		return norms{k, up(math.Sqrt(k))}
	}
	words := int(m.dim+63) / 64
	signs := make([]uint64, m.rows*words) // by rows
	for j := range int(m.dim) {
		for i, h := range m.hashes {
			word := h.Hash(uint64(j))
			for n := i * signsPerHash; n < min((i+1)*signsPerHash, m.rows); n++ {
				signs[n*words+j/64] |= (word & 1) << (j % 64)
				word >>= 1
			}
		}
	}
	return gramNorms(m.rows, func(a, b int) float64 {
		differ := 0
		x, y := signs[a*words:(a+1)*words], signs[b*words:(b+1)*words]
		for i := range x {
			differ += bits.OnesCount64(x[i] ^ y[i])
		}
		return float64(int(m.dim) - 2*differ)
	})
}

func (m *rademacher) gain() float64 { return float64(m.dim) }
