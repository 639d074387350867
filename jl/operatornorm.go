package jl

import (
	"math"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
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

// up returns x rounded up by more than the error of the few operations that made it.
func up(x float64) float64 { return x * (1 + 0x1p-48) }
