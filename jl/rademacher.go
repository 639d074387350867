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
	rows      int
	dim       uint64
	hashes    []hashing.Polynomial
	functions int // the hashes, in bytes
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
	m.functions = len(m.hashes) * p.polynomialBytes()
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
func (m *rademacher) norms(r norm) norms {
	k := float64(m.rows)
	if r == l1 {
		return norms{k, up(math.Sqrt(k))}
	}
	return gramNorms(m.rows, m.gram())
}

const (
	blockWords   = 32 // how many words of signs of a row the Gram matrix takes at a time
	blockColumns = 64 * blockWords
)

// gram returns AAᵀ: the product of two rows is the number of columns less twice the number of
// columns where their signs differ, which is counted by words of signs. Blocks of columns at a
// time, the signs of all rows stay in the cache.
func (m *rademacher) gram() []float64 {
	differ := make([]int64, m.rows*m.rows)
	signs := make([][blockWords]uint64, m.rows)
	words := make([]uint64, min(blockColumns, m.dim))
	for from := uint64(0); from < m.dim; from += blockColumns {
		n := min(blockColumns, m.dim-from)
		clear(signs) // the last block may be shorter
		for i, h := range m.hashes {
			h.Fill(words[:n], from)
			for at := 0; at < int(n); at += 64 {
				var square [64]uint64
				copy(square[:], words[at:n])
				transpose(&square)
				for row := i * signsPerHash; row < min((i+1)*signsPerHash, m.rows); row++ {
					signs[row][at/64] = square[row-i*signsPerHash]
				}
			}
		}
		for a := range signs {
			counts := differ[a*m.rows:][:m.rows]
			for b := a + 1; b < m.rows; b++ {
				counts[b] += differences(&signs[a], &signs[b])
			}
		}
	}
	sums := make([]float64, m.rows*m.rows)
	for a := range m.rows {
		sums[a*(m.rows+1)] = float64(m.dim)
		for b := a + 1; b < m.rows; b++ {
			v := float64(int64(m.dim) - 2*differ[a*m.rows+b])
			sums[a*m.rows+b], sums[b*m.rows+a] = v, v
		}
	}
	return sums
}

// differences returns the number of bits in which two blocks of words differ.
func differences(a, b *[blockWords]uint64) int64 {
	s0, s1, s2, s3 := 0, 0, 0, 0
	for i := 0; i < blockWords; i += 4 {
		s0 += bits.OnesCount64(a[i] ^ b[i])
		s1 += bits.OnesCount64(a[i+1] ^ b[i+1])
		s2 += bits.OnesCount64(a[i+2] ^ b[i+2])
		s3 += bits.OnesCount64(a[i+3] ^ b[i+3])
	}
	return int64(s0 + s1 + s2 + s3)
}

// transpose turns 64 words of 64 bits: bit j of word i becomes bit i of word j (Warren, Hacker's
// Delight, 7-3).
func transpose(x *[64]uint64) {
	mask := uint64(1<<32 - 1)
	for width := 32; width > 0; width /= 2 {
		for i := 0; i < 64; i = (i + width + 1) &^ width {
			swap := (x[i]>>width ^ x[i+width]) & mask
			x[i] ^= swap << width
			x[i+width] ^= swap
		}
		mask ^= mask << (width / 2)
	}
}

func (m *rademacher) bytes() int { return m.functions }

func (m *rademacher) gain() float64 { return float64(m.dim) }
