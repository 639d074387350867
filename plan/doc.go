// Package plan releases private means of high-dimensional rows, with noise shaped to the data:
// centres, scales and the clipping norm are found privately.
//
// It answers: what is the mean of n rows of d numbers, dense or sparse, when coordinates differ in
// scale and nobody knows the scales before. It also releases private quantiles ([Quantiles]), and
// says before any data is touched what to expect ([Params.Plan]). Where ranges are public and
// tight use package elliptical or elliptical/column; for counts of a huge key space, threshold.
//
// # Model
//
// n rows x ∈ [−M, M]ᵈ, or within public ranges of the coordinates ([Mechanism.WithRanges]).
// Neighbours differ in one row: replaced by another ([budget.Replace], n public), or added or
// removed ([budget.AddRemove], n private, or public places of which one is empty).
//
// # Mechanisms
//
//	Adaptive         medians, scales if they pay, C and γ by quantiles, clipped sum: Algorithm 17
//	TwoPass          non-negative rows: sums twice, the second scaled by the first, combined
//	Thesis           Algorithm 17 with 18 or 5.C.2, shares of 5.D, honest quantiles, no boosting
//	InstanceOptimal  a random rotation, no scaling: Huang, Liang, Yi 2021
//	Plain            the Gaussian mechanism at the public norm bound √d·M
//
// Auto is TwoPass or Adaptive, or Plain where that is better by the public numbers. Coordinates are
// scaled by σ̂^{−2/(p+2)}, the best for the ℓₚ error of noise (Theorem 5.3). [Steps] selects each
// step and [Shares] its budget; both are chosen otherwise. A median gets the ρ that it needs
// (budget.go), and base measures uniform in asinh or log, and learnt from 64 coordinates, make M
// nearly free (axis.go, window.go).
//
// # Guarantee
//
// ρ-zCDP for any rows, and the (ε, δ) that follow from it: [Params.Guarantee]. On the machine as on
// paper: quantiles and C are drawn exactly from integer weights on public cells (weights.go,
// depth.go); clipped rows are rounded towards 0 to integers and their norm is checked exactly
// (clip.go); sums are integers; Gaussian noise is exact; shares never add up to more than ρ. Sums
// have sensitivity 2C under Replace, √2·C there if no entry is negative (C in one column), and C
// under AddRemove.
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
// All this assumes that n is large against √(d/ρ): else a quantile misses its data, and the result
// is useless, though as private. [Params.Plan] warns before, and Auto is Plain there. Sparse signed
// rows are clipped around the origin and not usefully scaled, as the median of |x| is 0 there; the
// standard deviations of a two-pass mean treat scales that the first pass chose as independent of
// it. Where hardly more rows than are clipped are not 0, the mean is 0.
//
// # Skewed rows
//
// Clipping draws skewed means (incomes, latencies, counts) towards the centre. So by default only
// about 6·√(d/ρ) rows are clipped, 8/√ρ in one column, as many as weigh like the noise (depth.go),
// and in few columns C is up to doubled where it lies far out (margin.go). Over 14 laws the error
// is 1.07 times that of the best fixed choice for each, 1.00 times for the skewed ones, where an
// eighth clipped has 2.4 times; over eight laws that the rule was not made with, 1.08 and 1.00.
// [Params.Symmetric] asks for the eighth: 18 % less error for symmetric rows, 6 % for a text.
//
// [Mean.Interval] is of the noise alone. Of 95 % it holds 94 % of the time for an exponential and a
// lognormal column (n = 20,000, ρ = ½), 87 % over all skewed laws, 67 % for Pareto tails of index
// 1.5. [Mean.IntervalBounded] holds for all rows in the public range, and is wide, as must be: if k
// rows were at M, the mean would be k(M−m)/n higher, and k ≈ 1/√(2ρ) rows cannot be told from none.
// So an honest interval is at least 0.4·(M−m)/(n·√(2ρ)) wide at 95 %, for ρ ≤ 0.4.
//
// # Cost
//
// A dense release reads the rows four times, about 0.03 µs an entry; a two-pass release of sparse
// rows takes about 0.01 µs a one, and 0.02 µs an entry of any value. Memory beside the rows: a few
// megabytes, and 16 bytes a row and 100 a coordinate. Params.Workers share the work.
//
// Not covered: timing, which may depend on the data, and who reads the memory of the process.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi, Instance-optimal Mean Estimation Under
// Differential Privacy, NeurIPS 2021; Smith, Privacy-preserving Statistical Estimation, STOC 2011.
package plan
