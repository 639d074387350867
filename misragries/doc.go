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
// It answers which keys are frequent, and how frequent. Memory is O(k), an element costs O(1), and
// the noise does not grow with k. Where exact counts fit into memory, and for users with many keys,
// package threshold/groupby shows more.
//
// # Guarantee
//
// One element of the stream is hidden: neighbouring streams differ by adding or removing one
// element anywhere. With Params.MaxElements = m it is one user: neighbours differ by all of a
// user's at most m elements, or in a [UserBuilder] m distinct keys. Guarantee, of the Params, of
// every Builder and of the release, says which, as a [budget.Unit]. The length of the stream is
// private too.
//
// A release of one stream is (ε, δ)-private exactly for δ = Pr[max(1 + η + L₁, η + L₂) ≥ τ], for
// every k: at ε = 1, δ = 1e-6 the threshold τ is 17 where the paper's Lemma 11 gives 31.
//
// # Accuracy
//
// A sketch of n elements holds c ≤ f ≤ c + D of a key that came f times, D ≤ n/(k+1) its
// decrements. A key is shown if its noisy counter reaches the threshold, about ln(1/δ)/ε. More
// exactly f = c + D − Z, where Z counts the decrements while the key was absent and not arriving: a
// frequent key has Z next to 0. So Estimate is c + D, with noise of standard deviation 1.4/ε, and
// Lower the paper's c. On the baskets of a shop (k = 1024, D = 688) the top ten are off by 0.8, and
// by 689 as Lower. Interval has noise and sketch in one bound; for a UserBuilder it bounds the
// users for whom the key was counted.
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
//	users of up to m elements, or events  New, AddN, MaxElements: m     of one element at ε/m
//	  of up to m = 1500 (bytes, amounts)  NewSum (TrimmedSum)           17.5m, 1.8m
//	a standard sketch from elsewhere      FromCounters (FreedZeros)     24, 1.9
//	integer keys below Dim, δ = 0         all but FromCounters          the k largest of Dim keys;
//	                                      (PureUniverse)                2.9, merged 741
//
// [Params.Plan] says for each constructor what a key needs to be shown, with what sketches lose.
// Servers send [Builder.AppendPrivateState] over a trusted connection. The collector restores each
// with New and RestorePrivateState, and adds it to a [Sum], which it releases once. That shows more
// keys than 32 releases: of Zipf(1.1) 248, for 114 by Combine and 96 by ReducedSum.
//
// # Cost
//
// Add takes 6 ns for integers and 18 for strings, a Builder 37 bytes a counter, AddN some 90.
//
// # Method
//
// Algorithms 1 to 4 of Lebeda and Tětek, Better Differentially Private Approximate Histograms and
// Heavy Hitters using the Misra-Gries Sketch, TODS 2025 (doi 10.1145/3716375), with discrete noise
// drawn exactly; TrimmedSum is this package's.
//
// # Not covered
//
// Timing, and anyone who reads the memory of the process. A Builder is for one goroutine at a time;
// concurrent use panics where it is noticed. Counts beyond 2⁶² are released as about 2⁶².
package misragries
