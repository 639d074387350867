package sparse

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/keytable"
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

// Entry is a key with its total or its released value, in steps.
type Entry[K wire.Key] = keytable.Entry[K]

// radixFrom is the number of entries from which on the radix sort is faster.
const radixFrom = 256

// sortEntries sorts by key.
func sortEntries[K wire.Key](entries []Entry[K], keys wire.Keys[K]) {
	if len(entries) < radixFrom || !keys.Integers() {
		slices.SortFunc(entries, func(a, b Entry[K]) int { return wire.Compare(a.Key, b.Key) })
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	records := make([]record, len(entries))
	for i, e := range entries {
		records[i] = record{keys.Bits(e.Key) ^ flip, e.Steps}
	}
	radixSort(records, make([]record, len(records)))
	for i, r := range records {
		key, _ := keys.FromBits(r.bits ^ flip)
		entries[i] = Entry[K]{Key: key, Steps: r.steps}
	}
}

// record is an entry with an integer key, as unsigned bits in the same order.
type record struct {
	bits  uint64
	steps int64
}

// radixSort sorts by the bits, with as much room beside. It splits by the highest byte in which
// records differ, and goes on with each part.
func radixSort(records, room []record) {
	const few, mask = 24, 1<<8 - 1
	differ := uint64(0)
	for i := range records {
		differ |= records[i].bits ^ records[0].bits
	}
	if len(records) <= few || differ == 0 {
		insertionSort(records)
		return
	}
	shift := max(bits.Len64(differ)-8, 0)
	var ends [mask + 2]uint32 // of each byte one further: where it begins, and then where it ends
	for i := range records {
		ends[records[i].bits>>shift&mask+1]++
	}
	for b := range mask {
		ends[b+1] += ends[b]
	}
	for _, r := range records {
		place := &ends[r.bits>>shift&mask]
		room[*place] = r
		*place++
	}
	copy(records, room)
	start := uint32(0)
	for _, end := range ends[:mask+1] {
		if end > start {
			radixSort(records[start:end], room[start:end])
		}
		start = end
	}
}

func insertionSort(records []record) {
	for i := 1; i < len(records); i++ {
		r, j := records[i], i
		for ; j > 0 && records[j-1].bits > r.bits; j-- {
			records[j] = records[j-1]
		}
		records[j] = r
	}
}

// merge merges two sorted lists of different keys into one.
func merge[K wire.Key](a, b []Entry[K]) []Entry[K] {
	merged := make([]Entry[K], 0, len(a)+len(b))
	for _, e := range a {
		for len(b) > 0 && wire.Compare(b[0].Key, e.Key) < 0 {
			merged, b = append(merged, b[0]), b[1:]
		}
		merged = append(merged, e)
	}
	return append(merged, b...)
}
