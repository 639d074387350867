// Package quantile draws private quantiles exactly: the exponential mechanism over the cells of a
// public axis, in integers (weights.go has the theorem), and the binary search.
//
//	axis.go      values and cells of the axis
//	weights.go   scores, weights, the proof
//	window.go    base measures that have learnt from a few columns
//	quantile.go  a column, and the sampler
//	search.go    the binary search
//	need.go      what budget a quantile needs
//
// It spends the budget that it is told to spend; the caller counts it.
package quantile
