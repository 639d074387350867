package surface

import (
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// uuid is a key as the usual packages for UUIDs define it.
type uuid [16]byte

// keyed is a released list.
type keyed interface {
	All() iter.Seq2[uuid, float64]
	Estimate(key uuid) float64
	MarshalBinary() ([]byte, error)
}

// UUIDs are keys everywhere: keys that differ in their first or their last byte alone are told
// apart, come in order, and go through both encodings; with Dim, which is for integers, they are
// refused.
func TestKeysOfSixteenBytes(t *testing.T) {
	first, last, other := uuid{15: 1}, uuid{15: 2}, uuid{0: 0x80, 15: 1}
	const n = 5000 // far above every threshold, at the ε below
	check := func(list keyed, empty interface {
		keyed
		UnmarshalBinary([]byte) error
	}, err error) {
		t.Helper()
		require.NoError(t, err)
		var keys []uuid
		for key, x := range list.All() {
			keys = append(keys, key)
			require.InDelta(t, n, x, n/10)
			require.Equal(t, x, list.Estimate(key))
		}
		require.Equal(t, []uuid{first, last, other}, keys)
		data := dptest.OK(list.MarshalBinary())(t)
		require.NoError(t, empty.UnmarshalBinary(data))
		text := dptest.OK(json.Marshal(list))(t)
		require.Contains(t, string(text), `"key":"80000000000000000000000000000001"`)
		require.NoError(t, json.Unmarshal(text, empty))
		again := dptest.OK(empty.MarshalBinary())(t)
		require.Equal(t, data, again)
	}
	users := dptest.OK(groupby.New[uuid](groupby.Params{Epsilon: 8, Delta: 1e-6}))(t)
	vector := dptest.OK(threshold.New[uuid](threshold.Params{Epsilon: 8, Delta: 1e-6}))(t)
	stream := dptest.OK(misragries.New[uuid](misragries.Params{Epsilon: 8, Delta: 1e-6, Counters: 8}))(t)
	steps := dptest.OK(series.New[uuid](series.Params{Epsilon: 8, Delta: 1e-6, Spans: [8]int{1}, Discovery: [8]int{1}}))(t)
	set := dptest.OK(distinct.New(distinct.Params{Epsilon: 8, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}))(t)
	for range n {
		users.AddUser([]uuid{other, last, first})
		for _, key := range []uuid{other, last, first} {
			vector.Add(key, 1)
			stream.Add(key)
			steps.Add(key)
			distinct.AddKey(set, key)
		}
	}
	groups, err := users.Release()
	check(groups, &groupby.Groups[uuid]{}, err)
	entries, err := vector.Release()
	check(entries, &threshold.Vector[uuid]{}, err)
	counts, err := stream.Release()
	check(counts, &misragries.Histogram[uuid]{}, err)
	slice := dptest.OK(steps.Step())(t)
	data := dptest.OK(slice.MarshalBinary())(t)
	require.NoError(t, new(series.Slice[uuid]).UnmarshalBinary(data))
	require.ErrorIs(t, new(series.Slice[string]).UnmarshalBinary(data), series.ErrFormat)
	count := dptest.OK(set.Release())(t)
	require.InDelta(t, 3, count.Estimate(), 3)

	require.ErrorIs(t, dptest.Err(threshold.New[uuid](threshold.Params{Epsilon: 1, Dim: 10})), threshold.ErrParams)
	require.ErrorIs(t, dptest.Err(misragries.New[uuid](misragries.Params{Epsilon: 1, Dim: 10, Counters: 4})), misragries.ErrParams)
}
