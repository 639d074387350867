package misragries

import (
	"math"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/baskets"
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
	h, err := b.Release()
	require.NoError(t, err)
	sum, added, held, noughts := 0.0, 0.0, 0, 0
	for key, v := range h.All() {
		sum += math.Abs(v - truth[key])
		added += math.Abs(h.EstimateAs(key, Upper) - truth[key])
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
		require.Equal(t, h.by().reading(h, h.law.counts([]int64{-3, 2, 100, 0}[key]), Upper), v)
	}
}

// The estimate of a key is 0 up to the noise that one key of all is expected to have, and the lower
// end of its interval up to that which one has with the probability by which the end may fail.
func TestChanceIsToBeBeaten(t *testing.T) {
	h := histogram(Params{Counters: 4, Epsilon: 1, Dim: 1000, Method: PureUniverse}, 0, []counter[int]{{Key: 0, Count: 1}})
	for units := int64(1); units < 500; units++ {
		h.counts[0].Count = units
		v := h.law.counts(units)
		require.Equal(t, v < h.law.own(1./1000), h.Estimate(0) == 0)
		lo, _ := h.Interval(0, 0.9)
		if v < h.law.own((1-0.9)/2/1000) {
			require.Zero(t, lo)
		} else {
			require.Equal(t, v-h.law.own((1-0.9)/2), lo)
		}
	}
}

// A sum of reduced sketches, and one alone that is reduced, loses N/(k+1) of each key, and its cost
// says so: with a number where MaxLength is one.
func TestPlanHasWhatIsLost(t *testing.T) {
	p := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}
	without, err := p.Plan(5)
	require.NoError(t, err)
	p.MaxLength = 1_000_000
	with, err := p.Plan(5)
	require.NoError(t, err)
	require.Contains(t, without.Costs[0].String(), "15.45 + N/1025 (from 18.08 + N/1025 with 95 %)")
	require.NotContains(t, with.String(), "N/")
	lost := 1e6 / 1025
	a, b := without.Costs[0], with.Costs[0]
	require.Equal(t, SumThem, b.Way)
	require.InDelta(t, lost, b.Hidden-a.Hidden, 1e-9)
	require.InDelta(t, lost, b.Hidden95-a.Hidden95, 1e-9)
	require.InDelta(t, lost, b.Bias-a.Bias, 1e-9)
	require.Equal(t, without.Costs[len(without.Costs)-1], with.Costs[len(with.Costs)-1], "released each, by KeptZeros")
	require.Equal(t, ReleaseEach, with.Costs[len(with.Costs)-1].Way)
	require.Greater(t, b.Hidden95, with.Costs[len(with.Costs)-1].Hidden95, "the sum is not the better one here")

	p = Params{Counters: 16, Epsilon: 1, Dim: 16, MaxLength: 1700}
	all, err := p.Plan(2)
	require.NoError(t, err)
	for _, c := range all.Costs {
		require.Zero(t, c.Hidden, "all keys are shown")
		require.InDelta(t, 100, c.Bias, 1e-9)
	}
}

// A user's keys beyond MaxKeys do not count, and the interval is of what does.
func TestIntervalIsOfWhatCounts(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	b, err := NewUserBuilder[int](Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxKeys: 3, MaxLength: 10_000})
	require.NoError(t, err)
	for range 2000 {
		b.AddUser([]int{1, 2, 3, 4, 5, 6})
	}
	h, err := b.Release()
	require.NoError(t, err)
	lo, hi := h.Interval(1, 0.999)
	require.True(t, lo <= 1000 && 1000 <= hi && hi < 1900, "[%v, %v]", lo, hi)
}

// The planning methods of Params with MaxKeys are those of a UserBuilder.
func TestPlanningOfUsers(t *testing.T) {
	for _, m := range []int{2, 60} { // single keys, and together
		p := Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxKeys: m}
		b, err := NewUserBuilder[int](p)
		require.NoError(t, err)
		require.Equal(t, b.Guarantee(), p.Guarantee())
		h, err := b.Release()
		require.NoError(t, err)
		require.Equal(t, h.Threshold(), p.Threshold())
		require.Equal(t, h.StdDev(), p.StdDev())
		require.Greater(t, p.ErrorBound(1000, 0.9), 1000./65+p.Threshold())
		single := p
		single.MaxKeys = 0
		require.GreaterOrEqual(t, p.Size(), single.Size())
		require.Equal(t, m == 60, p.Size() > single.Size())
	}
	require.True(t, math.IsNaN(Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxKeys: 65}.Threshold()))
}
