package sketch

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Reduced is Algorithm 3 of the paper, in units of 1/(k+1): of a sketch with the counters c, at
// most k of them positive, and S = Σc it returns ĉ = (k+1)·c − S where that is positive, in the
// order of the counters.
//
// Neighbouring streams lead to sketches of two kinds, by Lemma 8 (zero counters count for nothing):
//
//	(A) c = c′ + 1 for one key, so S = S′ + 1: that key of ĉ rises by at most k, and at most k−1
//	    others fall by at most 1
//	(B) c = c′ − 1 for the k keys of c′, so S = S′ − k: at most k keys of ĉ fall by 1 or not at
//	    all
//
// since clipping at 0 is monotone and 1-Lipschitz. So the ℓ₁ sensitivity is 2k−1, in
// counts (2k−1)/(k+1); k counters at 1, and one element more of one of these keys, attain it.
// (Lemma 16 states 2 in counts, and its proof has γ = γ′ − 1/(k+1) in case (A), where S = S′ + 1
// makes it γ′ + 1/(k+1).)
//
// This is about the sketch of one stream. Neighbours among merged sketches may differ by 1 in any
// number of keys, and 1 < m < k of them change ĉ by m(2k+1−2m): reduce first, then add up.
//
// The subtraction is exact, in 128 bits, and only its result saturates, at 2⁶²: that does to each
// key of ĉ alone what clipping at 0 does, so (A) and (B) stay. Saturating the counters before would
// not do: of k counters that fall by one, those that are stuck would rise by the fall of S.
func Reduced[K hashing.Key](counters []Counter[K], k int) []Counter[K] {
	var sum exact.Int128 // ≤ 2²⁸·2⁶³
	for _, c := range counters {
		sum = sum.Plus(exact.Int128Of(c.Count))
	}
	return less(nil, counters, k+1, sum)
}

// Trimmed returns the sketch reduced by the mean of its j smallest counters, in units of 1/j, and
// W, which bounds what that takes off: with the k numbers c, zeros included,
//
// A = Σ of the j smallest min(c, T), n = max(0, A + shift), r = max(0, j·c − n), W = j·D + n
//
// in order of arrival; so r ≤ j·c ≤ j·(c + D) ≤ r + W. A and n are exact, in 128 bits, and T may be
// below 0; only r and W saturate, at 2⁶². package law has the law of T and shift, and the theorem.
func (s *Sketch[K]) Trimmed(j int, most, shift int64) (r []Counter[K], w int64) {
	counters := s.Unsorted()
	n := smallest(counters, s.k, j, most).Plus(exact.Int128Of(shift))
	if n.Hi < 0 {
		n = exact.Int128{}
	}
	return less(counters[:0], counters, j, n), cut(exact.Product128(int64(s.decrements), int64(j)).Plus(n))
}

// smallest returns the sum of the j smallest of k numbers min(c, most): the counters, and 0 for
// those that are not in use.
func smallest[K hashing.Key](counters []Counter[K], k, j int, most int64) (sum exact.Int128) {
	if most <= 0 {
		return exact.Product128(most, int64(j))
	}
	n := j - (k - len(counters)) // that are positive
	if n <= 0 {
		return sum
	}
	counts := make([]uint64, len(counters))
	for i, c := range counters {
		counts[i] = uint64(min(c.Count, most))
	}
	at := int64(largest(counts, len(counts)-n+1)) // the n-th smallest; the order of counts is gone
	for _, c := range counters {
		if count := min(c.Count, most); count < at {
			sum = sum.Plus(exact.Int128Of(count))
			n--
		}
	}
	return sum.Plus(exact.Product128(at, int64(n)))
}

// less appends per·c − n of each counter where that is positive, in their order.
func less[K hashing.Key](positive, counters []Counter[K], per int, n exact.Int128) []Counter[K] {
	for _, c := range counters {
		if units := cut(exact.Product128(c.Count, int64(per)).Minus(n)); units > 0 {
			positive = append(positive, Counter[K]{c.Key, units})
		}
	}
	return positive
}

// cut returns x cut off at 0 and at 2⁶².
func cut(x exact.Int128) int64 {
	switch {
	case x.Hi < 0:
		return 0
	case x.Hi > 0:
		return Limit
	}
	return Saturate(x.Lo)
}

// Length returns S + (k+1)·D, at most 2⁶²: of one stream the number of its elements, as every
// element adds 1 to it. A neighbour of one stream, (A) or (B), moves it by 1; one of a merged
// sketch, where (A) m counters are one higher or (B) D is and m counters are one lower, by m or
// k+1−m, so by k+1 at most.
func (s *Sketch[K]) Length(k int) int64 {
	s.plain()
	sum := exact.Product128(int64(s.decrements), int64(k)+1)
	for _, e := range s.entries {
		sum = sum.Plus(exact.Int128Of(int64(e.total - s.decrements)))
	}
	return cut(sum)
}
