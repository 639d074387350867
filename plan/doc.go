// Package plan releases private means of high-dimensional rows, with noise shaped to the data:
// centres, scales and the clipping norm are found privately.
//
// It answers: what is the mean of n rows of d numbers, dense or sparse, when coordinates differ in
// scale and nobody knows the scales before. It also releases private quantiles ([Quantiles]), and
// says before any data is touched what to expect ([Params.Plan]).
//
// Where the range of every coordinate is public, package elliptical needs no budget to find it. For
// counts of a huge key space use package threshold; for one number, package noise.
//
// # Model
//
// The input is n rows x ∈ [−M, M]ᵈ. Neighbours differ in one row: replaced by another
// (budget.Replace, n public), or added or removed (budget.AddRemove, n private, or public places of
// which one is empty: zeroed out). Params are public. The trusted process holds the rows.
//
// # Mechanisms
//
//	Method           what it does                                                                      source
//	Adaptive         medians, scales if they pay, C and γ by private quantiles, clipped sum            Algorithm 17, improved
//	TwoPass          non-negative rows: sums twice, the second scaled by the first, combined           twopass.go
//	Thesis           Algorithm 17 with Algorithm 18 or 5.C.2 and the shares of 5.D, honest quantiles   Algorithm 17
//	InstanceOptimal  a random rotation, no scaling                                                     Huang, Liang, Yi 2021
//	Plain            the Gaussian mechanism at the public norm bound √d·M
//
// Coordinates are scaled by σ̂^{−2/(p+2)}, the best for the ℓₚ error of noise (Theorem 5.3).
// [Steps] selects each step and [Shares] its budget; both are chosen otherwise. A median that needs
// ρ = d·L²/(2n²·min(q,1−q)²), L = ln d + ln(A/a) + ln(1/β), gets that much (budget.go); base
// measures uniform in asinh or log, and learnt from 64 coordinates, keep ln(A/a) small, and make M
// nearly free (axis.go, window.go).
//
// # Guarantee
//
// ρ-zCDP for any rows, and the (ε, δ) that follow from it: [Params.Guarantee]. On the machine as on
// paper: quantiles are drawn exactly from integer weights on public cells (weights.go); clipped
// rows are rounded towards 0 to integers and their norm is checked exactly (clip.go); sums are
// integers; Gaussian noise is exact; shares never add up to more than ρ. Once rows are scaled and
// clipped they lie in a ball, not in the box of public ranges that package elliptical is for, and
// noise is spherical there; scaled back it has the shape of that package's, without importing it.
// Sums have sensitivity 2C under Replace, √2·C there if no entry is negative, and C under
// AddRemove.
//
// # Accuracy
//
// The noise of the mean has, for p = 2, a norm of about 2·‖σ‖₁/(n√(2ρ)) under Replace, where
// clipping by the norm alone has √d·‖σ‖₂ for ‖σ‖₁; [Mean.StdDev] and [Mean.Interval] tell the noise
// of each coordinate. It is √(σᵢ² + δ²·(mean − centre)²): σᵢ is that of the sum, and δ ≈ 16/(n√ρ),
// common to all coordinates, the relative noise of the divisor, γ or a private number of rows
// (divisor.go), which decides for large means around the origin. Besides, clipping errs: rows above
// C are drawn towards the centre, and γ makes up for the average of that. [Mean.Shrunk] estimates
// once more by empirical Bayes, for nothing.
//
// All this assumes that the distribution is well concentrated (Definition 5.6: few rows are much
// longer than most) and that n is large against √(d/ρ). Where n is too small a quantile misses its
// data, and the result is useless, though as private: [Outlook] warns before, with a bound on the
// probability. Sparse signed rows are clipped around the origin and not usefully scaled, as the
// median of |x| is 0 there; the standard deviations of a two-pass mean treat scales that the first
// pass chose as independent of it, and those of a private n count on 230/√ρ rows or more. No
// standard deviation or interval knows of the bias of clipping, which skewed data have, nor of the
// error of the sample. The bias falls as n grows, with the part of the rows that are clipped: an
// eighth, a quarter in two passes, or 17·√(max(d, 36)/ρ)/n where that is less, down to a
// thousandth.
//
// # Cost
//
// A dense release reads the rows four times, about 0.08 µs an entry; a two-pass release of sparse
// rows takes about 0.15 µs an entry. Memory beside the rows: a few megabytes, and 8 bytes a row and
// 50 a coordinate. Params.Workers share the work.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. How long a release takes may depend on the
// data.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi, Instance-optimal Mean Estimation Under
// Differential Privacy, NeurIPS 2021; Smith, Privacy-preserving Statistical Estimation, STOC 2011.
package plan
