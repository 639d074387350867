package misragries

import (
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// zipfStream returns n elements and their true counts.
func zipfStream(seed uint64, n int, exponent float64) ([]int, map[int]int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(rng, exponent, 1, 1<<20)
	stream, truth := make([]int, n), map[int]int{}
	for i := range stream {
		stream[i] = int(zipf.Uint64())
		truth[stream[i]]++
	}
	return stream, truth
}

func TestHistogramMethods(t *testing.T) {
	// τ = 17
	h := histogram(Params{Counters: 8, Epsilon: 1, Delta: 1e-6}, 4, []counter[string]{{Key: "a", Count: 30}, {Key: "c", Count: 17}, {Key: "e", Count: 99}})
	require.Equal(t, 3, h.Len())
	require.Equal(t, 17.0, h.threshold())
	require.Equal(t, []string{"a", "c", "e"}, keysOf(h.All()))
	require.Equal(t, 34.0, h.Estimate("a"))
	require.Equal(t, 30.0, h.Lower("a"))
	require.Equal(t, 0.0, h.Lower("b"))
	require.Equal(t, 0.0, h.Estimate("b"))
	for range h.All() {
		break // stopping early is fine
	}
	lo, hi := h.Interval("e", 0.95)
	require.Less(t, lo, 99.0)
	require.Greater(t, hi, 103.0)
	lo, hi = h.Interval("zzz", 0.95)
	require.Zero(t, lo)
	require.Greater(t, hi, 20.0)
	wide, _ := h.Interval("e", 0.999)
	require.Less(t, wide, 99.0)
	for _, bad := range []float64{-0.1, 1, 1.5, math.NaN(), math.Inf(1)} {
		lo, hi = h.Interval("e", bad)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		require.True(t, math.IsNaN(h.DetectionLimit(bad)))
		require.Empty(t, keysOf(h.HeavyHitters(10, bad)))
	}
	require.Equal(t, []string{"e"}, keysOf(h.HeavyHitters(50, 0.95)))
	for threshold, n := range map[float64]int{math.Inf(1): 0, math.Inf(-1): 3, math.MaxFloat64: 0, -math.MaxFloat64: 3} {
		require.Len(t, keysOf(h.HeavyHitters(threshold, 0.95)), n)
	}
	require.Empty(t, keysOf(h.HeavyHitters(math.NaN(), 0.95)))
	require.Contains(t, h.String(), "3 keys")
}

func keysOf[K comparable](seq iter.Seq2[K, float64]) []K {
	var keys []K
	for key := range seq {
		keys = append(keys, key)
	}
	return keys
}

// The zero Histogram, and one after a failed decode, answers everything and has no encoding.
func TestZeroHistogram(t *testing.T) {
	var h Histogram[string]
	require.Error(t, h.UnmarshalBinary([]byte("x")))
	lo, hi := h.Interval("a", 0.9)
	for _, x := range []float64{lo, hi, h.threshold(), h.DetectionLimit(0.9)} {
		require.True(t, math.IsNaN(x))
	}
	require.Empty(t, keysOf(h.HeavyHitters(3, 0.9)))
	require.Zero(t, h.Len())
	require.Zero(t, h.Estimate("a"))
	require.NotEmpty(t, h.String())
	require.ErrorIs(t, dptest.Err(h.MarshalBinary()), ErrFormat)
}
