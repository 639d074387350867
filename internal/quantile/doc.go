// Package quantile draws private quantiles exactly: the exponential mechanism over the cells of a
// public axis, in integers (weights.go has the theorem), and the binary search.
//
//	axis.go      values and cells of the axis
//	weights.go   scores, weights, the proof
//	window.go    base measures that have learnt from a few columns
//	quantile.go  a column, and the sampler
//	search.go    the binary search
//	need.go      what budget a quantile needs
//	spread.go    one draw for weighted cells, which are spread evenly
//	levels.go    several levels by halves; what many draws cost (spread_proof.md)
//	mass.go      integers of 256 bits
//
// A Column, for package plan, has its keys in a slice, in any order: thousands of columns are
// looked at once each, and sorting them would cost more than the draw. A Spread, for
// threshold/groupby and elliptical/column, has sums by cell, as Builders keep them.
//
// It spends the budget that it is told to spend; the caller counts it.
package quantile
