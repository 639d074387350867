// Package kor answers how large sets are and how they overlap, under pure ε-differential privacy,
// by sketches that can be XORed. Parties that never share data publish sketches of their sets.
// Anyone can compute from these the size of the symmetric difference, and so of the union, the
// intersection and the difference.
//
//	b, err := kor.New(kor.Params{Epsilon: 1, Seed: seed}) // seed: agreed on
//	if err != nil {
//		log.Fatal(err)
//	}
//	kor.ToggleKey(b, "a key of any type") // once: toggled twice, it is gone
//	s, err := b.Release()
//	// …
//	c, err := kor.Compare(s, theirs) // c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB()
//
// # Guarantee
//
// Neighbours differ in one key, in a stream with all its occurrences, added or removed
// ([budget.Key]). Every key changes at most one bit, so flipping every bit with probability p ≥
// 1/(e^ε + 1) is ε-private for every choice of the hash functions (params.go; for streams p ≥
// exp(−ε)/2, stream.go). p is k/2⁶⁴, rounded up, and drawn exactly. Releasing a private state k
// times costs exactly kε, as each release draws its own coins. A merged sketch is post-processing;
// [Sketch.Guarantee] covers all its releases. With [Builder.Share] and [Aggregate] n parties have
// the noise of one, if only the XOR of their shares is published.
//
// # Accuracy
//
// With n cells in each of L levels, the relative standard error is √(4·ln 2/(n·Li₂(c²))) for sizes
// from 2n (streams: 4n) to 2^L·n/16. Here c = tanh(ε/2) for one sketch and c_A·c_B for two; for
// streams 1 − exp(−ε) replaces tanh(ε/2). [Plan.StdErr] has the error for all sizes: it is 2 to 8 %
// more at 2^L·n/8, and 1.2 to 2.6 times as much at n/4 keys (see plan.go). If the formula gives at
// most 0.3, the bias is at most a tenth of the standard error, plus 0.08 keys at size 0; otherwise
// estimates are biased towards 0. Relative standard errors in percent at n = 2048 (64 Kbit with 32
// levels). Without noise large sets would have 2.9, or 1.4 with PCSA:
//
//	size, ε =                        0.5     1     2     4
//	A, 1000 keys                    23.3  11.6   5.6   2.8
//	A, 10⁴ to 10¹² keys             14.9   7.7   4.4   3.1
//	A∆B, 1000 keys                  97.4  26.9   8.6   3.3
//	A∆B, 10⁴ to 10¹² keys           61.3  17.1   6.0   3.3
//	a stream, 10⁴ to 10¹² keys       9.2   5.5   3.7   3.0
//	a union of two streams          23.7   9.0   4.5   3.1
//	PCSA, symmetric response, A      7.5   3.9   2.2   1.6
//	PCSA, A∆B of half of A∪B           –  16.5   5.5   2.9
//	PCSA, A∆B of a tenth of A∪B        –  81.5  25.4   9.4
//	PCSA, A∆B of 1 % of A∪B            –   810   250    75
//	the thesis's interval estimator         answers 0: it needs n ≈ 2·10¹⁰
//
// PCSA sets bits instead of flipping them; here it is under randomized response. It has half the
// error for a plain count, at every ε, so take it to count sets that only grow. kor is better for
// |A∆B| below about 0.45·|A∪B|, by a factor of 20 to 50 at 1 %, and its keys can be removed.
//
// # Choosing
//
// If one owner holds all data, use package kor/distinct: how many users, who came back, how often.
// Several owners who show each other nothing but releases use
//
//	union, overlap of 2 to 12 parties                     kor/distinct, CountShare 0.05
//	|A∆B| far below |A∪B|, two versions of a set          kor: its error is relative to |A∆B|
//	keys are removed again; weights in (0, 1]             kor
//
// A [Builder] is for sets whose keys come once each, and again to be removed: Toggle removes a key
// that is present. Events, in which a user may come twice, are for kor/distinct. A [StreamBuilder]
// is for weighted keys that come several times, and for the union of many parties in one sketch of
// fixed size.
//
// # Cost
//
// Toggle takes 2.2 ns, ToggleSlice 1.4 ns per key, without allocation, and a release 0.7 to
// 1.4 s per 10⁹ bits. For 8 KiB an estimate takes 20 µs, and an XOR 0.5 µs plus 1 to 2 µs for its
// memory.
//
// Not covered: timing, and anyone who reads the memory of the process. Anyone who knows the Seed
// can choose keys that spoil an estimate, not the privacy of others. A Builder is for one
// goroutine.
//
// Sources: Stausholm, thesis (ITU 2022), chapter 3; Pagh and Stausholm, Efficient Differentially
// Private F₀ Linear Sketching (ICDT 2021, arXiv 2001.11932); Firth, Bias reduction of maximum
// likelihood estimates (Biometrika 1993). The Fisher information, the likelihood estimator, the
// privacy of streams and the sharing of noise are this package's own.
package kor
