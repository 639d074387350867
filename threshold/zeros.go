package threshold

// This file draws the coordinates without a value, of which the pure mechanisms have d minus a few. PureLaplace never loops over
// them: the number N of those whose noise reaches T is binomial, the N keys are a uniform set, and beyond T the noise is geometric, as
// Pr[L ≥ T + n | L ≥ T] = q^n. That is the law of the loop.

// falseKeys returns the released ones of so many keys without a value.
func (s *state[K]) falseKeys(zeros uint64) []entry[K] {
	d, beyond := s.law.laplace(), s.law.geometric()
	count := d.CountTail
	if s.params.Signed {
		count = d.CountTails
	}
	released := s.distinctZeros(count(&s.src, zeros, s.law.threshold), zeros)
	for i := range released {
		v := s.law.threshold + beyond.SampleInt(&s.src)
		if s.params.Signed && s.src.Uint64()&1 != 0 {
			v = -v
		}
		released[i].steps = v
	}
	return released
}

// distinctZeros returns a uniform set of n of the keys without a value, of which there are zeros.
func (s *state[K]) distinctZeros(n, zeros uint64) []entry[K] {
	if zeros < s.params.Dim/2 {
		return s.shuffledZeros(n)
	}
	// At least half of all keys are zeros, so most draws hit one, and n is far below zeros.
	released := make([]entry[K], 0, n)
	drawn := make(map[K]struct{}, n)
	for uint64(len(released)) < n {
		key := s.keyAt(s.src.Uint64N(s.params.Dim))
		if _, again := drawn[key]; again || s.hasValue(s.totals[key]) {
			continue
		}
		drawn[key] = struct{}{}
		released = append(released, entry[K]{key: key})
	}
	return released
}

// shuffledZeros is distinctZeros where the keys with a value are more than half of all: it lists the others.
func (s *state[K]) shuffledZeros(n uint64) []entry[K] {
	var all []entry[K]
	for i := range s.params.Dim {
		if key := s.keyAt(i); !s.hasValue(s.totals[key]) {
			all = append(all, entry[K]{key: key})
		}
	}
	for i := range n {
		j := i + s.src.Uint64N(uint64(len(all))-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:n]
}

// releaseDense adds noise to all coordinates and releases them all.
func (s *state[K]) releaseDense() []entry[K] {
	d := s.law.laplace()
	released := make([]entry[K], s.params.Dim)
	for i := range released {
		key := s.keyAt(uint64(i))
		total := s.totals[key]
		if !s.hasValue(total) {
			total = 0
		}
		released[i] = entry[K]{key, total + d.SampleInt(&s.src)}
	}
	return released
}

// keyAt returns the i-th of the Dim keys, which New has seen to be a key of type K.
func (s *state[K]) keyAt(i uint64) K {
	key, _ := s.keys.FromBits(i)
	return key
}
