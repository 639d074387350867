// Package misragries releases the heavy hitters of a stream of any length, from k counters, under
// (ε, δ)-differential privacy.
//
//	b, err := misragries.New[string](misragries.Params{Epsilon: 1, Delta: 1e-6})
//	if err != nil {
//		return err
//	}
//	for word := range words {
//		b.Add(word)
//	}
//	h, err := b.Release() // once; spends the budget
//	if err != nil {
//		return err
//	}
//	for word, count := range h.Top(10) {
//		lo, hi := h.Interval(word, 0.95)
//		fmt.Println(word, count, lo, hi)
//	}
//
// Memory is O(k), an element takes O(1) time, and the noise does not grow with k. If exact counts
// fit into memory, or users have many keys, package threshold/groupby shows more keys.
//
// # Guarantee
//
// Neighbouring streams differ by one element, added or removed anywhere; with Params.MaxElements =
// m, by all of a user's elements, at most m (in a [UserBuilder], at most m distinct keys). The
// length of the stream is private too.
//
// With KeptZeros, for one element, the threshold is the least with which the release is (ε,
// δ)-private (internal/thresholds/keptzeros_proof.md).
//
// # Accuracy
//
// A key is shown if its noisy counter reaches the threshold, about ln(1/δ)/ε. For a key that
// occurred f times in n elements the sketch holds a counter c with c ≤ f ≤ c + D, where D ≤ n/(k+1)
// counts all decrements. Estimate is c + D, with noise of standard deviation 1.4/ε; Lower is the
// paper's estimate c.
//
// An interval covers the noise and what the sketch lost, for one key fixed before the release.
// Bounds and limits are NaN for the zero Histogram or Combined, and for a confidence outside [0,
// 1).
//
// # Choosing
//
// The threshold and the standard deviation of an estimate at ε = 1, δ = 1e-6, k = 1024:
//
//	one stream                            New (KeptZeros)               17, 1.4
//	streams of servers or goroutines      NewSum (TrimmedSum)           16.6 and .3 for each, 1.8
//	  where no server may see them        Combine of Histograms         17, 1.4 on each server
//	  where the keys do not fit           Builder.Merge (SparseVector)  423, 71: as √k
//	users with up to m distinct keys      NewUserBuilder                423, 71 for any m, or less
//	  of several servers                  UserBuilder.Merge             423, 71: set SparseVector
//	users of up to m elements, or events  New, AddN, MaxElements: m     of one element at ε/m
//	  of up to m = 1500 (bytes, amounts)  NewSum (TrimmedSum)           17.5m, 1.8m
//	counters of a sketch from elsewhere   FromMisraGries (FreedZeros)   24, 1.9
//	integer keys below Dim, δ = 0         all of these (PureUniverse)   the k largest of Dim keys;
//	                                                                    2.9, merged 741
//
// [Params.Plan] compares them.
//
// Add takes 6 ns for integers, 18 ns for strings; a counter 37 bytes, about 90 with AddN. Not
// covered: timing, and who reads the memory of the process. Counts above 2⁶² are released as about
// 2⁶².
//
// Source: Lebeda and Tětek, TODS 2025 (doi 10.1145/3716375), Algorithms 1 to 4, with exactly drawn
// discrete noise. TrimmedSum is this package's own.
package misragries
