package misragries

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
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

// Every promise about true counts, over many releases of one sketch: coverage of the interval for
// released keys, for keys below the threshold and for keys that are not stored; heavy hitters; the
// detection limit. Each may fail with probability 1 − confidence, each binomial test rejects
// falsely with probability 1e-8.
func TestPromisesHoldAtTheirConfidence(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	stream, truth := zipfStream(1, 20_000, 1.2)
	p := Params{Counters: 64, Epsilon: 0.5, Delta: 1e-3}
	s := sketch.New[int](p.Counters)
	for _, key := range stream {
		s.Add(key)
	}
	state, decrements := s.Counters(), s.Decrements()
	require.Greater(t, decrements, int64(20))
	stored := map[int]int64{}
	for _, c := range state {
		stored[c.Key] = c.Count
	}
	watched := []int{0, 3, 12}
	for key, f := range truth {
		// one with a small counter, one with none and the largest count possible
		if c, ok := stored[key]; ok && c > 0 && c < 10 && len(watched) == 3 {
			watched = append(watched, key)
		} else if !ok && f > 5 && len(watched) == 4 {
			watched = append(watched, key)
		}
	}
	require.Len(t, watched, 5)

	const confidence = 0.9
	// times 1 − confidence, the number of failures that is exceeded with a probability below 1e-20,
	// by Chernoff
	releases, most := 4000, 1.5
	if !dptest.Long() {
		releases, most = 800, 2 // the same, below 1e-15
	}
	failures := map[string]int64{}
	var src noise.Source
	var widths float64
	for range releases {
		h := releaseOne(&src, p, state, decrements)
		for _, key := range watched {
			lo, hi := h.Interval(key, confidence)
			if f := float64(truth[key]); f < lo || f > hi {
				failures[fmt.Sprint("interval of ", key)]++
			}
			widths += hi - lo
		}
		for _, threshold := range []float64{50, 150, 400} {
			for key := range h.HeavyHitters(threshold, confidence) {
				if float64(truth[key]) < threshold {
					failures[fmt.Sprint("false positive at ", threshold)]++
					break
				}
			}
		}
		limit := h.DetectionLimit(confidence)
		all := maps.Collect(h.All())
		for key, f := range truth {
			if _, ok := all[key]; float64(f) >= limit && !ok {
				failures["detection limit"]++
				break
			}
		}
	}
	for name, n := range failures {
		if float64(n) > float64(releases)*(1-confidence) {
			dptest.Tail(t, name, n, int64(releases), 1-confidence, 1e-10)
		}
		require.LessOrEqual(t, float64(n), most*float64(releases)*(1-confidence), name)
	}
	// The bounds are not vacuous: the interval is about D plus a few standard deviations wide.
	require.Less(t, widths/float64(releases)/float64(len(watched)), float64(decrements)+10*lawOf(p).stdDev())
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
