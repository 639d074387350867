package misragries

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestCombine(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	a := histogram(p, 4, []counter[string]{{Key: "a", Count: 30}, {Key: "c", Count: 17}})
	b := histogram(Params{Counters: 16, Epsilon: 2, Delta: 1e-9}, 2, []counter[string]{{Key: "b", Count: 20}, {Key: "c", Count: 50}})
	c := dptest.OK(Combine(a, b))(t)
	require.Equal(t, 3, c.Len())
	require.Equal(t, []string{"a", "b", "c"}, keysOf(c.All()))
	require.Equal(t, 17.0+4+50+2, c.Estimate("c"))
	require.Zero(t, c.Estimate("zzz"))
	for key, v := range c.All() {
		require.Equal(t, c.Estimate(key), v)
		lo, hi := c.Interval(key, 0.9)
		al, ah := a.Interval(key, 0.95)
		bl, bh := b.Interval(key, 0.95)
		require.InDelta(t, al+bl, lo, 1e-12)
		require.InDelta(t, ah+bh, hi, 1e-12)
	}
	for range c.All() {
		break
	}
	require.Equal(t, budget.ApproxDP(2, 1e-6, budget.Element(budget.AddRemove)), c.Guarantee())
	require.Contains(t, c.String(), "3 keys of 2 histograms")
	require.Equal(t, []string{"c", "a"}, keysOf(c.Top(2)))
	lo, hi := c.Interval("a", math.NaN())
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	require.ErrorIs(t, dptest.Err(Combine[string]()), ErrParams)
	for _, bad := range []*Histogram[string]{nil, {}, a} {
		require.ErrorIs(t, dptest.Err(Combine(a, bad)), ErrParams)
	}
	require.ErrorContains(t, dptest.Err(Combine(b, a, a)), "twice")
}

// Has tells the keys that a part released, also where the estimates of two parts cancel, from
// others.
func TestHas(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	a := histogram(p, 4, []counter[int]{{Key: 1, Count: 30}, {Key: 3, Count: 17}})
	b := histogram(p, -34, []counter[int]{{Key: 1, Count: 0}, {Key: 5, Count: 17}})
	c := dptest.OK(Combine(a, b))(t)
	require.Zero(t, c.Estimate(1))
	for key := range 7 {
		require.Equal(t, key == 1 || key == 3, a.Has(key))
		require.Equal(t, key == 1 || key == 5, b.Has(key))
		require.Equal(t, key == 1 || key == 3 || key == 5, c.Has(key))
	}
	require.False(t, new(Histogram[int]).Has(1) || new(Combined[int]).Has(1))
}

// The JSON of a sum has its keys, the largest first, and the guarantee.
func TestCombinedHasJSON(t *testing.T) {
	a := histogram(Params{Counters: 8, Epsilon: 1, Delta: 1e-6}, 4, []counter[string]{{Key: "a", Count: 30}, {Key: "c", Count: 17}})
	b := histogram(Params{Counters: 8, Epsilon: 2, Delta: 1e-6}, 2, []counter[string]{{Key: "c", Count: 50}})
	c := dptest.OK(Combine(a, b))(t)
	var read struct {
		Guarantee struct{ Epsilon float64 }
		Keys      []struct {
			Key                 string
			Estimate, Low, High float64
		}
	}
	require.NoError(t, json.Unmarshal(dptest.OK(json.Marshal(c))(t), &read))
	require.Equal(t, 2.0, read.Guarantee.Epsilon)
	require.Len(t, read.Keys, 2)
	for i, key := range []string{"c", "a"} {
		lo, hi := c.Interval(key, 0.95)
		require.Equal(t, []any{key, c.Estimate(key), lo, hi}, []any{read.Keys[i].Key, read.Keys[i].Estimate, read.Keys[i].Low, read.Keys[i].High})
	}
	require.Contains(t, string(dptest.OK(json.Marshal(Combined[int]{}))(t)), `"keys":[]`)
}
