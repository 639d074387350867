package sketch

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
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
// since cutting off at 0 shortens each step and turns none. So the ℓ₁ sensitivity is 2k−1, in
// counts (2k−1)/(k+1); k counters at 1, and one element more of one of these keys, attain it.
// (Lemma 16 states 2 in counts, and its proof has γ = γ′ − 1/(k+1) in case (A), where S = S′ + 1
// makes it γ′ + 1/(k+1).)
//
// This is about the sketch of one stream. Neighbours among merged sketches may differ by 1 in any
// number of keys, and 1 < m < k of them change ĉ by m(2k+1−2m): reduce first, then add up.
//
// The subtraction is exact, in 128 bits, and only its result saturates, at 2⁶²: that does to each
// key of ĉ alone what cutting off at 0 does, so (A) and (B) stay. Saturating the counters before
// would not do: of k counters that fall by one, those that are stuck would rise by the fall of S.
func Reduced[K hashing.Key](counters []Counter[K], k int) []Counter[K] {
	return ReducedBy(counters, k, 0)
}

// ReducedBy is Reduced with S + shift, or 0 if that is negative, in the place of S.
func ReducedBy[K hashing.Key](counters []Counter[K], k int, shift int64) []Counter[K] {
	var sumHi, sumLo, carry uint64 // S ≤ 2²⁸·2⁶²
	for _, c := range counters {
		sumLo, carry = bits.Add64(sumLo, uint64(c.Count), 0)
		sumHi += carry
	}
	if shift >= 0 {
		sumLo, carry = bits.Add64(sumLo, uint64(shift), 0)
		sumHi += carry
	} else if sumLo, carry = bits.Sub64(sumLo, uint64(-shift), 0); carry > sumHi {
		sumHi, sumLo = 0, 0
	} else {
		sumHi -= carry
	}
	var positive []Counter[K]
	for _, c := range counters {
		hi, lo := bits.Mul64(uint64(c.Count), uint64(k)+1)
		lo, borrow := bits.Sub64(lo, sumLo, 0)
		hi, borrow = bits.Sub64(hi, sumHi, borrow)
		switch {
		case borrow != 0 || hi|lo == 0:
		case hi != 0:
			positive = append(positive, Counter[K]{c.Key, Saturate(1 << 63)})
		default:
			positive = append(positive, Counter[K]{c.Key, Saturate(lo)})
		}
	}
	return positive
}

// Length returns S + (k+1)·D, at most 2⁶²: of one stream the number of its elements, as every
// element adds 1 to it. A neighbour of one stream, (A) or (B), moves it by 1; one of a merged
// sketch, where (A) m counters are one higher or (B) D is and m counters are one lower, by m or
// k+1−m, so by k+1 at most.
func (s *Sketch[K]) Length(k int) int64 {
	s.plain()
	hi, lo := bits.Mul64(s.decrements, uint64(k)+1)
	for _, e := range s.entries {
		var carry uint64
		lo, carry = bits.Add64(lo, e.total-s.decrements, 0)
		hi += carry
	}
	if hi != 0 {
		return Limit
	}
	return Saturate(lo)
}
