package sparse

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// MaxTotal is where a total saturates, in steps. Noise is below it with all but a probability of
// e^{−1000}.
const MaxTotal = 1 << 61

// releasing is a release that draws from a source.
type releasing[K wire.Key] struct {
	Law
	keys   wire.Keys[K]
	listed []K // sorted, with Params.Listed
	src    *noise.Source
}

// Release releases totals in steps of the grid, at most ±MaxTotal, of distinct keys within Dim, or
// of those listed. It overwrites the entries. It draws the noise in the order of the keys, so that
// nothing of the release depends on that of the entries. The Law is not the zero Law.
//
// With Params.Beside one more number is released, always and with noise; without, the number is
// ignored. The caller promises that it moves against the totals: of two neighbours, one has totals
// that are equal or higher, by at most MaxValue each, and a number that is equal or lower, by at
// most MaxValue. A sketch is an example: its counters, and the number of counts that it lost.
func Release[K wire.Key](src *noise.Source, l Law, entries []Entry[K], beside int64, listed []K) *Vector[K] {
	s, c, signed := releasing[K]{l, wire.KeysOf[K](), listed, src}, l.numbers, l.params.Signed
	entries = slices.DeleteFunc(entries, func(e Entry[K]) bool { return e.Steps == 0 || e.Steps < 0 && !signed })
	sortEntries(entries, s.keys)
	if !l.params.Beside {
		beside = 0
	}
	var released []Entry[K]
	switch {
	case c.method == DenseLaplace:
		released = s.dense(entries)
	case c.method == PureLaplace:
		extra := s.falseKeys(entries)
		released = merge(releaseLaplace(src, c, entries, signed), extra)
	case c.method.normal():
		var shared int64
		released, shared = releaseNormal(src, c, entries)
		beside -= shared
	default:
		released = releaseLaplace(src, c, entries, false)
		if l.params.Beside {
			beside += c.number().laplace().SampleInt(src)
		}
	}
	// A slice of its own: behind the end of released lies what is hidden.
	return &Vector[K]{Law: l, values: append(make([]Entry[K], 0, len(released)), released...), beside: beside}
}

// releaseLaplace replaces the entries by what is released of them, in place: by the kernel of
// package rounding, of which a negative value is the mirror image; or, if bothTails is true,
// wherever |v + L| ≥ T. SampleTail has the law of L where T is reached.
func releaseLaplace[K wire.Key](src *noise.Source, c calibration, entries []Entry[K], bothTails bool) []Entry[K] {
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
			released = append(released, Entry[K]{Key: e.Key, Steps: v})
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
func (c calibration) geometric() noise.Geometric { return must(noise.NewGeometric(c.scale)) }

// releaseNormal is releaseLaplace for normal noise. The noise of all keys is the ideal one, rounded
// to the grid after it is added: v + N ≥ T − ½ before rounding is what reaches T. beside is the
// noise that the number beside takes off: Z and its own.
func releaseNormal[K wire.Key](src *noise.Source, c calibration, entries []Entry[K]) (released []Entry[K], beside int64) {
	law := must(noise.NewCorrelatedGaussian(c.shared, c.scale))
	sample, number := law.SamplerBeside(src, 1, cmp.Or(c.beside, c.scale))
	released = entries[:0]
	for _, e := range entries {
		x := int64(sample())
		v := e.Steps + x
		if e.Steps > 0 && v >= c.threshold || e.Steps < 0 && v <= -c.threshold {
			released = append(released, Entry[K]{Key: e.Key, Steps: v})
		}
	}
	if c.beside > 0 {
		beside = int64(number())
	}
	return released, beside
}
