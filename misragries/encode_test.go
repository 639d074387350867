package misragries

import (
	"encoding"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func sampleWords() *Histogram[string] {
	return histogram(Params{Counters: 8, Epsilon: 1, Delta: 1e-6}, -3, []counter[string]{{Key: "", Count: 17}, {Key: "apple", Count: 130}, {Key: "zebra crossing", Count: 1 << 40}})
}

func sampleInts() *Histogram[int64] {
	return histogram(Params{Counters: 3, Epsilon: 0.5, Delta: 1e-9}, 1<<33, []counter[int64]{{Key: -1 << 63, Count: 48}, {Key: -1, Count: 99}, {Key: 1<<63 - 1, Count: 1<<62 + 12}})
}

// plainSamples are the objects of the golden files, by name.
func plainSamples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{"words.hex": sampleWords(), "ints.hex": sampleInts()}
}

func TestCodec(t *testing.T) {
	dptest.Codec[Histogram[string]](t, sampleWords(), dptest.DeepEqual)
	dptest.Codec[Histogram[int64]](t, sampleInts(), dptest.DeepEqual)
	empty := histogram(Params{Counters: 1, Epsilon: 1, Delta: 0.5}, 0, []counter[string]{})
	dptest.Codec[Histogram[string]](t, empty, dptest.DeepEqual)
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, plainSamples())
}

func TestDecodeIntoAnotherKeyType(t *testing.T) {
	words, _ := sampleWords().MarshalBinary()
	ints, _ := sampleInts().MarshalBinary()
	require.ErrorIs(t, new(Histogram[uint64]).UnmarshalBinary(words), ErrFormat)
	require.ErrorIs(t, new(Histogram[string]).UnmarshalBinary(ints), ErrFormat)
	require.ErrorIs(t, new(Histogram[uint64]).UnmarshalBinary(ints), ErrFormat)
	require.ErrorIs(t, new(Histogram[int32]).UnmarshalBinary(ints), ErrFormat, "a key does not fit")
	small := histogram(Params{Counters: 3, Epsilon: 1, Delta: 1e-6}, 0, []counter[int32]{{Key: -5, Count: 20}, {Key: 9, Count: 17}})
	data, _ := small.MarshalBinary()
	var wide Histogram[int64]
	require.NoError(t, wide.UnmarshalBinary(data), "the same class, and all keys fit")
	require.Equal(t, 20.0, wide.Estimate(-5))
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	spoils := map[string]func(*Histogram[string]){
		"count below the threshold": func(h *Histogram[string]) { h.counts[0].Count = 16 },
		"keys out of order":         func(h *Histogram[string]) { h.counts[0], h.counts[1] = h.counts[1], h.counts[0] },
		"key twice":                 func(h *Histogram[string]) { h.counts[1].Key = "" },
		"more keys than counters":   func(h *Histogram[string]) { h.params.Counters = 2 },
		"no counters":               func(h *Histogram[string]) { h.params.Counters = 0 },
		"too many counters":         func(h *Histogram[string]) { h.params.Counters = maxCounters + 1 },
		"bad epsilon":               func(h *Histogram[string]) { h.params.Epsilon = -1 },
		"bad delta":                 func(h *Histogram[string]) { h.params.Delta = 1 },
		// τ = 25 > 17
		"smaller delta": func(h *Histogram[string]) { h.params.Delta = 1e-9 },
	}
	dptest.Spoiled(t, sampleWords, sampleWords, spoils)
	dptest.Spoiled(t, sampleWords, sampleInts, spoils)
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, plainSamples())
	for _, s := range samples(f) {
		f.Add(dptest.OK(s.h.MarshalBinary())(f))
	}
	f.Add([]byte{})
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, plainSamples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	tryDecode[string](t, data)
	tryDecode[int64](t, data)
	tryDecode[uint32](t, data)
}

// tryDecode checks that every method works on what decodes.
func tryDecode[K string | int64 | uint32](t *testing.T, data []byte) {
	h := dptest.Decoded[Histogram[K]](t, data)
	if h == nil {
		return
	}
	n := 0
	for key, v := range h.All() {
		lo, hi := h.Interval(key, 0.9)
		require.True(t, lo <= hi && v == h.Estimate(key))
		n++
	}
	require.Equal(t, h.Len(), n)
	var absent K
	for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
		lo, hi := h.Interval(absent, confidence)
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
		require.GreaterOrEqual(t, h.DetectionLimit(confidence), 0.0)
	}
	h.HeavyHitters(float64(len(data)), 0.9)
	require.False(t, math.IsNaN(h.stdDev()) || h.stdDev() < 0 || math.IsNaN(h.threshold()))
	require.NotContains(t, h.String()+h.params.Method.String()+h.calibration.input.String(), "NaN")
	require.NotZero(t, h.Guarantee())
	other := *h
	if c, err := Combine(h, &other); err == nil {
		lo, hi := c.Interval(absent, 0.9)
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
		require.Equal(t, h.Len(), c.Len())
		require.NotContains(t, c.String(), "NaN")
		require.True(t, c.Guarantee().Promises())
	}
}
