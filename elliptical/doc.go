// Package elliptical releases sums of rows whose coordinates differ in range, with noise shaped to
// the ranges, under zCDP, (ε, δ)- or pure ε-differential privacy.
//
// It answers: how much noise each coordinate of a sum needs when row i's coordinates have known
// ranges Δ₁, …, Δ_d, such that the error one cares about, Σ E|ηᵢ|ᵖ, is least. For ranges that are
// known only after looking at the data use package plan, which finds them privately. One number
// takes noise from package noise; where most coordinates are 0 and a few matter, use threshold.
//
// # Model
//
// Each person is one row of d numbers. Coordinate i is clamped to a public interval [Min, Max] of
// width Δᵢ. Neighbours are, by Params.Relation, data with one row replaced (budget.Replace, n
// public) or with one row more (budget.AddRemove): the unit is [budget.Row]. Params are public.
// Rows go into a [Builder]; for a sum that is made elsewhere there is [Mechanism.Release], whose
// caller answers for its sensitivity.
//
// # Mechanisms
//
//	guarantee       noise, with ‖b‖₂ = 1 (Laplace ‖b‖₁ = 1)     optimal b (any p > 0)   E‖η‖ₚᵖ with it
//	ρ-zCDP          Gaussian, σᵢ = aᵢ/(bᵢ·√(2ρ))                ∝ aᵢ^{p/(p+2)}          Γ((p+1)/2)/(ρ^{p/2}·√π)·‖a‖ᵖ of index 2p/(p+2)
//	(ε, δ)-DP       Gaussian, σᵢ = aᵢ·σ(ε, δ)/bᵢ                the same                the same with 2σ² for 1/ρ
//	ε-DP            Laplace, sᵢ = aᵢ/(bᵢ·ε)                     ∝ aᵢ^{p/(p+1)}          Γ(p+1)/εᵖ·‖a‖ᵖ of index p/(p+1)
//
// These are Algorithms 15 and 16; σ(ε, δ) is that of the analytic Gaussian mechanism (Lemma 4.2).
// [Shape] selects other shapes: spherical (one σ for all, the usual mechanism), minimum-volume
// (σᵢ ∝ aᵢ) and any b. The sensitivity a depends on the relation:
//
//	Replace                      aᵢ = Δᵢ
//	AddRemove, around 0          aᵢ = Δᵢ/2, a quarter of the variance
//	AddRemove, other intervals   aᵢ = the largest absolute value in it; or, with Params.Count, Δᵢ/2 and a noisy count of the rows
//
// The thesis has Δ, for which all its theorems hold as they stand. Where two rows can differ by any
// point of a box around 0, no Gaussian noise, correlated or not, is better than the one here. Rows
// known to lie in an ellipsoid take Params.Ellipsoid. The proofs stand in shape.go and
// ellipsoid.go.
//
// # Guarantee
//
// As [Params.Guarantee] says, and on the machine as on paper: values are clamped and rounded within
// their interval to a grid, a power of two for each coordinate, before they are summed; sums are
// integers; noise is drawn exactly on the grid; scales are rounded up. The argument for sums that
// saturate, and for ready sums, stands in grid.go.
//
// # Accuracy
//
// Before any data is seen: [Params.Variance], [Params.ExpectedError], [Mechanism.HalfWidth].
// Afterwards: [Sum.Interval]. Against spherical noise the mean squared error falls by
// d·‖Δ‖₂²/‖Δ‖₁², from 1 for equal ranges to nearly d for very unequal ones: 1.36 for Δ = (4, 1),
// 9.4 for a thousand coordinates with Δᵢ = i^{−.8}.
//
// # Cost
//
// New takes about 0.3 µs a coordinate (with Count and a Power other than 2 up to a hundred times
// that), Add about 20 ns a coordinate (AddSparse: a non-zero one), Release 0.1 to 0.3 µs. A Builder
// takes 24 bytes a coordinate. With an Ellipsoid, of d ≤ 512, Add takes d² operations, New and
// decoding d³/3, about 20 ms at most.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine;
// Builder.Merge joins several. Divide a sum by n for a mean: n is public under Replace, and private
// under AddRemove (Params.Count, or a coordinate that is 1 in every row).
//
// Source: Lebeda, Differentially Private Release of Sparse and Skewed Data, PhD thesis, IT
// University of Copenhagen 2023, chapter 4 (with Pagh). The caption of its Figure 4.1 prints E‖η‖₁²
// for E‖η‖₁. Shapes with a count, add/remove and ellipsoids are this package's.
package elliptical
