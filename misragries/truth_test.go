package misragries

import (
	"math"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/baskets"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// Most of the k keys that PureUniverse shows are shown for their noise alone. Their estimates are 0
// then, and bounds hold as often beside shown keys as they say, for a fixed seed.
func TestUniverseOfRetail(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	p := Params{Counters: 1024, Epsilon: 1, Dim: 1 << 20}
	truth := map[int]float64{}
	b := build[int](t, p, nil)
	for _, basket := range baskets.Retail() {
		for _, key := range basket {
			b.Add(key)
			truth[key]++
		}
	}
	h := dptest.OK(b.Release())(t)
	sum, added, held, noughts := 0.0, 0.0, 0, 0
	for key, v := range h.All() {
		sum += math.Abs(v - truth[key])
		added += math.Abs(h.Lower(key) + h.calibration.counts(h.lost) - truth[key])
		lo, hi := h.Interval(key, 0.9)
		require.True(t, lo <= v && v <= hi)
		if lo <= truth[key] && truth[key] <= hi {
			held++
		}
		if truth[key] == 0 {
			noughts++
		}
	}
	n := float64(h.Len())
	t.Logf("mean error %.1f, %.1f with the undercount, %d of %.0f intervals hold, %d do not occur", sum/n, added/n, held, n, noughts)
	require.Greater(t, noughts, 700)
	require.Less(t, sum, added/10)
	require.GreaterOrEqual(t, float64(held), 0.9*n)
}

// Where all keys are shown none is chosen for its noise.
func TestNoChanceOfAllKeys(t *testing.T) {
	h := histogram(Params{Counters: 4, Epsilon: 1, Dim: 4, Method: PureUniverse}, 0, []counter[int]{{Key: 0, Count: -3}, {Key: 1, Count: 2}, {Key: 2, Count: 100}, {Key: 3, Count: 0}})
	for key, v := range h.All() {
		require.Equal(t, h.calibration.counts([]int64{-3, 2, 100, 0}[key]), v)
	}
}

// The estimate of a key is 0 up to the noise that one key of all is expected to have, and the lower
// end of its interval up to that which one has with the probability by which the end may fail.
func TestChanceIsToBeBeaten(t *testing.T) {
	h := histogram(Params{Counters: 4, Epsilon: 1, Dim: 1000, Method: PureUniverse}, 0, []counter[int]{{Key: 0, Count: 1}})
	for units := int64(1); units < 500; units++ {
		h.counts[0].Count = units
		v := h.calibration.counts(units)
		require.Equal(t, v < h.calibration.own(1./1000), h.Estimate(0) == 0)
		lo, _ := h.Interval(0, 0.9)
		if v < h.calibration.own((1-0.9)/2/1000) {
			require.Zero(t, lo)
		} else {
			require.Equal(t, v-h.calibration.own((1-0.9)/2), lo)
		}
	}
}

// A user's keys beyond MaxElements do not count, and the interval is of what does.
func TestIntervalIsOfWhatCounts(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	b := dptest.OK(NewUserBuilder[int](Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: 3, MaxLength: 10_000}))(t)
	for range 2000 {
		b.AddUser([]int{1, 2, 3, 4, 5, 6})
	}
	h := dptest.OK(b.Release())(t)
	lo, hi := h.Interval(1, 0.999)
	require.True(t, lo <= 1000 && 1000 <= hi && hi < 1900, "[%v, %v]", lo, hi)
}
