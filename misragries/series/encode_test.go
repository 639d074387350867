package series

import (
	"encoding"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// sampleOf returns a Slice with what a reader computes filled in.
func sampleOf[K int64 | string | int](p Params, r Slice[K]) *Slice[K] {
	r.params, r.calibration, _ = checked[K](p)
	return &r
}

func sampleWords() *Slice[string] {
	return sampleOf(Params{Epsilon: 1, Delta: 1e-6, Discovery: spansOf(24, 168, 672)}, Slice[string]{
		step: 167, keys: []string{"", "pear", "quince"}, since: []int{24, 144, 48}, values: [][]int64{{1, -3, 5}, {0, 7, 30}, {9, -9, 1 << 50}, {5, 60, 0}},
		found: [][]counted[string]{{{"apple", 77}, {"fig", 45}}, {{"", -4}, {"apple", 100}, {"fig", 3}, {"pear", 12}, {"quince", 0}, {"sloe", 45}}},
	})
}

func sampleInts() *Slice[int64] {
	return sampleOf(Params{Epsilon: 0.5, Delta: 1e-9, Spans: spansOf(1, 7), Discovery: spansOf(2, 6), MaxKnown: 5, Retire: 3, MaxElements: 4, Burst: 3}, Slice[int64]{
		step: 9, keys: []int64{math.MinInt64, -1, math.MaxInt64}, since: []int{2, 2, 8}, values: [][]int64{{-1 << 55, 0, 5}}, elements: [][2]int64{{-7, 1 << 40}}, found: [][]counted[int64]{{}},
	})
}

// sampleSketches is what a Builder with sketches releases: at ε = 1000 its noise is 0 but for a
// probability of e^−400.
func sampleSketches() *Slice[string] {
	b, err := New[string](Params{Epsilon: 1000, Delta: 1e-6, Spans: spansOf(1, 3), Counters: 4, Discovery: spansOf(1, 2)})
	if err != nil {
		panic(err)
	}
	for range 30 {
		b.Add("fig")
	}
	for range 3 {
		_, _ = b.Step()
		for range 24 {
			b.Add("fig")
			b.Add("sloe")
		}
	}
	s, err := b.Step()
	if err != nil {
		panic(err)
	}
	return s
}

func sampleCount() *Slice[int] {
	return sampleOf(Params{Epsilon: 1, Dim: 1}.normal(), Slice[int]{step: 3, keys: []int{0}, since: []int{0}, values: [][]int64{{5}, {-2}}})
}

// samples are objects by name: those of the golden files, and one whose bytes are for the most part
// laid down by package misragries.
func samples() map[string]encoding.BinaryMarshaler {
	all := golden()
	all["sketches"] = sampleSketches()
	return all
}

func golden() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{"words.hex": sampleWords(), "ints.hex": sampleInts(), "count.hex": sampleCount()}
}

func TestCodec(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	dptest.Codec[Slice[string]](t, sampleWords(), dptest.DeepEqual)
	dptest.Codec[Slice[int64]](t, sampleInts(), dptest.DeepEqual)
	dptest.Codec[Slice[string]](t, sampleSketches(), func(a, b *Slice[string]) bool {
		return a.String() == b.String() && slices.Equal(encoded(t, a), encoded(t, b))
	})
	dptest.Codec[Slice[int]](t, sampleCount(), dptest.DeepEqual)
}

// encoded returns the encoding, nil for a zero value.
func encoded(t testing.TB, r *Slice[string]) []byte {
	if !r.valid() {
		return nil
	}
	return dptest.OK(r.MarshalBinary())(t)
}

// What is released decodes to the same Slice, and a Timeline of decoded ones has the same windows.
func TestCodecOfReleases(t *testing.T) {
	for i, p := range variants {
		h := simulate(t, p, 24, 40, false, uint64(i))
		l := dptest.OK(NewTimeline[int](p))(t)
		for _, s := range h.slices {
			again, _ := dptest.RoundTrip(t, s)
			if p.Counters == 0 { // else there are empty lists of a Histogram
				require.Equal(t, s, again)
			}
			require.NoError(t, l.Append(again))
		}
		require.Equal(t, dptest.OK(h.timeline(t, 0, 24).Window(3, 20))(t).records, dptest.OK(l.Window(3, 20))(t).records)
	}
}

