// Package rank has the public axes along which quantiles of a column are drawn, by
// internal/quantile.
//
//	axis.go     values and the cells of an axis
//	nearest.go  of rows that are kept, those near a wanted rank by cell
package rank
