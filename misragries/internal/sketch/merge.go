package sketch

import "math/bits"

// The merge of Agarwal, Cormode, Huang, Phillips, Wei and Yi, Mergeable Summaries, TODS 2013, as in
// section 7 of the paper: positive counters are added, the (k+1)-th largest sum v is subtracted
// from all, what is positive stays.
//
//	c = (c₁ + c₂ − v)₊,   D = D₁ + D₂ + v
//
// Adding an element is the merge with its sketch, c = 1 for its key and D = 0: if at most k of the
// sums are positive then, v = 0; else all k + 1 are, that of the element is 1, and v = 1. So every
// sketch, whether its elements were added before its merges, between or after them, is a tree of
// merges of single elements, and what follows is by induction over merges, in any association.
//
// Error: c ≤ f ≤ c + D and (k+1)·D ≤ N − Σc, so D ≤ N/(k+1), for N elements in all. A merge lowers
// no sum by more than v, and each of the k + 1 largest by v.
//
// Sensitivity: if one side has one element more, then (A) it has the same D and each of its
// counters is higher by 0 or 1, or (B) its D is one higher and each of its counters is lower by 0
// or 1. At most k counters differ. So (c, −D) differs by 0 or 1, with one sign.
//
// Proof. Before the merge of that element one counter differs, by 1: (A). A merge adds the same
// vector to (c, −D) on both sides, subtracts v from all its coordinates, and clips the counters at
// 0. The first changes no difference. In the second, v, an order statistic of the counters, is the
// same, or one higher where these are higher: then the differences of the counters go from {0, 1}
// to {−1, 0} and that of −D from 0 to −1, (A) to (B), or all of it back, (B) to (A). Clipping,
// monotone, moves nothing apart. And the side of the higher counters has at most k. ∎
//
// So any differences of 0 or 1 with one sign in (c, −D) stay such (see AddUser). This is Lemma
// 17 and Corollary 18 of the paper, which have the counters; that D comes along is not in the
// paper.

// Merge makes s the sketch of both streams, of k counters where s may have room for more, by O(k)
// operations. What other counts stays as it is. The zero keys of Algorithm 1, and the relation of n
// to D that its proof of privacy needs, are lost for good.
//
// Counters and D do not rise above 2⁶². That is one more monotone map of each coordinate, so the
// differences stay 0 or 1 with one sign, though f ≤ c + D fails. It takes as many elements, or some
// sixty merges of a sketch with what is left of itself.
func (s *Sketch[K]) Merge(other *Sketch[K], k int) {
	s.plain()
	other.plain()
	missing := make([]entry[K], 0, len(other.entries)) // what s does not hold, as s would
	for _, e := range other.entries {
		count := other.count(e)
		if i := s.find(e.key); i >= 0 {
			s.entries[i].total += count
		} else {
			missing = append(missing, entry[K]{e.key, s.decrements + count})
		}
	}
	size := len(s.entries) + len(missing)
	if n := min(k, size); n >= cap(s.entries) {
		s.grow(n)
	}
	all := [2][]entry[K]{s.entries, missing}
	v := uint64(0)
	if size > k {
		sums := make([]uint64, 0, size)
		for _, part := range all {
			for _, e := range part {
				sums = append(sums, s.count(e))
			}
		}
		v = largest(sums, k+1)
	}
	decrements := clip(clip(s.decrements+other.decrements) + v)
	kept, n := s.entries[:cap(s.entries)], 0
	for _, part := range all {
		for _, e := range part { // no branch that nothing could predict, as in decrement
			count := s.count(e)
			kept[n] = entry[K]{e.key, decrements + (count - v)}
			if count > v {
				n++
			}
		}
	}
	clear(kept[n:])
	clear(s.zeros)
	s.entries, s.decrements, s.zeros, s.settled = kept[:n], decrements, s.zeros[:0], 0
	s.reindex()
}

// count returns the entry's counter.
func (s *Sketch[K]) count(e entry[K]) uint64 { return clip(e.total - s.decrements) }

// clip keeps a sum of two counts, or of two numbers of decrements, from growing beyond a uint64.
func clip(count uint64) uint64 { return uint64(Saturate(count)) }

// find returns the place of the key's entry, or −1.
func (s *Sketch[K]) find(key K) int {
	h := s.hasher.Hash(key)
	tag := s.index.tag(h)
	for slot := s.index.start(h); ; slot = s.index.next(slot) {
		content := s.index.at(slot)
		if content == 0 {
			return -1
		}
		if content&^s.index.mask == tag {
			if i := int(content&s.index.mask) - 1; s.entries[i].key == key {
				return i
			}
		}
	}
}

// largest returns the n-th largest value, n ≥ 1, by at most eight passes, whatever the values are:
// byte for byte from the highest, it keeps those that agree with the answer. It overwrites them.
func largest(values []uint64, n int) uint64 {
	union := uint64(0)
	for _, x := range values {
		union |= x
	}
	for shift := max(bits.Len64(union)-1, 0) &^ 7; shift >= 0; shift -= 8 {
		var tally [256]int
		for _, x := range values {
			tally[byte(x>>shift)]++
		}
		digit := 255
		for ; n > tally[digit]; digit-- {
			n -= tally[digit]
		}
		kept := 0
		for _, x := range values {
			values[kept] = x
			if byte(x>>shift) == byte(digit) {
				kept++
			}
		}
		values = values[:kept]
	}
	return values[0]
}

// Positive returns the positive counters, sorted by key: the standard sketch, and all that there is
// after a merge.
func (s *Sketch[K]) Positive() []Counter[K] {
	all := s.Unsorted()
	Sort(all)
	return all
}

// Unsorted returns the positive counters in order of arrival.
func (s *Sketch[K]) Unsorted() []Counter[K] {
	s.plain()
	all := make([]Counter[K], len(s.entries))
	for i, e := range s.entries {
		all[i] = Counter[K]{e.key, int64(e.total - s.decrements)}
	}
	return all
}