// The layout is fixed: what is written today can be read by every later version.
// What Plan says of a Slice's length, with known keys and without.
func TestPlannedBytes(t *testing.T) {
	for _, dim := range []int{0, 1, 7} {
		p := plain
		p.MaxElements = dim
		p.Dim, p.Spans, p.Discovery = dim, spansOf(1, 4), spansOf(2)
		if dim > 0 {
			p.Delta, p.Discovery = 0, spansOf()
		}
		b := dptest.OK(New[int](p))(t)
		s := dptest.OK(b.Step())(t)
		data := dptest.OK(s.MarshalBinary())(t)
		require.Len(t, data, dptest.OK(p.Plan())(t).Bytes)
	}
}

func TestGoldenFiles(t *testing.T) { dptest.GoldenDumps(t, golden()) }

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	words := func() *Slice[string] { return sampleWords() }
	dptest.Spoiled(t, words, words, map[string]func(*Slice[string]){
		"bad epsilon":             func(r *Slice[string]) { r.params.Epsilon = math.NaN() },
		"no δ":                    func(r *Slice[string]) { r.params.Delta = 0 },
		"a default":               func(r *Slice[string]) { r.params.Discovery = [maxSpans]int{} },
		"spans that do not nest":  func(r *Slice[string]) { r.params.Spans[1] = 5 },
		"another step":            func(r *Slice[string]) { r.step = 166 },
		"a step after the last":   func(r *Slice[string]) { r.step = maxSteps },
		"keys out of order":       func(r *Slice[string]) { r.keys[0], r.keys[1] = r.keys[1], r.keys[0] },
		"a key twice":             func(r *Slice[string]) { r.keys[1] = "" },
		"known before it is":      func(r *Slice[string]) { r.since[0] = 168 },
		"known from the outset":   func(r *Slice[string]) { r.since[0] = 0 },
		"found between two nodes": func(r *Slice[string]) { r.since[0] = 25 },
		"an impossible count":     func(r *Slice[string]) { r.values[2][1] = math.MinInt64 },
		"shown below":             func(r *Slice[string]) { r.found[0][1].count = 44 },
		"shown out of order":      func(r *Slice[string]) { r.found[0][0].key = "g" },
		"a known key shown":       func(r *Slice[string]) { r.found[0][1].key = "pear" },
		"not corrected":           func(r *Slice[string]) { r.found[1] = r.found[1][1:] },
		"shown impossibly":        func(r *Slice[string]) { r.found[1][0].count = math.MaxInt64 },
	})
	counts := func() *Slice[int] { return sampleCount() }
	dptest.Spoiled(t, counts, counts, map[string]func(*Slice[int]){
		"another key": func(r *Slice[int]) { r.keys[0] = 1 },
		"since later": func(r *Slice[int]) { r.since[0] = 1 },
		"two keys":    func(r *Slice[int]) { r.params.Dim = 2 },
	})
	sketched := func() *Slice[string] { return sampleSketches() }
	dptest.Spoiled(t, sketched, sketched, map[string]func(*Slice[string]){
		"another sketch": func(r *Slice[string]) { r.params.Counters = 5 },
		"another ε":      func(r *Slice[string]) { r.params.Epsilon = 2 },
		"one for two":    func(r *Slice[string]) { r.sketches = r.sketches[:1] },
	})
	encoded := dptest.OK(sampleWords().MarshalBinary())(t)
	require.ErrorIs(t, new(Slice[int]).UnmarshalBinary(encoded), ErrFormat, "another key type")
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

func useDecoded(t *testing.T, data []byte) {
	tryDecode[string](t, data)
	tryDecode[int64](t, data)
	tryDecode[int](t, data)
}

// tryDecode checks that every method works on what decodes, and a Timeline of it.
func tryDecode[K string | int64 | int](t *testing.T, data []byte) {
	r := dptest.Decoded[Slice[K]](t, data)
	if r == nil {
		return
	}
	require.True(t, r.Guarantee().Promises())
	require.NotEmpty(t, r.String())
	n := 0
	for key, x := range r.all() {
		lo, hi := r.interval(key, 0.9)
		require.True(t, lo >= 0 && lo <= max(x, 0) && x <= hi)
		n++
	}
	require.Equal(t, n, r.Len())
	for range r.Found() {
		n++
	}
	l := dptest.OK(NewTimeline[K](r.Params()))(t)
	require.NoError(t, l.Append(r))
	w := dptest.OK(l.Window(r.Step(), r.Step()+1))(t)
	for key := range w.All() {
		lo, hi := w.Interval(key, 0.9)
		require.True(t, lo <= hi)
	}
}
