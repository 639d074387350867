// Package rank chooses the place of a quantile privately: by the exponential mechanism, exactly,
// among the places of a public axis.
//
//	exponential.go  the mechanism, its proof, and many quantiles at once
//	jitter.go       rows that share a cell of the axis get places of their own
//	padded.go       ranks beyond the rows, for the ends of an interval
package rank
