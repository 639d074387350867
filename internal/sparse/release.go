package sparse

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
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
	SortEntries(entries)
	return ReleaseSorted(src, l, entries, beside, listed)
}

// ReleaseSorted is [Release] of entries that the caller always has sorted by key.
func ReleaseSorted[K wire.Key](src *noise.Source, l Law, entries []Entry[K], beside int64, listed []K) *Vector[K] {
	s, c, signed := releasing[K]{l, wire.KeysOf[K](), listed, src}, l.numbers, l.params.Signed
	entries = slices.DeleteFunc(entries, func(e Entry[K]) bool { return e.Steps == 0 || e.Steps < 0 && !signed })
	if !l.params.Beside {
		beside = 0
	}
	var released []Entry[K]
	switch {
	case c.method == DenseLaplace:
		released = s.dense(entries)
	case c.method == PureLaplace:
		extra := s.falseKeys(entries)
		released = merge(s.keys, releaseLaplace(src, c, entries, signed), extra)
	case c.method.normal():
		var shared int64
		released, shared = releaseNormal(src, c, entries)
		beside -= shared
	default:
		released = releaseLaplace(src, c, entries, false)
		if l.params.Beside {
			beside += c.number().Sample(src)
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

// geometric returns the distribution of the size of Laplace noise beyond a point that it has
// reached.
func (c calibration) geometric() noise.Geometric {
	d, _ := noise.NewGeometric(c.scale)
	return d
}

// releaseNormal is releaseLaplace for normal noise. The noise of all keys is the ideal one, rounded
// to the grid after it is added: v + N ≥ T − ½ before rounding is what reaches T. beside is the
// noise that the number beside takes off: Z and its own.
func releaseNormal[K wire.Key](src *noise.Source, c calibration, entries []Entry[K]) (released []Entry[K], beside int64) {
	law, err := noise.NewCorrelatedGaussian(c.shared, c.scale)
	if err != nil { // of an invalid calibration
		return nil, int64(src.Uint64())
	}
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

// SortEntries sorts by key. Entries of one key stay in their order. The time does not tell whether
// they were sorted before.
func SortEntries[K wire.Key](entries []Entry[K]) {
	keys := wire.KeysOf[K]()
	switch {
	case len(entries) < radixFrom:
		sortByComparing(keys, entries)
		return
	case !keys.Integers():
		sortByWords(entries, make([]Entry[K], len(entries)), make([]record, 2*len(entries)), keys, 0)
		return
	}
	if records, ok := any(entries).([]record); ok {
		keytable.Sort(records, make([]record, len(records)))
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	records := make([]record, len(entries))
	for i, e := range entries {
		records[i] = record{Key: keys.Bits(e.Key) ^ flip, Steps: e.Steps}
	}
	keytable.Sort(records, make([]record, len(records)))
	for i, r := range records {
		key, _ := keys.FromBits(r.Key ^ flip)
		entries[i] = Entry[K]{Key: key, Steps: r.Steps}
	}
}

// sortByComparing sorts few entries.
func sortByComparing[K wire.Key](keys wire.Keys[K], entries []Entry[K]) {
	slices.SortStableFunc(entries, func(a, b Entry[K]) int { return keys.Compare(a.Key, b.Key) })
}

// sortByWords sorts entries of texts or arrays that agree in the bytes before from: by their next
// eight bytes, those that agree in these by the next eight, and so on. There is room for as many
// entries, and for twice as many records.
func sortByWords[K wire.Key](entries, room []Entry[K], records []record, keys wire.Keys[K], from int) {
	n, longer := len(entries), false
	for i := range entries {
		word, more := keys.Word(entries[i].Key, from)
		records[i], longer = record{Key: word, Steps: int64(i)}, longer || more
	}
	keytable.Sort(records[:n], records[n:2*n])
	for i, r := range records[:n] {
		room[i] = entries[r.Steps]
	}
	copy(entries, room)
	for end, start := n, n; end > 0; end = start { // from the end: records behind are free
		for start = end - 1; start > 0 && records[start-1].Key == records[end-1].Key; start-- {
		}
		same := entries[start:end]
		if longer && len(same) >= radixFrom/8 {
			sortByWords(same, room, records[start:], keys, from+8)
		} else if len(same) > 1 { // few, or they differ in zeros at their ends
			sortByComparing(keys, same)
		}
	}
}

// record is an entry with an integer key, as unsigned bits in the same order; or the number of one
// with another key, and eight bytes of that.
type record = Entry[uint64]

// merge merges two sorted lists of different keys into one.
func merge[K wire.Key](keys wire.Keys[K], a, b []Entry[K]) []Entry[K] {
	merged := make([]Entry[K], 0, len(a)+len(b))
	for _, e := range a {
		for len(b) > 0 && keys.Compare(b[0].Key, e.Key) < 0 {
			merged, b = append(merged, b[0]), b[1:]
		}
		merged = append(merged, e)
	}
	return append(merged, b...)
}

// Vector is a released sparse vector, see threshold.Vector, with its Law.
type Vector[K wire.Key] struct {
	Law
	values []Entry[K] // sorted by key
	beside int64      // in steps, with noise; 0 unless Params.Beside
}

// Beside returns the noisy number beside the keys, see [Release]; 0 where there is none. It may be
// negative. With CorrelatedGaussian its noise contains that which the values share, with the
// opposite sign, so the sum of a value and the number is less noisy than either.
func (v *Vector[K]) Beside() float64 { return float64(v.beside) * v.numbers.step }

// Len returns the number of released keys.
func (v *Vector[K]) Len() int { return len(v.values) }

// All yields the released keys and their noisy values, in the units of the data, sorted by key.
func (v *Vector[K]) All() iter.Seq2[K, float64] {
	return wire.AllKeys(len(v.values), func(i int) (K, float64) { return v.values[i].Key, v.value(v.values[i]) })
}

// value returns a released value in the units of the data.
func (v *Vector[K]) value(e Entry[K]) float64 { return float64(e.Steps) * v.numbers.step }

// Estimate returns the noisy value of the key, in the units of the data, or 0 if it was not
// released.
func (v *Vector[K]) Estimate(key K) float64 {
	e, _ := v.find(key)
	return v.value(e)
}

// Has reports whether the key was released.
func (v *Vector[K]) Has(key K) bool {
	_, found := v.find(key)
	return found
}

func (v *Vector[K]) find(key K) (e Entry[K], found bool) {
	keys := wire.KeysOf[K]()
	i, found := slices.BinarySearchFunc(v.values, key, func(e Entry[K], key K) int { return keys.Compare(e.Key, key) })
	if found {
		e = v.values[i]
	}
	return e, found
}

// Interval is threshold.Vector.Interval.
//
// Let c be the least number that the noise exceeds in absolute value with probability at most 1 −
// confidence. For a released value o, the true one is in [o − c, o + c], and where δ > 0 it has the
// sign of o. Rounding may have raised a value below R to R before the noise, so where o − c ≤ R the
// interval includes such values too, except those that are released with probability at most 1 −
// confidence. The value of a key that is absent is below the threshold + c, in absolute value if
// Signed.
func (v *Vector[K]) Interval(key K, confidence float64) (lo, hi float64) {
	law := v.numbers
	if !check.Confidence(confidence) || law.method == Auto {
		return math.NaN(), math.NaN()
	}
	c := law.reach(1 - confidence)
	e, found := v.find(key)
	low, high := e.Steps-c, e.Steps+c
	switch {
	case found && law.method.pure():
	case law.method == DenseLaplace: // a key outside Dim
		low, high = 0, 0
	case !found:
		high = law.threshold - 1 + c
		low = -high
	case e.Steps > 0 && low <= law.from:
		low = law.least(confidence)
	case e.Steps < 0 && high >= -law.from:
		high = -law.least(confidence)
	}
	if !v.params.Signed {
		low, high = max(low, 0), max(high, 0)
	}
	return float64(low) * law.step, float64(high) * law.step
}

// least returns the least size that a released value is taken to have had, in steps.
func (c calibration) least(confidence float64) int64 {
	if c.from > 1 && c.laplace().Survival(float64(c.threshold-c.from)-0.5) <= 1-confidence {
		return c.from
	}
	return 1
}

// Steps returns the released keys, sorted, with their noisy values in steps, and the number beside
// them. They are the vector's own.
func (v *Vector[K]) Steps() (entries []Entry[K], beside int64) { return v.values, v.beside }

// VectorOf returns the vector that has these Steps.
func VectorOf[K wire.Key](l Law, entries []Entry[K], beside int64) *Vector[K] {
	return &Vector[K]{l, entries, beside}
}

// What follows draws the coordinates without a value, of which the pure mechanisms have d minus a
// few. PureLaplace never loops over them: the number N of those whose noise reaches T is binomial,
// the N keys are a uniform set, and beyond T the noise is geometric, as Pr[L ≥ T + n | L ≥ T] is
// q^n. A loop would have the same distribution.

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
