package threshold

import "github.com/dpsketch/dpsketch/noise"

// release draws the noise in the order of the keys, so that nothing of the release depends on the order of arrival.
func (s *state[K]) release() *Vector[K] {
	var released []entry[K]
	switch entries := s.entries(); {
	case s.law.mechanism == DenseLaplace:
		released = s.releaseDense(entries)
	case s.law.mechanism == PureLaplace:
		extra := s.falseKeys(entries)
		released = merge(releaseLaplace(&s.src, s.law, entries, s.params.Signed), extra)
	case s.law.normal():
		released = releaseNormal(&s.src, s.law, entries)
	default:
		released = releaseLaplace(&s.src, s.law, entries, false)
	}
	// A slice of its own: behind the end of released lies what is hidden.
	return &Vector[K]{params: s.params, law: s.law, values: append(make([]entry[K], 0, len(released)), released...)}
}

// entries returns the keys with a value, sorted. They take the memory of the table, which is not used again.
func (s *state[K]) entries() []entry[K] {
	all := s.totals.Entries()
	entries := all[:0]
	for _, e := range all {
		if e.Steps > 0 || e.Steps < 0 && s.params.Signed {
			entries = append(entries, e)
		}
	}
	sortEntries(entries, s.keys)
	return entries
}

// releaseLaplace replaces the entries by what is released of them, in place: of a value ≥ R, v + L where that is ≥ T, of a smaller one R + L,
// with the probability g(v) of rounding up. SampleTail has the law of L where T is reached. A negative value is released
// as its mirror image; or, if bothTails is true, wherever |v + L| ≥ T.
func releaseLaplace[K key](src *noise.Source, c calibration, entries []entry[K], bothTails bool) []entry[K] {
	d := c.laplace()
	released := entries[:0]
	for _, e := range entries {
		if bothTails {
			if v := e.Steps + d.SampleInt(src); max(v, -v) >= c.threshold {
				released = append(released, entry[K]{Key: e.Key, Steps: v})
			}
			continue
		}
		size := max(e.Steps, -e.Steps)
		base := max(size, c.from)
		x, shown := d.SampleTail(src, c.threshold-base)
		if !shown || size < c.from && !c.roundsUp(src, size) {
			continue
		}
		if e.Steps < 0 {
			released = append(released, entry[K]{Key: e.Key, Steps: -(base + x)})
		} else {
			released = append(released, entry[K]{Key: e.Key, Steps: base + x})
		}
	}
	return released
}

// roundsUp decides whether a value 0 < v < R counts as R: true with probability exactly g(v).
//
// Linear: a uniform integer below R is below v. Exponential: with q = e^{−1/b} and G geometric, Pr[G ≥ n] = q^n, the remainder G mod R is
// j < R with probability proportional to q^j, so it is at least R − v with probability (q^{R−v} − q^R)/(1 − q^R) = (e^{v/b}−1)/(e^{R/b}−1).
func (c calibration) roundsUp(src *noise.Source, v int64) bool {
	if c.mechanism == LinearRounding {
		return src.Uint64N(uint64(c.from)) < uint64(v)
	}
	return c.geometric().SampleInt(src)%c.from >= c.from-v
}

// geometric returns the law of the size of Laplace noise beyond a point that it has reached.
func (c calibration) geometric() noise.Geometric {
	d, err := noise.NewGeometric(c.scale)
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	return d
}

// releaseNormal is releaseLaplace for normal noise. The noise of all keys is the ideal one, rounded to the grid after it is added:
// v + N ≥ T − ½ before rounding is what reaches T.
func releaseNormal[K key](src *noise.Source, c calibration, entries []entry[K]) []entry[K] {
	d, err := noise.NewCorrelatedGaussian(c.shared, c.scale)
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	sample := d.Sampler(src, 1)
	released := entries[:0]
	for _, e := range entries {
		x := int64(sample())
		v := e.Steps + x
		if e.Steps > 0 && v >= c.threshold || e.Steps < 0 && v <= -c.threshold {
			released = append(released, entry[K]{Key: e.Key, Steps: v})
		}
	}
	return released
}
