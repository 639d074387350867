package sparse

import "slices"

// This file draws the coordinates without a value, of which the pure mechanisms have d minus a few.
// PureLaplace never loops over them: the number N of those whose noise reaches T is binomial, the N
// keys are a uniform set, and beyond T the noise is geometric, as Pr[L ≥ T + n | L ≥ T] = q^n. That
// is the law of the loop.

// falseKeys returns what is released of the keys without a value, sorted. stored are those with
// one, sorted.
func (s *releasing[K]) falseKeys(stored []Entry[K]) []Entry[K] {
	d, beyond := s.numbers.laplace(), s.numbers.geometric()
	count := d.CountTail
	if s.params.Signed {
		count = d.CountTails
	}
	zeros := s.params.Dim - uint64(len(stored))
	released := s.distinctZeros(stored, count(s.src, zeros, s.numbers.threshold))
	for i := range released {
		v := s.numbers.threshold + beyond.SampleInt(s.src)
		if s.params.Signed && s.src.Uint64()&1 != 0 {
			v = -v
		}
		released[i].Steps = v
	}
	return released
}

// distinctZeros returns a uniform set of n of the keys that are not stored, sorted: it draws ranks
// among them. n is at most about half of them, or they are few.
func (s *releasing[K]) distinctZeros(stored []Entry[K], n uint64) []Entry[K] {
	ranks, drawn := make([]uint64, 0, n), make(map[uint64]struct{}, n)
	for uint64(len(ranks)) < n {
		rank := s.src.Uint64N(s.params.Dim - uint64(len(stored)))
		if _, again := drawn[rank]; !again {
			drawn[rank] = struct{}{}
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	zeros, before := make([]Entry[K], n), 0 // the stored keys below a zero
	for i, rank := range ranks {
		for before < len(stored) && s.keys.Bits(stored[before].Key) <= rank+uint64(before) {
			before++
		}
		zeros[i].Key = s.keyAt(rank + uint64(before))
	}
	return zeros
}

// dense adds noise to all coordinates and releases them all.
func (s *releasing[K]) dense(stored []Entry[K]) []Entry[K] {
	d := s.numbers.laplace()
	released := make([]Entry[K], s.params.Dim)
	for i := range released {
		released[i] = Entry[K]{Key: s.keyAt(uint64(i)), Steps: d.SampleInt(s.src)}
		if len(stored) > 0 && stored[0].Key == released[i].Key {
			released[i].Steps += stored[0].Steps
			stored = stored[1:]
		}
	}
	return released
}

// keyAt returns the i-th of the Dim keys, which New has seen to be a key of type K.
func (s *releasing[K]) keyAt(i uint64) K {
	if s.params.Listed {
		return s.listed[i]
	}
	key, _ := s.keys.FromBits(i)
	return key
}
