package jl

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// operatorNorm returns an upper bound on ‖A‖₂, above it by a relative 10⁻⁸ at most, from the Gram
// matrix AAᵀ of its k rows, integers below 2⁵³.
//
// Certificate: if the Cholesky factorisation of M = λI − AAᵀ runs to its end in float64, M's least
// eigenvalue is at least −2(k+1)·2⁻⁵³·tr M (Rump, BIT 46, 2006, Lemma 2.4), and tr M ≤ kλ. For
// k ≤ 2¹⁰ that is −2⁻³¹·λ, so ‖A‖₂² ≤ (1 + 2⁻³¹)·λ, which the factor below covers together with the
// rounding of M's diagonal.
func operatorNorm(k int, gram func(a, b int) float64) float64 {
	g := mat.NewSymDense(k, nil)
	for a := range k {
		for b := a; b < k; b++ {
			g.SetSym(a, b, gram(a, b))
		}
	}
	var eigen mat.EigenSym
	lambda := 0.0
	if eigen.Factorize(g, false) {
		lambda = eigen.Values(nil)[k-1]
	}
	for a := range k { // a start for what did not converge, and for the zero matrix
		lambda = max(lambda, g.At(a, a), 1)
	}
	for margin := 0x1p-30; ; margin *= 4 {
		if certain(g, lambda*(1+margin)) {
			return up(math.Sqrt(lambda * (1 + margin) * (1 + 0x1p-30)))
		}
	}
}

// gramNorms returns the bounds for ‖d‖₂ ≤ 1 from the Gram matrix: k numbers of ℓ₂ norm x have an ℓ₁
// norm of at most √k·x.
func gramNorms(k int, gram func(a, b int) float64) norms {
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
	var c mat.Cholesky
	return c.Factorize(m)
}

// up returns x rounded up by more than the error of the few operations that made it.
func up(x float64) float64 { return x * (1 + 0x1p-48) }
