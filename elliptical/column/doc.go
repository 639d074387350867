// Package column releases count, sum, mean, variance and standard deviation of one column of
// numbers from one spend, each with an interval, and quantiles from another, under pure
// ε-differential privacy or zCDP.
//
// It answers how many rows, what total, what average, how spread, for the noise of little more than
// one question. In four lines:
//
//	b, err := column.New(column.Params{Epsilon: 1, Min: 0, Max: 100}) // ages
//	b.Add(age)                                                         // for each row
//	s, err := b.Release()
//	lo, hi := s.Interval(column.Mean, 0.95) // quantiles: NewQuantiles
//
// # Which package
//
//	wanted                                           take
//	one column with a public range                   column; Want Mean without the variance
//	a count, or a sum, and nothing else              column with Want
//	sums of many columns of different ranges         elliptical
//	means of columns whose ranges nobody knows       plan
//
// # Model and guarantee
//
// Each person is one row with one number, clamped to the public [Min, Max]. Neighbours differ in
// one row more or less ([budget.AddRemove], the default), or in the value of one row
// ([budget.Replace], the number of rows public): the unit is [budget.Row]. A release promises
// [Params.Guarantee], on the machine as on paper: a value becomes an integer, sums are exact in
// 128 bits, noise is drawn exactly on integers, scales are rounded up. The proofs stand in
// scheme.go and law.go, of quantiles in quantile_params.go and exponential.go. Whoever has several
// rows in a column is protected that many times less.
//
// # Accuracy
//
// Standard deviations of the noise, to first order; h = (Max − Min)/2, m = (mean − middle)/h in
// [−1, 1], n rows. [Plan.StdErr] and [Summary.StdErr] have the numbers.
//
//	                            Count     Mean                  noise at m = 0, ε = 1 or ρ = ½
//	AddRemove, pure ε, 1        2/ε       2h·√(1+m²)/(εn)       2h/n
//	AddRemove, pure ε, 2        2.51/ε    1.45h·√(2+3m²)/(εn)   2.05h/n
//	AddRemove, ρ-zCDP, 1        1/√ρ      h·√((1+m²)/ρ)/n       1.41h/n
//	AddRemove, ρ-zCDP, 2        1.22/√ρ   h·√((1+1.5m²)/ρ)/n    1.41h/n
//	Replace, pure ε, 1 | 2      public    2.83 | 3.18 h/(εn)    2.83 | 3.18 h/n
//	Replace, ρ-zCDP, 1 or 2     public    h·√(2/ρ)/n            2h/n
//	Want Count                  √2/ε, or 1/√(2ρ)
//	Want Sum                    √2·max(|Min|, |Max|)/ε, or max(|Min|, |Max|)/√(2ρ)
//
// The number at the end of a line is 1 for Want Mean, 2 for all five. Where the count and a
// normalised sum share ε by halves, as is usual, the mean has 2.83h·√(1+m²)/(εn): Want Mean has .71
// of it, and the variance .43 to .58 of what a split into three has. Rounding takes h·2⁻²⁹ a row.
//
// Quantiles: [Quantiles.RankInterval] bounds the error in rank for all data. Mean errors in rows at
// n = 1000, AddRemove, Resolution a thousandth of the range, levels .1, .3, .5, .7, .9:
//
//	                       ages   incomes   latencies   uniform   baskets
//	median, ε = 1 | 0.1    .3|11   .5|11      .2|6       .8|10     .3|11
//	5 levels, ε = 1 | 0.1  5|42    3|39       2|39       4|37      5|34
//	5 levels, ρ = ½        1.6     .5         .5         1.0       1.5
//
// With the default Resolution these are up to 1.5 more, and up to 10 where many rows are equal, as
// with ages: give the unit of the data there.
//
// What is clamped is lost: intervals cover the mean of the clamped values, those of Variance and
// StdDev conservatively. Mean and Variance are ratios, biased by about noise²/n².
//
// # Cost
//
// Measured on one core of 2.5 GHz. Add takes 6 ns and a Builder 512 bytes, for any number of rows;
// a release takes 3 µs, an interval 40 µs for Mean and 0.4 ms for Variance. A QuantileBuilder holds
// a number for each cell in use, and its Add takes 12 ns; its release, which looks at about 400/ε
// rows a level, takes 0.05 | 0.4 ms for 1 | 5 levels at ε = 1. Builders of shards merge exactly.
//
// # Not covered
//
// Several columns at once, the sampling of the rows, timing, and whoever reads the memory of the
// process. A Builder is for one goroutine.
//
// Sources: Fejér (1932) for the nodes and Kiefer, Wolfowitz (1960) for their optimality; Fieller
// (1954) for ratios; Kaplan, Schnapp, Stemmer (ICML 2022) for quantiles, to which the jitter of
// ties is added. The ℓ₁ ball of moments (Bernstein's coordinates and the narrower simplex) is this
// library's own.
package column
