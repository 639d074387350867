// Package column releases count, sum, mean, variance and quantiles of one column of numbers, each
// with an interval, under pure ε-differential privacy, zCDP or (ε, δ):
//
//	b, err := column.New(column.Params{Epsilon: 1}) // the range is learned; or Min and Max
//	b.Add(latency)                                  // for each row
//	s, err := b.Release()
//	mean := s.Value(column.Mean)
//	lo, hi := s.Interval(column.Mean, 0.95)
//
// A mean and its interval are about values clamped to [Min, Max]. If the range is learned they are
// about all values, without what a few rows hide far out: of 2000 salaries no private release sees
// the one of 40 million, a third of the mean. [Summary.IntervalBounded] allows for it.
//
// # Guarantee
//
// Each person is one row. Neighbours differ in one row, added or removed ([budget.AddRemove], the
// default) or replaced ([budget.Replace]; the number of rows is public). The unit is [budget.Row]:
// a person with k rows has k times the ε. The guarantee holds for the floating-point
// implementation. Proofs: scheme.go, noise.go, learn.go; internal/quantile. NaN, a missing value,
// is no row; under Replace it counts as the middle.
//
// # Accuracy
//
// Standard deviations of the noise ([Plan.StdErr]); h = (Max − Min)/2, m = (mean − middle)/h, 1 is
// Want: Mean, 2 is all five statistics:
//
//	                            Count     Mean
//	AddRemove, pure ε, 1        2/ε       2h·√(1+m²)/(εn)
//	AddRemove, pure ε, 2        2.51/ε    1.45h·√(2+3m²)/(εn)
//	AddRemove, ρ-zCDP, 1        1/√ρ      h·√((1+m²)/ρ)/n
//	AddRemove, ρ-zCDP, 2        1.22/√ρ   h·√((1+1.5m²)/ρ)/n
//	Replace, pure ε, 1 | 2      public    2.83 | 3.18 h/(εn)
//	Replace, ρ-zCDP, 1 or 2     public    h·√(2/ρ)/n
//	Want Count | Sum            √2/ε, or 1/√(2ρ)  |  that times max(|Min|, |Max|)
//
// With a learned range, the error of the mean in units of the sampling error (root mean square,
// half width at .95), for n = 10,000 and ρ = ½; ε = 1:
//
//	normal             .04, 2.6; .10, 9      lognormal .8    .20, 4.2; .27, 10
//	exponential        .09, 3.2; .19, 10     Pareto 2        1.0, 8.3; 1.4, 16
//	ages               .04, 1.9; .09, 8      .5 % timeouts   .20, 5.9; not seen
//	70 % 0, rest exp.  .14, 5.1; .24, 16     98 % 0, rest    .6, 18; 1.4, 37
//
// Clamping to the best range has .6 to .95 of that error, and plan with Dim 1 .75 or more, without
// an interval for all rows.
//
// At ε = 1 a median is off by 2 or 3 rows whatever the range, and each of five levels by 2 to 6.
//
// # Choosing
//
//	latencies, amounts: the largest is unknown        Epsilon or Rho alone
//	ages, scores: a public range                      Min and Max: the variance, too
//	0 or 1, a share                                   Max: 1, Want: Mean
//	a median, p95                                     NewQuantiles; one level has an interval
//	a count or sum alone                              Want
//	many columns                                      elliptical by ranges, or plan
//
// # What an interval promises
//
// With Min and Max an interval covers the noise. If the range is learned and, beyond the last
// visible group, rows thin out at least like a Pareto tail of index TailIndex, [Summary.Interval]
// contains the mean of all rows: this is proved. It widens if the visible rows suggest a heavier
// tail, and an end is infinite if rows are not seen to thin out there. Eight octaves out, a share
// of rows below 67/(n·ε), or 12/(n·√(2ρ)), is not seen, and the mean lacks it; the interval allows
// for it down to 40/(n·ε). Of fewer than 720/ε or 90/√ρ rows no range is learned: Mean and Sum are
// NaN, their intervals infinite, or what the Bound says. Use n·ε ≥ 2000 or n·√ρ ≥ 800: of fewer
// rows intervals are twice as wide. Measured for twenty distributions in intervals.md: .96 or more
// of those in the class.
//
// A Builder takes 512 bytes; if the range is learned, 8 bytes per row. A QuantileBuilder has one
// number per cell in use. From values with a spread below 10⁻⁶ of their size, such as times since
// 1970, subtract a public origin, or the interval is infinite. Not covered: the sampling of the
// rows, timing, the memory of the process.
//
// Sources: Fejér (1932), Fieller (1954), Kaplan, Schnapp, Stemmer (ICML 2022). The ℓ₁ ball of
// moments and all of learned ranges are this library's own.
package column
