package threshold

import "github.com/dpsketch/dpsketch/noise"

// release draws the noise in the order of the keys, so that nothing of the release depends on the
// order of arrival.
func (s *state[K]) release() *Vector[K] {
	var released []entry[K]
	beside := s.beside
	switch entries := s.entries(); {
	case s.law.method == DenseLaplace:
		released = s.releaseDense(entries)
	case s.law.method == PureLaplace:
		extra := s.falseKeys(entries)
		released = merge(releaseLaplace(&s.src, s.law, entries, s.params.Signed), extra)
	case s.law.normal():
		var shared int64
		released, shared = releaseNormal(&s.src, s.law, entries)
		beside -= shared
	default:
		released = releaseLaplace(&s.src, s.law, entries, false)
		if s.params.Beside {
			beside += s.law.besideLaplace().SampleInt(&s.src)
		}
	}
	// A slice of its own: behind the end of released lies what is hidden.
	return &Vector[K]{params: s.params, law: s.law, values: append(make([]entry[K], 0, len(released)), released...), beside: beside}
}

// entries returns the keys with a value, sorted. They take the memory of the table, which is not
// used again.
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

// releaseLaplace replaces the entries by what is released of them, in place: by the kernel of
// package rounding, of which a negative value is the mirror image; or, if bothTails is true,
// wherever |v + L| ≥ T. SampleTail has the law of L where T is reached.
func releaseLaplace[K key](src *noise.Source, c calibration, entries []entry[K], bothTails bool) []entry[K] {
	d, kernel, small := c.laplace(), c.kernel(), c.small(src)
	tail := func(least int64) (int64, bool) { return d.SampleTail(src, least) }
	released := entries[:0]
	for _, e := range entries {
		v, shown := int64(0), false
		if bothTails {
			v = e.Steps + d.SampleInt(src)
			shown = max(v, -v) >= c.threshold
		} else {
			v, shown = kernel.Show(e.Steps, tail, small)
		}
		if shown {
			released = append(released, entry[K]{Key: e.Key, Steps: v})
		}
	}
	return released
}

// small returns what draws the numbers by which the kernel rounds values below R.
func (c calibration) small(src *noise.Source) func() int64 {
	if c.method == LinearRounding {
		return func() int64 { return int64(src.Uint64N(uint64(c.from))) }
	}
	d := c.geometric()
	return func() int64 { return d.SampleInt(src) }
}

// geometric returns the law of the size of Laplace noise beyond a point that it has reached.
func (c calibration) geometric() noise.Geometric {
	d, err := noise.NewGeometric(c.scale)
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	return d
}

// releaseNormal is releaseLaplace for normal noise. The noise of all keys is the ideal one, rounded
// to the grid after it is added: v + N ≥ T − ½ before rounding is what reaches T. beside is the
// noise that the number beside takes off: Z and its own.
func releaseNormal[K key](src *noise.Source, c calibration, entries []entry[K]) (released []entry[K], beside int64) {
	d, err := noise.NewCorrelatedGaussian(c.shared, c.scale)
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	own := c.scale
	if c.beside > 0 {
		own = c.beside
	}
	sample, number := d.SamplerBeside(src, 1, own)
	released = entries[:0]
	for _, e := range entries {
		x := int64(sample())
		v := e.Steps + x
		if e.Steps > 0 && v >= c.threshold || e.Steps < 0 && v <= -c.threshold {
			released = append(released, entry[K]{Key: e.Key, Steps: v})
		}
	}
	if c.beside > 0 {
		beside = int64(number())
	}
	return released, beside
}
