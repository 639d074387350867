// Package elliptical releases sums of rows whose coordinates have known, different ranges. The
// noise is shaped to the ranges so that the error Σ E|ηᵢ|ᵖ is least, under zCDP, (ε, δ)- or pure
// ε-differential privacy.
//
//	low, high := elliptical.VectorOf(0, 0), elliptical.VectorOf(120, 1e6)
//	b, err := elliptical.NewBuilder(elliptical.Params{Rho: 0.5, Min: low, Max: high})
//	…
//	b.Add([]float64{age, income}) // for each row
//	s, err := b.Release()
//	lo, hi := s.Interval(1, 0.95) // of the sum of incomes, s.Estimate(1)
//
// Use package plan where the ranges are unknown, elliptical/column for one column of numbers, and
// package threshold where most coordinates are 0.
//
// # Guarantee
//
// Each person is one row of d numbers. Coordinate i is clamped to a public interval [Min, Max] of
// width Δᵢ. By Params.Relation, neighbours differ in one row that is added or removed
// ([budget.AddRemove], the default) or replaced ([budget.Replace], where n is public): the unit is
// [budget.Row]. Rows go into a [Builder]. [Mechanism.Release] takes a sum
// made elsewhere; the caller is responsible for its sensitivity.
//
// [Params.Guarantee] holds for the floating-point implementation: values are clamped and rounded to
// a grid before they are summed, sums are integers of 128 bits, which no number of rows overflows,
// and noise is drawn exactly on the grid (grid.go).
//
// # Accuracy
//
// Before any data is seen use [Plan.StdDev] and [Plan.Error]. Compared with spherical
// Gaussian noise the mean squared error falls by d·‖Δ‖₂²/‖Δ‖₁², from 1 for equal ranges to nearly d
// for very unequal ones: 1.36 for Δ = (4, 1), 9.4 for a thousand with Δᵢ = i^{−.8}.
//
// # Choosing a mechanism
//
//	guarantee  noise                               optimal b, ‖b‖₂ or for Laplace ‖b‖₁ = 1
//	ρ-zCDP     Gaussian, σᵢ = aᵢ/(bᵢ·√(2ρ))        ∝ aᵢ^{p/(p+2)}
//	(ε, δ)-DP  Gaussian, σᵢ = aᵢ·σ(ε, δ)/bᵢ        the same
//	ε-DP       Independent, Laplace, aᵢ/(bᵢ·ε)     ∝ aᵢ^{p/(p+1)}
//	ε-DP       Box, uniform on r times the box     groups of about equal aᵢ, see grouped.go
//
// p is 2, or any other by Weights, which set b: bᵢ = aᵢ is the usual mechanism, with the same σ for
// all coordinates, and bᵢ = 1 is the ellipsoid of minimum volume, σᵢ ∝ aᵢ. Gaussian and Laplace
// noise are Algorithms 15 and 16; σ(ε, δ) is that of the analytic Gaussian mechanism (Lemma 4.2).
// Under pure ε the default is Box if its error is smaller: ½ of Laplace noise's mean squared error
// for 2 equal ranges, .22 for 10, ⅙ for many, .19 for a thousand with Δᵢ = i^{−.8}. The sensitivity
// a depends on the relation:
//
//	Replace                      aᵢ = Δᵢ
//	AddRemove, around 0          aᵢ = Δᵢ/2, a quarter of the variance
//	AddRemove, other intervals   aᵢ = the largest absolute value in it
//	the same with Params.Count   aᵢ = Δᵢ/2, and a noisy count of the rows
//
// The thesis uses Δ, for which all its theorems hold unchanged. If two rows can differ by any point
// of a box around 0, no other Gaussian noise, correlated or not, is better. For rows in a known
// ellipsoid use Params.Ellipsoid; for rows of bounded length, such as embeddings, use NormBound.
// The proofs are in shape.go, box.go, grouped.go, ellipsoid.go and ball.go.
//
// # Cost
//
// On one core of 2.5 GHz, Add takes 1 to 2 ns per coordinate, AddSparse 4 ns per non-zero one, and
// a Builder 48 to 64 bytes per coordinate. New takes 20 to 500 ms for 2²⁰ coordinates. A release
// takes 3 µs plus 0.04 µs per coordinate, for Box and ε > 1 up to ε times that; an interval takes
// up to 150 µs. With an Ellipsoid, of d ≤ 512, Add takes d² operations, New and decoding d³/3.
//
// # Not covered
//
// Timing, and anyone who reads the memory of the process. Divide a sum by n for a mean: n is public
// under Replace; under AddRemove use Params.Count, or a coordinate that is 1 in every row.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, PhD thesis, IT
// University of Copenhagen 2023, chapter 4 (with Pagh); the caption of its Figure 4.1 prints
// E‖η‖₁² for E‖η‖₁. Hardt, Talwar (2010) for the K-norm mechanism of a box, of which Box is
// the staircase (Geng, Viswanath 2014, in one coordinate). Groups, counts, add/remove and
// ellipsoids are this package's.
package elliptical
