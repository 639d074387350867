// Package misragries releases the heavy hitters of a stream of any length, from k counters, under
// (ε, δ)-differential privacy.
//
// It answers: which keys are frequent, and how frequent. Memory is O(k), an element costs O(1), and
// the noise does not grow with k. Counts that fit into memory, and users with many keys, are for
// package threshold; a number or a vector of known sensitivity takes noise from package noise.
//
// # Model
//
// One element of the stream is hidden: neighbouring streams differ by adding or removing one
// element anywhere. With Params.MaxElements = m > 1, and in a UserBuilder, it is one user:
// neighbours differ by all of a user's at most m elements, or MaxKeys keys. Guarantee, of the
// Params, of every Builder and of the release, says which, as a [budget.Unit]. The length n is
// private too.
//
// # What to use
//
// The threshold and the standard deviation of an estimate at ε = 1, δ = 1e-6 and k = 1024:
//
//	one stream                            Builder (KeptZeros)           17, 1.4
//	streams of servers or goroutines      Sum (ReducedSum)              15.5, 1.6
//	  2 to 5 of them                      Sum (ShiftedSum)              14.2 and .4 for each, 1.5
//	  where the keys do not fit           Builder.Merge (SparseVector)  423, 71: as √k
//	  where no server may see them        Combine of Histograms         17, 1.4 on each server
//	users with up to m distinct keys      UserBuilder                   423, 71 for any m, or less
//	users of up to m elements, or events  Builder, MaxElements, AddN    of one element at ε/m
//	  of up to m = 1500 (bytes, amounts)  Sum (ReducedSum)              15.6m, 1.6m
//	a standard sketch from elsewhere      FromCounters (FreedZeros)     24, 1.9
//	integer keys below Dim, δ = 0         all but FromCounters          the k largest of Dim keys;
//	                                      (PureUniverse)                2.9, merged 741
//
// Merging hurts, as a neighbour of a merged sketch differs in up to k counters: reduce and sum
// instead. [Params.Plan] compares, [Params.Candidates] lists what is possible.
//
// # Estimates
//
// A sketch of k counters counts c ≤ f ≤ c + D, D its decrements. More exactly f = c + D − Z, Z
// being the decrements at which the key was neither stored nor the element that came: a key that is
// frequent all the time has Z next to 0, however large D is. So Estimate is the upper reading:
//
//	reading  estimates    noise               right for
//	Upper    c + D        L, its own alone    keys that come all the time: off by O(min(√D, D/c))
//	Middle   c + D/2      L + η/2             anything: off by D/2 at most, the least worst case
//	Lower    c            L + η: the paper's  keys of one burst at the end
//	a Sum's  even spread  as Upper            keys spread over the sketches; within their bounds
//
// On the baskets of a shop (k = 1024, D = 688) the top ten are off by 0.8, read as Upper, and by
// 689 as Lower. Sums release their length for a share of ε. Merged sketches and those of users
// release D under one bound with the counters (.7 % of the threshold at k = 1024): c + D has no
// noise that they share.
//
// # Method
//
// Algorithms 1 and 2 of Lebeda and Tětek, Better Differentially Private Approximate Histograms and
// Heavy Hitters using the Misra-Gries Sketch, TODS 2025 (doi 10.1145/3716375), with discrete
// Laplace noise: every stored counter c, zeros included, is released as c + η + L if that is at
// least τ; η is shared, every L its own, Pr[x] ∝ e^{−ε|x|}. Besides, D − η is released, D being the
// number of decrements of the sketch. Each other mechanism has a file of its name.
//
// # Guarantee
//
// The release of one stream is (ε, δ)-differentially private exactly for
//
//	δ(τ) = Pr[max(1 + η + L₁, η + L₂) ≥ τ]   (k = 1: Pr[1 + η + L ≥ τ]),
//
// for every k and with no factor in front; τ is the least integer with δ(τ) ≤ δ. At ε = 1, δ = 1e-6
// that is 17 where the paper's Lemma 11 gives 31 and 33. keptzeros_proof.md has the proof; D − η
// costs nothing besides.
//
// # Accuracy
//
// D ≤ n/(k+1); the noise of Estimate has standard deviation about 1.4/ε, and a key whose noisy
// counter is below τ ≈ ln(1/δ)/ε is not shown. [Histogram.Interval] has the error of the sketch and
// the noise in one bound.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine at a time;
// concurrent use panics where it is noticed. Counts beyond 2⁶² are released as about 2⁶².
package misragries
