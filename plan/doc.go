// Package plan releases private means of high-dimensional rows, with noise shaped to the data:
// centres, scales and the clipping norm are found privately.
//
// It answers: what is the mean of n rows of d numbers, dense or sparse, when columns differ in
// scale and nobody knows the scales before? [Quantiles] are private quantiles of the columns, and
// [Params.Plan] says before any data is touched what to expect. Where ranges are public and tight
// use package elliptical or elliptical/column; for counts of a huge key space, threshold.
//
// # Model
//
// n rows x ∈ [−M, M]ᵈ, or in public ranges of the columns ([Mechanism.WithRanges]). Neighbours
// differ in one row. Under [budget.AddRemove], the default, it is added or removed: n is private,
// or a public number of places. Under [budget.Replace] it is replaced, and n is public.
//
// # Mechanisms
//
//	Adaptive         medians, scales if they pay, C and γ by quantiles, clipped sum: Algorithm 17
//	TwoPass          sparse rows without negatives: sums twice, the second scaled by the first
//	Thesis           Algorithm 17 with 18 or 5.C.2, shares of 5.D, honest quantiles, no boosting
//	InstanceOptimal  a random rotation, no scaling: Huang, Liang, Yi 2021
//	Plain            the Gaussian mechanism at the public norm bound √d·M
//
// Auto is TwoPass for sparse non-negative rows, else Adaptive, or Plain where the public numbers
// say that it is better. Columns are scaled by σ̂^{−2/(p+2)}, the best for the ℓₚ error of the
// noise (Theorem 5.3). [Steps] selects the steps and [Shares] their parts of ρ; what is 0 is
// chosen. A large M costs little: candidates lie evenly in asinh or logarithm (axis.go), near those
// of 64 columns (window.go).
//
// # Guarantee
//
// ρ-zCDP for any rows: [Params.Guarantee], which also tells the (ε, δ). It holds on the machine as
// on paper. Quantiles and C are drawn exactly, from integer weights on public cells (weights.go,
// depth.go). Clipped rows are rounded towards 0 to integers, and their norm is checked exactly
// (clip.go). Sums are integers, Gaussian noise is exact, and shares never add up to more than ρ. A
// sum has sensitivity C under AddRemove, and 2C under Replace, or √2·C where no entry is negative
// (C in one column).
//
// # Accuracy
//
// For p = 2 the noise has a norm of about 2·‖σ‖₁/(n√(2ρ)) under Replace; without scaling it has
// √d·‖σ‖₂ for ‖σ‖₁. [Mean.StdDev] is √(σᵢ² + δ²·(mean − centre)²): σᵢ is the noise of the sum, and
// δ ≈ 16/(n√ρ) the relative noise of the divisor, γ or a private n, the same in all columns. δ
// matters for means far from the centre (divisor.go). Besides, rows beyond C are drawn towards the
// centre; γ makes up for the average of that. [Mean.Shrunk] has less error for no budget.
//
// n must be large against √(d/ρ). Else a quantile misses the data, and the release is private but
// useless: [Params.Plan] warns, and Auto is Plain. Sparse signed rows gain nothing by scaling, as
// the median of |x| is 0. The standard deviations of TwoPass take the scales of its first pass as
// independent of that pass. Give the size of rare events as Params.Unit: without it a column with
// fewer than 4 to 8 times k rows other than 0 has a mean of 0.
//
// # Skewed rows
//
// Clipping draws skewed means (incomes, latencies, counts) towards the centre. So only k ≈ 6·√(d/ρ)
// rows are clipped by default, 8/√ρ in one column: as many as weigh like the noise (depth.go). In
// few columns C is up to doubled where it lies far out (margin.go). Over 14 laws the error is 1.06
// times that of the best fixed choice for each, 0.98 times for the skewed ones; over eight laws
// that the rule was not made with, 1.10 and 1.02. [Params.Symmetric] clips an eighth: 15 % less
// error for symmetric rows, 6 % for a text, 2.4 times as much for skewed ones.
//
// [Mean.NoiseInterval] is of the noise alone, and no interval for the mean: at 95 % it held that in
// 87 % over ten skewed laws, 67 % for Pareto tails of index 1.5, and never where 20 of 30,000 rows
// were 1000 standard deviations away. For a single column see package elliptical/column.
// [Mean.IntervalBounded] holds for all rows in the public range, and is wide, as it must be: k rows
// at M would raise the mean by k(M−m)/n, and k ≈ 1/√(2ρ) rows cannot be told from none. So an
// honest interval is at least 0.4·(M−m)/(n·√(2ρ)) wide at 95 %, for ρ ≤ 0.4 (bounded.go).
//
// # Cost
//
// A dense release reads the rows four times, about 22 ns an entry; a two-pass release of sparse
// rows takes 6 ns a one, and 10 ns an entry of any value. Memory beside the rows: a few
// megabytes, and 16 bytes a row and 100 a coordinate. Params.Workers share the work.
//
// Not covered: timing, which may depend on the data, and who reads the memory of the process.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi, Instance-optimal Mean Estimation Under
// Differential Privacy, NeurIPS 2021; Smith, Privacy-preserving Statistical Estimation, STOC 2011.
package plan
