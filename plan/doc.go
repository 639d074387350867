// Package plan releases private means of high-dimensional rows, dense or sparse, when columns
// differ in scale and nobody knows the scales before: centres, scales and the clipping norm are
// found privately.
//
//	m, err := plan.New(plan.Params{Rho: 0.5, Dim: 100, Max: 1e6})
//	if err != nil {
//		log.Fatal(err)
//	}
//	mean, err := m.Release(ctx, rows) // [][]float64, a row a user
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
// ρ-zCDP for one row: [Params.Guarantee], which also tells the (ε, δ). Under [budget.AddRemove],
// the default, a row is added or removed, and the number of rows is private or a public number of
// places. Under [budget.Replace] a row is replaced, and the number of rows is public. Rows are any
// numbers: entries are clamped to [−Max, Max], or to public ranges ([Mechanism.WithRanges]).
//
// The guarantee holds for the floating-point implementation. Quantiles and the clipping norm C are
// drawn exactly, from integer weights on public cells. Clipped rows are rounded towards 0 to
// integers, and their norm is checked exactly. Sums are integers, Gaussian noise is exact, and
// shares of the budget never add up to more than ρ.
//
// # Accuracy
//
// For p = 2 the noise has a norm of about 2·‖σ‖₁/(n√(2ρ)) under Replace, half of it under
// AddRemove; without scaling it has √d·‖σ‖₂ for ‖σ‖₁. [Params.Plan] computes it before any data is
// touched. [Mean.StdDev] is √(σᵢ² + δ²·(mean − centre)²): σᵢ is the noise of the sum, and δ ≈
// 16/(n√ρ) the relative noise of the divisor, the same in all columns. [Mean.Shrunk] has less error
// for no budget.
//
// Rows longer than C are drawn towards the centre, and a released γ makes up for the average of
// that. So skewed means (incomes, latencies, counts) have a bias. By default only about 3s·√(d/ρ)
// rows are clipped, with s the sensitivity of the sum: as many as weigh like the noise. Over 14
// laws the error is 1.06 times that of the best fixed choice for each, 0.98 times for the skewed
// ones; over eight laws that the rule was not made with, 1.10 and 1.02.
//
// [Mean.NoiseInterval] is of the noise alone. At 95 % it held the mean in 87 % over ten skewed
// laws, in 67 % for Pareto tails of index 1.5, and never where 20 of 30,000 rows were 1000 standard
// deviations away. [Mean.IntervalBounded] holds for all rows in the public range, and is wide, as
// it must be: no honest interval is shorter than 0.4·(M−m)/(n·√(2ρ)) at 95 %.
//
// n must be large against √(d/ρ). Else a quantile misses the data, and the release is private but
// useless: the Plan warns, and Auto is Plain.
//
// # Choosing
//
// Leave Method at 0. Auto is [TwoPass] for sparse non-negative rows, else [Adaptive], or [Plain]
// where the public numbers say that it is better. A large Max costs little. Give Rows and Relation
// budget.Replace where the number of rows is public and fixed. Give the size of rare events as
// Params.Resolution: without it a column in which few rows are not 0 has a mean of 0. Set Symmetric
// for rows like Gaussian ones: 15 % less error, and 2.4 times as much for skewed rows.
//
// Where ranges are public and tight use package elliptical or elliptical/column; for quantiles of a
// column elliptical/column; for counts of a huge key space, threshold. Package plan/thesis has the
// published mechanisms, to compare with.
//
// # Cost
//
// A dense release reads the rows four times, about 22 ns an entry; a two-pass release of sparse
// rows takes 6 ns a one, and 10 ns an entry of any value. Memory apart from the rows: a few
// megabytes, 16 bytes a row and 100 a coordinate. Params.Workers share the work.
//
// Not covered: timing, which may depend on the data, and who reads the memory of the process.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi, Instance-optimal Mean Estimation Under
// Differential Privacy, NeurIPS 2021; Smith, Privacy-preserving Statistical Estimation, STOC 2011.
// The theory stands in internal/means: depth.go, margin.go, divisor.go, bounded.go.
package plan
