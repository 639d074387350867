// Package plan releases private means of high-dimensional rows, dense or sparse, when columns
// differ in scale and the scales are not known in advance: it finds centres, scales and the
// clipping norm privately.
//
//	m, err := plan.New(plan.Params{Rho: 0.5, Dim: 100, Max: 1e6})
//	if err != nil {
//		log.Fatal(err)
//	}
//	mean, err := m.Release(ctx, rows) // [][]float64, one row per user
//	if err != nil {
//		log.Fatal(err)
//	}
//	for i := range mean.Dim() {
//		lo, hi := mean.NoiseInterval(i, 0.95)
//		fmt.Println(mean.Estimate(i), lo, hi)
//	}
//
// # Guarantee
//
// A release is ρ-zCDP for one row, for a given ρ or the one of Epsilon and Delta. Under
// [budget.AddRemove], the default, a row is added or removed. The number of rows is then private,
// or a public number of places. Under [budget.Replace] a row is replaced, and the number of rows is
// public. Entries are clamped to [−Max, Max], or to public ranges ([Mechanism.WithRanges]).
//
// The guarantee holds for the floating-point implementation. Quantiles and the clipping norm C are
// drawn exactly, from integer weights on public cells. Clipped rows are rounded towards 0 to
// integers, and their norm is checked exactly. Sums are integers, Gaussian noise is exact, and
// shares of the budget never add up to more than ρ.
//
// # Accuracy
//
// For p = 2 the noise has a norm of about 2·‖σ‖₁/(n√(2ρ)) under Replace, half of it under
// AddRemove. Without scaling, √d·‖σ‖₂ replaces ‖σ‖₁. [Params.Plan] computes it before any data is
// touched. [Mean.StdDev] is √(σᵢ² + δ²·(mean − centre)²): σᵢ is the noise of the sum, and δ ≈
// 16/(n√ρ) the relative noise of the divisor, the same in all columns. [Mean.Shrunk] has less error
// and costs no budget.
//
// Rows longer than C are pulled towards the centre, and a released γ corrects this on average. So
// skewed means (incomes, latencies, counts) have a bias. By default only about 3s·√(d/ρ) rows are
// clipped, with s the sensitivity of the sum: these weigh as much as the noise. Over eight
// distributions not used to make the rule the error is 1.11 times that of the best fixed choice.
//
// [Mean.NoiseInterval] covers the noise alone. At 95 % it contained the mean in 86 % of cases over
// ten skewed laws. [Mean.IntervalBounded] holds for all rows in the public range, and is wide, as
// it must be: no honest interval is shorter than 0.4·(M−m)/(n·√(2ρ)) at 95 %.
//
// n must be large compared with √(d/ρ). Otherwise a quantile misses the data, and the release is
// private but useless: the Plan warns, and Auto is Plain. From 8·LeastRows rows on, at most one
// release in 5000 has a gross error, with more than ten times the noise ([Plan.Failure]; in 2500
// from 512 columns on): with fewer rows, add rows or Rho.
//
// # Choosing
//
// Set Relative if columns have different units, as a rating and an income: errors count in each
// column's own standard deviations, and are √(d/(2ρ))/n or a little more of them. Else columns of
// small numbers are lost: with columns of 10⁻⁶ to 10¹⁰, ρ = ½ and n = 10³, 10⁴, 10⁵, errors were
// .022, .004, .0007 sd in 5 columns, .21, .005, .0004 in 50; without it, more than 10⁴.
//
// Leave Method at 0. Auto is [TwoPass] for sparse non-negative rows, else [Adaptive], or [Plain]
// where the public numbers say that it is better. A large Max costs little. If the number of rows
// is public and fixed, give Rows, and budget.Replace as Relation. Give the size of rare events as
// Params.Resolution: without it a column in which few rows are not 0 has a mean of 0. Set Symmetric
// for rows like Gaussian ones: they have 15 % less error, and skewed rows 2.4 times as much.
// Missing values are NaN in dense rows and count as the centre c of their column. With a column of
// 1 where a value is there and else 0, of mean s, those there have the mean c + (Estimate − c)/s.
//
// Where ranges are public and tight, use package elliptical; for one column elliptical/column; for
// counts of a huge key space threshold; for the published mechanisms, to compare, plan/thesis.
//
// # Cost
//
// A dense release reads the rows four times, about 22 ns per entry. A two-pass release of sparse
// rows takes 6 ns per entry that is 1, and 10 ns per entry of any value. Memory apart from the
// rows: a few megabytes, 16 bytes per row and 100 per coordinate. Params.Workers share the work.
// Not covered: timing, and an adversary who reads the memory of the process.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi (NeurIPS 2021); Smith (STOC 2011). The theory
// is in internal/means: scale.go, limit.go, clip.go, bounded.go.
package plan
