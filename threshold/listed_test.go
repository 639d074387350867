package threshold

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Every listed key is released, of whatever type, with its value or 0 and Laplace noise, sorted;
// nothing else is. There is no δ.
func TestListedKeys(t *testing.T) {
	words := []string{"pear", "apple", "", "fig", "apple"}
	b := dptest.OK(NewListed(Params{Epsilon: 1, Integers: true}, words...))(t)
	require.Equal(t, 1.0, b.Guarantee().EpsilonAt(0))
	require.Equal(t, budget.L1(1), b.Guarantee().Unit())
	b.Grow(10)
	b.Add("fig", 1000)
	b.Add("plum", 5000) // none of the list, as the next one, which comes before them
	b.Add("banana", 5000)
	b.Add("", -7000)
	v := dptest.OK(b.Release())(t)
	var keys []string
	for key := range v.All() {
		keys = append(keys, key)
	}
	require.Equal(t, []string{"", "apple", "fig", "pear"}, keys)
	dptest.Alarm(t, 2e-11) // e^{−27}, for four values of which one may be below 0
	require.InDelta(t, 1000, v.Estimate("fig"), 27)
	require.InDelta(t, 0, v.Estimate("pear"), 27)
	require.Zero(t, v.Estimate("plum"))
	require.Equal(t, DenseLaplace, v.Params().Method)
	data, size := dptest.RoundTrip(t, v, "words")
	require.Equal(t, v, data)
	require.Positive(t, size)

	signed := dptest.OK(NewListed(Params{Epsilon: 1, Integers: true, Signed: true, MaxKeys: 2}, int64(-5), math.MaxInt64, math.MinInt64))(t)
	signed.Add(-5, -900)
	signed.Add(5, -900)
	w := dptest.OK(signed.Release())(t)
	require.Equal(t, 3, w.Len())
	require.InDelta(t, -900, w.Estimate(-5), 54)
	require.Equal(t, budget.User(2, budget.AddRemove), w.Guarantee().Unit())
}

func TestListsAreChecked(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Dim: 2}, {Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Method: PureLaplace}, {}, {Epsilon: 1, FalseKeys: 3},
	} {
		require.ErrorIs(t, dptest.Err(NewListed(p, "a", "b")), ErrParams, "%+v", p)
	}
	require.ErrorIs(t, dptest.Err(NewListed[string](Params{Epsilon: 1})), ErrParams)
	list := []string{"b", "a"}
	b := dptest.OK(NewListed(Params{Epsilon: 1}, list...))(t)
	list[0] = "c"
	slices.Sort(list)
	v := dptest.OK(b.Release())(t)
	lo, hi := v.Interval("b", 0.9)
	require.LessOrEqual(t, lo, hi) // both are 0 where the noise is far below
	require.Equal(t, []string{"a", "b"}, keysOf(v))
	again := v.Params() // they do not have the list, and without it they are none
	require.ErrorIs(t, dptest.Err(New[int](again)), ErrParams)
	again.MaxKeys = 1
	require.ErrorIs(t, dptest.Err(NewBounded[int](again)), ErrParams)
	plan := dptest.OK(v.Params().Plan())(t)
	require.True(t, math.IsInf(plan.Threshold, -1))
	require.True(t, plan.Params.Guarantee().Equal(v.Guarantee()))
}

func keysOf(v *Vector[string]) (keys []string) {
	for key := range v.All() {
		keys = append(keys, key)
	}
	return keys
}
