// Package elliptical releases sums of rows whose coordinates differ in range, with noise shaped to
// the ranges, under zCDP, (ε, δ)- or pure ε-differential privacy.
//
// It answers: how much noise each coordinate of a sum needs when row i's coordinates have known
// ranges Δ₁, …, Δ_d, such that the error one cares about, Σ E|ηᵢ|ᵖ, is least. For ranges that are
// known only after looking at the data use package plan, which finds them privately. One column of
// numbers takes elliptical/column; where most coordinates are 0 and a few matter, use threshold.
//
// # Model
//
// Each person is one row of d numbers. Coordinate i is clamped to a public interval [Min, Max] of
// width Δᵢ. Neighbours are, by Params.Relation, data with one row more ([budget.AddRemove], the
// default) or with one row replaced ([budget.Replace], n public): the unit is [budget.Row]. Params
// are public. Rows go into a [Builder]; for a sum that is made elsewhere there is
// [Mechanism.Release], whose caller answers for its sensitivity.
//
// # Mechanisms
//
//	guarantee  noise                               optimal b, ‖b‖₂ or for Laplace ‖b‖₁ = 1
//	ρ-zCDP     Gaussian, σᵢ = aᵢ/(bᵢ·√(2ρ))        ∝ aᵢ^{p/(p+2)}
//	(ε, δ)-DP  Gaussian, σᵢ = aᵢ·σ(ε, δ)/bᵢ        the same
//	ε-DP       Independent, Laplace, aᵢ/(bᵢ·ε)     ∝ aᵢ^{p/(p+1)}
//	ε-DP       Box, uniform on r times the box     groups of about equal aᵢ, see grouped.go
//
// The errors E‖η‖ₚᵖ are, in this order, Γ((p+1)/2)/(ρ^{p/2}·√π)·‖a‖ᵖ of index 2p/(p+2), the same
// with 2σ² for 1/ρ, Γ(p+1)/εᵖ·‖a‖ᵖ of index p/(p+1), and at most (ΣG^{1/(p+1)})^{p+1}/εᵖ.
//
// Gaussian and Laplace noise are Algorithms 15 and 16; σ(ε, δ) is that of the analytic Gaussian
// mechanism (Lemma 4.2). Under pure ε the default is Box, wherever its formula is better:
// coordinates of about the same range share one radius, and the mean squared error is ½ of Laplace
// noise's for 2 equal ranges, .22 for 10, ⅙ for many, .19 for a thousand with Δᵢ = i^{−.8}. [Shape]
// selects Independent, and Weights any b: aᵢ is the usual mechanism, one σ for all, and 1 the
// ellipsoid of minimum volume, σᵢ ∝ aᵢ. The sensitivity a depends on the relation:
//
//	Replace                      aᵢ = Δᵢ
//	AddRemove, around 0          aᵢ = Δᵢ/2, a quarter of the variance
//	AddRemove, other intervals   aᵢ = the largest absolute value in it
//	the same with Params.Count   aᵢ = Δᵢ/2, and a noisy count of the rows
//
// The thesis has Δ, for which all its theorems hold as they stand. Where two rows can differ by any
// point of a box around 0, no Gaussian noise, correlated or not, is better than the one here. Rows
// known to lie in an ellipsoid take Params.Ellipsoid, rows of bounded length, as embeddings are,
// NormBound. The proofs stand in shape.go, box.go, grouped.go, ellipsoid.go and ball.go.
//
// # Guarantee
//
// As [Params.Guarantee] says, and on the machine as on paper: values are clamped and rounded
// within their interval to a grid, a power of two for each coordinate, before they are summed;
// sums are integers of 128 bits, which no number of rows overflows; noise is drawn exactly on the
// grid; scales are rounded up. The argument, also for ready sums, stands in grid.go.
//
// # Accuracy
//
// Before any data is seen: [Plan.StdDev], [Plan.Error], [Plan.HalfWidth].
// Afterwards: [Sum.Interval], [Sum.SimultaneousInterval], and with a count [Sum.Mean]. Against
// spherical Gaussian noise the mean squared error falls by d·‖Δ‖₂²/‖Δ‖₁², from 1 for equal ranges
// to nearly d for very unequal ones: 1.36 for Δ = (4, 1), 9.4 for a thousand with Δᵢ = i^{−.8}.
//
// # Cost
//
// Measured on one core of 2.5 GHz. Add takes 1 ns a coordinate, 2 where it is clamped, which is 0.4
// of Google's BoundedSum; AddSparse 4 ns a non-zero one; a Builder 48 bytes a coordinate, 64 after
// four million rows. New takes 20 to 40 ms for 2²⁰ coordinates of a few different intervals (70 to
// 200 for all different ones, 500 with Count and Power 3), and for Box 0.2 to 1.3 ms for up to a
// thousand. A release takes 3 µs and 0.04 µs a coordinate, for Box and ε > 1 up to ε times that. An
// interval takes 0.3 µs, of Box 2 to 30 µs, with a count 10 to 150. With an Ellipsoid, of d ≤ 512,
// Add takes d² operations, New and decoding d³/3, about 20 ms at most.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine;
// Builder.Merge joins several. Divide a sum by n for a mean: n is public under Replace, and private
// under AddRemove (Params.Count, or a coordinate that is 1 in every row).
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, PhD thesis, IT
// University of Copenhagen 2023, chapter 4 (with Pagh); the caption of its Figure 4.1 prints
// E‖η‖₁² for E‖η‖₁. Hardt, Talwar (STOC 2010) for the K-norm mechanism of a box, of which Box is
// the staircase (Geng, Viswanath 2014, in one coordinate). Groups, counts, add/remove and
// ellipsoids are this package's.
package elliptical
