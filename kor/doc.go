// Package kor estimates how large sets are and how they overlap, under pure ε-differential privacy,
// by sketches that can be XORed. Parties that never share data publish sketches; anyone can compute
// from these the size of the symmetric difference, and so of union, intersection and difference.
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
// ([budget.Key]). A key changes at most one bit, so flipping every bit with probability p ≥ 1/(e^ε
// + 1) is ε-private for every choice of the hash functions (params.go; for streams p ≥ exp(−ε)/2,
// stream.go). p is k/2⁶⁴, rounded up, and drawn exactly. k releases of a private state cost exactly
// kε; what is computed from releases costs no budget. With [Builder.Share] and [Aggregate] n
// parties have the noise of one, if only the XOR of their shares is published.
//
// # Accuracy
//
// With n cells in each of L levels, the relative standard error is √(4·ln 2/(n·Li₂(c²))) for sizes
// from 2n (streams: 4n) to 2^L·n/16, with c = tanh(ε/2) for one sketch and c_A·c_B for two; for
// streams 1 − exp(−ε) replaces tanh(ε/2). If that is at most 0.3, the bias is at most a tenth of
// it, plus 0.08 keys at size 0, and intervals at .95 cover .94 to .96, more for fewer than about n
// keys; otherwise estimates are biased towards 0. In percent at n = 2048:
//
//	size, ε =                        0.5     1     2     4
//	A, 1000 keys                    23.3  11.6   5.6   2.8
//	A, 10⁴ to 10¹² keys             14.9   7.7   4.4   3.1
//	A∆B, 1000 keys                  97.4  26.9   8.6   3.3
//	A∆B, 10⁴ to 10¹² keys           61.3  17.1   6.0   3.3
//	a stream, 10⁴ to 10¹² keys       9.2   5.5   3.7   3.0
//	PCSA, symmetric response, A      7.5   3.9   2.2   1.6
//
// PCSA, which sets bits instead of flipping them, has half the error for a plain count. kor is
// better for |A∆B| below about 0.45·|A∪B|, and can remove keys.
//
// # Choosing
//
// If one owner holds all data, or keys come more than once, use package kor/distinct. Owners who
// show each other nothing but releases use
//
//	union, overlap of 2 to 12 parties                     kor/distinct, CountShare 0.05
//	|A∆B| far below |A∪B|, two versions of a set          kor: its error is relative to |A∆B|
//	keys are removed again; weights in (0, 1]             kor
//
// # Use
//
// Sketches are public, immutable, safe for concurrent readers. A released builder has given up its
// data and takes none, like a zero one. After an error nothing has changed. Encoding returns an
// error that wraps [ErrFormat] for what is neither released nor decoded, decoding for bytes that
// nothing was encoded to. JSON shows estimates with intervals at .95; its member data is the binary
// encoding. Private state is for machines as trusted as this one.
//
// Toggle takes 2.2 ns. Not covered: timing, readers of the memory of the process, and keys chosen
// by anyone who knows the Seed, which spoil an estimate, not the privacy of others.
//
// Sources: Stausholm, thesis (ITU 2021), chapter 3; Pagh and Stausholm (ICDT 2021, arXiv
// 2001.11932); Firth (Biometrika 1993). The Fisher information, the likelihood estimator, the
// privacy of streams and the sharing of noise are this package's own.
package kor
