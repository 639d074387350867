package jl

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// operatorNorm returns an upper bound on ‖A‖₂, above it by a relative 10⁻⁸ at most, from the Gram
// matrix AAᵀ of its k rows, integers below 2⁵³.
//
// Certificate: if the Cholesky factorisation of M = λI − AAᵀ runs to its end in float64, M's least
// eigenvalue is at least −2(k+1)·2⁻⁵³·tr M (Rump, BIT 46, 2006, Lemma 2.4), and tr M ≤ kλ. For k ≤
// 2¹⁰ that is −2⁻³¹·λ at least, for k ≤ 2¹¹ it is −2⁻²⁹·λ, so ‖A‖₂² ≤ (1 + 2⁻³¹)·λ or (1 + 2⁻²⁹)·λ.
// The factor below has twice these slacks and covers the rounding of M's diagonal, too. So it does
// not matter where λ comes from: a few rounds of Lanczos' method, or all eigenvalues if the
// certificate refuses what these have found.
func operatorNorm(k int, gram []float64) float64 {
	return certified(mat.NewSymDense(k, gram), lanczos(k, gram))
}

// certified returns the bound, given an estimate of the greatest eigenvalue of the Gram matrix.
func certified(g *mat.SymDense, lambda float64) float64 {
	const first = 0x1p-30
	least := 1.0 // for the zero matrix
	for a := range g.SymmetricDim() {
		least = max(least, g.At(a, a))
	}
	lambda = max(lambda, least)
	if !certain(g, lambda*(1+first)) {
		lambda = max(greatest(g), least)
	}
	for margin := first; ; margin *= 4 {
		if bound := lambda * (1 + margin); certain(g, bound) {
			slack := 0x1p-30
			if g.SymmetricDim() > 1<<10 {
				slack = 0x1p-28
			}
			return up(math.Sqrt(bound * (1 + slack)))
		}
	}
}

// gramNorms returns the bounds for ‖d‖₂ ≤ 1 from the Gram matrix: k numbers of ℓ₂ norm x have an ℓ₁
// norm of at most √k·x.
func gramNorms(k int, gram []float64) norms {
	two := operatorNorm(k, gram)
	return norms{up(two * math.Sqrt(float64(k))), two}
}

// certain reports whether λI − g has a Cholesky factorisation.
func certain(g *mat.SymDense, lambda float64) bool {
	k := g.SymmetricDim()
	m := mat.NewSymDense(k, nil)
	m.ScaleSym(-1, g)
	for a := range k {
		m.SetSym(a, a, lambda-g.At(a, a))
	}
	_, ok := lapack64.Potrf(m.RawSymmetric())
	return ok
}

// greatest returns the greatest eigenvalue, about; 0 if it is not found.
func greatest(g *mat.SymDense) float64 {
	var eigen mat.EigenSym
	if !eigen.Factorize(g, false) {
		return 0
	}
	return eigen.Values(nil)[g.SymmetricDim()-1]
}

// lanczosRounds is more than are needed where eigenvalues lie as close as those of random matrices
// do: some 60 for 512 rows.
const lanczosRounds = 200

// lanczos returns the greatest eigenvalue of a symmetric positive semidefinite k × k matrix, or
// less, by Lanczos' method: the greatest eigenvalue of the tridiagonal matrix T that it is on the
// vectors v, Gv, G²v, …, until some more of them change little. Rounding errors make the vectors
// less orthogonal, which makes T find this eigenvalue again.
func lanczos(k int, g []float64) float64 {
	last, v, next := make([]float64, k), make([]float64, k), make([]float64, k)
	for i := range v {
		v[i] = math.Sin(float64(i*i + 1)) // any vector that no eigenvector is orthogonal to
	}
	floats.Scale(1/floats.Norm(v, 2), v)
	var diagonal, beside []float64 // of T
	theta, norm := 0.0, 0.0
	for round := 1; round <= lanczosRounds; round++ {
		for i := range next {
			next[i] = floats.Dot(g[i*k:(i+1)*k], v) - norm*last[i]
		}
		alpha := floats.Dot(next, v)
		floats.AddScaled(next, -alpha, v)
		norm = floats.Norm(next, 2)
		diagonal, beside = append(diagonal, alpha), append(beside, norm)
		ended := norm <= 0x1p-40*math.Abs(alpha)
		if round%8 == 0 || ended {
			before := theta
			theta = topOfTridiagonal(diagonal, beside)
			if ended || theta-before <= 0x1p-36*theta {
				break
			}
		}
		floats.Scale(1/norm, next)
		last, v, next = v, next, last
	}
	return theta
}

// topOfTridiagonal returns the greatest eigenvalue of T, to the last digits, by bisection: x is
// above it if all pivots of T − xI are negative. The last number of beside is not part of T.
func topOfTridiagonal(diagonal, beside []float64) float64 {
	low, high := math.Inf(-1), 0.0
	for i, a := range diagonal {
		low, high = max(low, a), max(high, a+beside[i]+beside[max(i, 1)-1])
	}
	above := func(x float64) bool {
		pivot := diagonal[0] - x
		for i, a := range diagonal[1:] {
			if pivot >= 0 {
				return false
			}
			pivot = a - x - beside[i]*beside[i]/pivot
		}
		return pivot < 0
	}
	return exact.LeastFloat(low, high, above)
}
