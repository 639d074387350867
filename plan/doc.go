// Package plan releases private means of high-dimensional rows, dense or sparse, when columns
// differ in scale and the scales are not known in advance: it finds centres, scales and the
// clipping norm privately.
//
//	m, err := plan.New(plan.Params{Rho: 0.5, Dim: 100, Max: 1e6})
//	…
//	mean, err := m.Release(ctx, rows) // [][]float64, one row per user
//	…
//	for i := range mean.Dim() {
//		lo, hi := mean.NoiseInterval(i, 0.95)
//		fmt.Println(mean.Estimate(i), lo, hi)
//	}
//
// # Guarantee
//
// A release is ρ-zCDP for one row, for a given ρ or the one of Epsilon and Delta. Under
// [budget.AddRemove], the default, a row is added or removed, and the number of rows is private
// unless Rows says it; under [budget.Replace] a row is replaced, and the number is public.
//
// The guarantee holds for the floating-point implementation: draws are exact, sums are integers,
// the norm of a clipped row is checked exactly, and shares of the budget never add up to more than
// ρ.
//
// # Accuracy
//
// For p = 2 the noise has a norm of about 2·‖σ‖₁/(n√(2ρ)) under Replace, half of it under
// AddRemove. Without scaling, √d·‖σ‖₂ replaces ‖σ‖₁. [Params.Plan] computes it. [Mean.Shrunk] has
// less error, for nothing.
//
// Rows longer than C are pulled towards the centre, and a released γ corrects this on average, so
// skewed means (incomes, latencies, counts) have a bias. By default only about 3s·√(d/ρ) rows are
// clipped, with s the sensitivity of the sum: these weigh as much as the noise.
//
// [Mean.NoiseInterval] covers the noise alone. [Mean.IntervalBounded] holds for all rows in the
// public range, and is wide: no honest interval is shorter than 0.4·(M−m)/(n·√(2ρ)) at 95 %.
//
// n must be large compared with √(d/ρ). Otherwise a quantile misses the data, and the release is
// useless: the Plan warns, and Auto is Plain. From 8·LeastRows rows on, at most one release in 5000
// (2500 from 512 columns on) has a gross error.
//
// # Choosing
//
// Set Relative if columns have different units, as a rating and an income. Errors are √(d/(2ρ))/n
// standard deviations of a column then, or a little more: with columns of 10⁻⁶ to 10¹⁰, ρ = ½ and n
// = 10³, 10⁴, 10⁵, they were .022, .004, .0007 in 5 columns, .21, .005, .0004 in 50; without it,
// more than 10⁴.
//
// A large Max costs little. Give the size of rare events as Resolution: without it a column in
// which few rows are not 0 has a mean of 0. Set Symmetric for rows like Gaussian ones: they have 15
// % less error, and skewed rows 2.4 times as much.
//
// NaN, a missing value, is no entry of a sparse row. In a dense one it counts as the centre c of
// its column, which is found from the values that are there, or as the end of a range that c lies
// outside of. With a column of 1 where a value is there and else 0, of mean s, those there have the
// mean c + (Estimate − c)/s. A column with fewer values than [Plan.LeastRows] has a centre near 0.
//
// Where ranges are public and tight, use package elliptical; for one column elliptical/column; for
// counts of a huge key space threshold; for the published mechanisms plan/thesis.
//
// Dense rows take about 22 ns per entry, sparse ones 6 to 10 ns, and 16 bytes per row and 100 per
// coordinate. Not covered: timing, and who reads the memory of the process.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5
// (with Aumüller, Nelson and Pagh); Huang, Liang, Yi (NeurIPS 2021); Smith (STOC 2011). The theory
// is in internal/means: scale.go, limit.go, clip.go, bounded.go.
package plan
