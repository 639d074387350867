// Package tail finds the range of a column from a histogram of distances from a centre, with noise,
// and says what rows beyond the range may add to a sum. All that it sees is public.
//
//	histogram.go  the bins
//	visible.go    which of them hold rows
//	ends.go       the range, and what is added back for rows beyond it
//	beyond.go     what else there may be: the theorem behind the intervals
//	hidden.go     where its assumption begins, and what it may overlook
package tail
