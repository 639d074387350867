package jl

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/memo"
)

// Transform is a random k × u matrix S with E‖Sx‖² = ‖x‖². Each is c·A for an integer matrix A and
// a number c.
type Transform uint8

const (
	// SJLT is the sparser Johnson–Lindenstrauss transform of Kane and Nelson, block construction: s
	// entries ±1/√s per column, one in each of s blocks of k/s rows. An update takes O(s), for any
	// Dim.
	SJLT Transform = iota
	// SRHT is √(u/k) times k of the u rows, drawn without repetition, of the Walsh–Hadamard matrix
	// after random signs. It holds the vector until Release, and has the least variance: none at
	// k = u.
	SRHT
	// FJLT is the fast Johnson–Lindenstrauss transform of Ailon and Chazelle, PHD: P is sparse with
	// normal entries, with the density for which the variance is at most 3‖x‖₂⁴/k. It holds the
	// vector. SRHT has less variance and less Gaussian noise, and needs no pass over the matrix for
	// its sensitivity. But with Laplace noise under L1, FJLT has less noise from about 256 rows on:
	// its Δ₁ tends to √(2k/π), while that of SRHT is √k.
	FJLT
	// Rademacher is dense and has independent entries ±1/√k. An update takes O(k), for any Dim.
	Rademacher
	// Normal is dense and has independent normal entries, to a multiple of 1/16 before the
	// normalisation: the baseline of the thesis. It holds the vector, and its sensitivity has to be
	// computed: u·k steps in New and again in Release.
	Normal

	lastTransform = Normal
)

var transformNames = []string{"SJLT", "SRHT", "FJLT", "Rademacher", "Normal"}

// String returns the name of the constant.
func (t Transform) String() string { return check.EnumName(t, transformNames, "Transform") }

// holds reports whether a Builder holds the vector and transforms it on release, instead of
// updating the sketch: where the transform does not work by columns, where the noise goes to the
// input, and where the sum over entries of both signs has to stay exact (sensitivity_proof.md).
func (p Params) holds() bool {
	return p.Input || p.Transform != SJLT && p.Transform != Rademacher || p.Transform == Rademacher && p.Change.norm == l2
}

// wraps reports whether the rows of the sketch wrap around instead of saturating: then they are
// linear in the values, and neighbours differ by Ad itself, not by |A|d. Under L1, and with one
// entry a column, the norms of both are the same.
func (p Params) wraps() bool {
	return p.Transform == SJLT && p.Change.norm == l2 && p.sparsity() > 1 && p.Rows <= maxGram
}

// matrix is the integer matrix A of a transform. It is immutable.
type matrix interface {
	bounded
	// apply returns A·x for a vector of all coordinates, which it may overwrite.
	apply(x []int64) []int64
	// bytes returns how much memory the matrix keeps, about.
	bytes() int
}

// bounded is what the calibration of the noise needs from a matrix.
type bounded interface {
	// norms returns bounds on the norms of A·d: over ‖d‖₁ ≤ 1, or over ‖d‖₂ ≤ 1.
	norms(n norm) norms
	// gain returns a bound on |(A·x)ᵢ| and all that apply computes on the way, for |xⱼ| ≤ 1.
	gain() float64
}

// columns is a matrix that can work by columns.
type columns interface {
	matrix
	// add adds v times column j to the rows, which saturate at ±2⁶¹ or wrap around.
	add(rows []fixed, j uint64, v fixed)
}

// norms are upper bounds on ‖A·d‖₁ and ‖A·d‖₂.
type norms struct{ one, two float64 }

// matrices are those that were drawn last. They are public.
var matrices = memo.Store[Params, matrix]{Most: mostMatrices, Size: matrix.bytes}

// mostMatrices is how many bytes of matrices are kept: two of the largest tables of an SJLT.
const mostMatrices = 2*4*maxTable + 1<<20

// drawn returns the matrix that the Seed selects, drawn now or before.
func (p Params) drawn() matrix {
	m, _ := matrices.Get(p.selecting(), func() (matrix, error) { return p.newMatrix(), nil })
	return m
}

// selecting returns the fields that select the matrix. The norm of Change decides whether rows wrap
// around.
func (p Params) selecting() Params {
	return Params{Transform: p.Transform, Dim: p.Dim, Rows: p.Rows, Sparsity: p.Sparsity,
		Independence: p.Independence, Seed: p.Seed, Change: Change{norm: p.Change.norm}}
}

// newMatrix draws the matrix that the Seed selects. The Params are valid.
func (p Params) newMatrix() matrix {
	switch p.Transform {
	case SRHT:
		return newSRHT(p)
	case FJLT:
		return newFJLT(p)
	case Rademacher:
		return newRademacher(p)
	case Normal:
		return newNormal(p)
	}
	return newSJLT(p)
}
