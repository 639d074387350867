package surface

import (
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
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
		data, err := list.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, empty.UnmarshalBinary(data))
		text, err := json.Marshal(list)
		require.NoError(t, err)
		require.Contains(t, string(text), `"key":"80000000000000000000000000000001"`)
		require.NoError(t, json.Unmarshal(text, empty))
		again, err := empty.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again)
	}
	users, err := groupby.New[uuid](groupby.Params{Epsilon: 8, Delta: 1e-6})
	require.NoError(t, err)
	vector, err := threshold.New[uuid](threshold.Params{Epsilon: 8, Delta: 1e-6})
	require.NoError(t, err)
	stream, err := misragries.New[uuid](misragries.Params{Epsilon: 8, Delta: 1e-6, Counters: 8})
	require.NoError(t, err)
	steps, err := series.New[uuid](series.Params{Epsilon: 8, Delta: 1e-6, Spans: [8]int{1}, Discovery: [8]int{1}})
	require.NoError(t, err)
	set, err := distinct.New(distinct.Params{Epsilon: 8, Cells: 64, Levels: 8, Seed: hashing.Seed{1}})
	require.NoError(t, err)
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
	slice, err := steps.Step()
	require.NoError(t, err)
	data, err := slice.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(series.Slice[uuid]).UnmarshalBinary(data))
	require.ErrorIs(t, new(series.Slice[string]).UnmarshalBinary(data), series.ErrFormat)
	count, err := set.Release()
	require.NoError(t, err)
	require.InDelta(t, 3, count.Estimate(), 3)

	_, err = threshold.New[uuid](threshold.Params{Epsilon: 1, Dim: 10})
	require.ErrorIs(t, err, threshold.ErrParams)
	_, err = misragries.New[uuid](misragries.Params{Epsilon: 1, Dim: 10, Counters: 4})
	require.ErrorIs(t, err, misragries.ErrParams)
}
