// Package jl releases short private sketches of long vectors, from which anyone estimates ‖x −
// y‖₂², ‖x‖₂² and ⟨x, y⟩ with a known variance.
//
//	// all parties agree on these
//	b, err := jl.New(jl.Params{Dim: math.MaxUint64, Rows: 400, Epsilon: 2, Seed: seed})
//	for _, word := range text {
//		b.Add(hashing.Fingerprint(seed, word), 1) // or any index below Dim
//	}
//	s, err := b.Release()
//	squared, err := s.SquaredDistance(theirs)
//
// A sketch is Sx plus noise, where S is a random k × u matrix with E‖Sx‖² = ‖x‖². NaN adds nothing.
// Intervals hold over noise and Seed, for any x (moments_proof.md). For values of coordinates use
// package threshold or alp, for distinct counts kor, for means plan.
//
// # Guarantee
//
// Each party holds one vector x of u = Dim coordinates. [Change] says how neighbours differ. The
// default is L1(1): of word counts, one word. A vector as a whole is protected only if the change
// is the largest distance of any two: of texts, L1 of twice their words, by which no distance of
// two can be told. The Seed is public; privacy holds for every Seed. Accuracy is over the draw of
// the Seed, which must not depend on data. Two sketches of a vector are two releases.
//
// A release is ε-DP with Laplace noise of scale Δ₁(S)/ε; it is (ε, δ)-DP or ρ-zCDP with Gaussian
// noise for Δ₂(S). The guarantee holds for the floating-point implementation
// (sensitivity_proof.md).
//
//	transform   Δ₁, Δ₂ under L1  Δ₂ under L2           Var‖Sx‖², F=‖x‖₄⁴, Z=‖x‖₂²    Add
//	SJLT        √s, 1            √(max row load), s=1  2(Z²−F)/k for every s         O(s)
//	  s > 1                      ‖S‖₂ ≈ √(u/k) + 1
//	SRHT        √k, 1            √(u/k)                2(Z²−F)/k·(u−k)/(u−1)         O(1), holds x
//	Rademacher  √k, 1            ‖S‖₂, computed        2(Z²−F)/k                     O(k)
//	Normal      computed         ‖S‖₂, computed        2Z²/k                         O(1), holds x
//	FJLT        computed         ‖S‖₂, computed        [2Z²+(3/u)(1/q−1)(3Z²−2F)]/k  O(1), holds x
//
// # Accuracy
//
// With z = x − y and the cumulants κ₂, κ₄ of both parties' noise in a row, the variance is Var‖Sz‖²
// + 4κ₂Z + k(κ₄ + 2κ₂²): 2(Z²−F)/k + 16sZ/ε² + 56ks²/ε⁴ for SJLT and Laplace noise (Δ = 1).
// [Params.Plan] finds the best k. A distance with Zε² below 100 is lost in the noise. Where the
// scale of the noise is computed from the matrix (under L2, Normal, FJLT), scale and variances are
// conditional on the Seed, and intervals are approximate.
//
// # Choosing
//
// Under L1 the zero Transform, SJLT with s = 1 and Laplace noise, is the best for pure ε and for
// every δ in real use. Under L2 all transforms need noise of about √(u/k) per row: use a δ, and
// SRHT with as many rows as you can afford, or SJLT with s = 8 if the vector is too long to hold.
// Under L2 a sketch helps only if Z is far above u/√k. Relative standard deviations of a squared
// distance at ε = 1, δ = 1e-6:
//
//	                                              k = 16    64   256   512
//	L1, Z = 10⁴: Laplace, s = 1                      .36   .18  .098  .076
//	             Gaussian                            .37   .22   .17   .18
//	L2, Z = 10⁶, u = 1024: Laplace, s = 1            .38   .23   .20   .22
//	             Gaussian, s = 1 or 8                .37   .19  .097  .070
//	             Gaussian, SRHT                      .36   .18  .080  .047
//
// A Builder takes 32·k bytes, 16·k for Rademacher or if Dim·s > 2²², and 8·u to 24·u if it holds
// the vector. Not covered: timing, the memory of the process.
//
// Sources: Stausholm, Improved Differentially Private Euclidean Distance Approximation (PODS 2021,
// and her thesis, chapter 4; corrections in sensitivity_proof.md); Kenthapadi et al. (arXiv
// 1204.2606); Kane and Nelson (arXiv 1012.1577).
package jl
