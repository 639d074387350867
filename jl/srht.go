package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/hadamard"
)

// srht is √k·S = RHD: D random signs, H the Walsh–Hadamard matrix of ±1 of the size u, the least
// power of two that is at least Dim, and R the choice of k different rows. The coordinates from Dim
// to u−1 are 0. The signs are 4-wise independent; the rows come from a stream of random words.
//
// Theorem. Var⟨Sx, Sy⟩ = (1/k)(‖x‖²‖y‖² + ⟨x,y⟩² − 2Σx²y²)(u−k)/(u−1); for y = x,
// (2/k)(‖x‖₂⁴ − ‖x‖₄⁴)(u−k)/(u−1). Proof. Let aᵢ = (HDx)ᵢ(HDy)ᵢ/u, so that ⟨Sx, Sy⟩ = (u/k)·Σ over
// the sampled i of aᵢ. E aᵢ = ⟨x,y⟩/u, and V = Var aᵢ = (‖x‖²‖y‖² + ⟨x,y⟩² − 2Σx²y²)/u² as for one
// row of signs, which is all that D and a row of H are. Σᵢ aᵢ = ⟨x,y⟩ is fixed, as H/√u is
// orthogonal: so the u(u−1) covariances of different i sum to −uV, and two different sampled rows,
// which are any two with the same probability, have the mean one, −V/(u−1). The variance is
// (u²/k²)(kV − k(k−1)V/(u−1)) = (u²/k)·V·(u−k)/(u−1). ∎
type srht struct {
	size, rows int
	sampled    []int
	negative   []uint64 // bit j: the sign of coordinate j is −1
}

// outlineSRHT returns the matrix without its random parts: what norms and gain look at.
func outlineSRHT(p Params) *srht { return &srht{size: int(hadamard.Size(p.Dim)), rows: p.Rows} }

func newSRHT(p Params) *srht {
	m := outlineSRHT(p)
	m.negative = randomSigns(p)
	m.sampled = exact.DrawIndices(m.size, m.rows, newStream(p.Seed.Derive(labelSample)).below)
	return m
}

// randomSigns returns the 4-wise independent signs of D as bits.
func randomSigns(p Params) []uint64 {
	h := p.polynomial(labelDiagonal)
	negative, words := make([]uint64, (p.Dim+63)/64), make([]uint64, min(columnsAtOnce, p.Dim))
	for from := uint64(0); from < p.Dim; from += columnsAtOnce {
		part := words[:min(columnsAtOnce, p.Dim-from)]
		h.Fill(part, from)
		for i, word := range part {
			negative[(from+uint64(i))/64] |= word & 1 << (i % 64)
		}
	}
	return negative
}

// sign multiplies x by the signs, in place.
func sign(x []int64, negative []uint64) {
	for _, word := range negative {
		part := x[:min(64, len(x))]
		x = x[len(part):]
		for ; len(part) >= 4; part = part[4:] {
			v, w := (*[4]int64)(part), int64(word)
			a, b, c, d := w<<63>>63, w<<62>>63, w<<61>>63, w<<60>>63
			v[0], v[1], v[2], v[3] = v[0]^a-a, v[1]^b-b, v[2]^c-c, v[3]^d-d
			word >>= 4
		}
		for i, v := range part {
			flip := -int64(word & 1)
			part[i] = v ^ flip - flip
			word >>= 1
		}
	}
}

// transformed returns HDx, padded, in the memory of x if it has room.
func transformed(x []int64, size int, negative []uint64) []int64 {
	sign(x, negative)
	x = append(x, make([]int64, size-len(x))...)
	hadamard.Int(x)
	return x
}

func (m *srht) apply(x []int64) []int64 {
	full := transformed(x, m.size, m.negative)
	y := make([]int64, m.rows)
	for i, row := range m.sampled {
		y[i] = full[row]
	}
	return y
}

// norms follows from the k entries ±1 of a column. The rows are orthogonal and of length √u, so
// ‖Ad‖₂ ≤ √u and ‖Ad‖₁ ≤ √k·√u for ‖d‖₂ ≤ 1; with Dim = u both are attained.
func (m *srht) norms(r norm) norms {
	k, u := float64(m.rows), float64(m.size)
	if r == l1 {
		return norms{k, up(math.Sqrt(k))}
	}
	return norms{up(math.Sqrt(k * u)), up(math.Sqrt(u))}
}

func (m *srht) bytes() int { return 8*len(m.sampled) + 8*len(m.negative) }

func (m *srht) gain() float64 { return float64(m.size) }
