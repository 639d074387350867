package misragries

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
)

// peek returns private data, nil if they were taken.
func peek[S any](s private.State[S]) *S {
	data := private.Enter(s)
	if data != nil {
		private.Leave(s)
	}
	return data
}

func restored[K string | int](t *testing.T, b *Builder[K], p Params) *Builder[K] {
	t.Helper()
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	c := dptest.OK(New[K](p))(t)
	c.AddSlice(make([]K, 3)) // is replaced
	require.NoError(t, c.RestorePrivateState(data))
	return c
}

func TestPrivateStateOfASum(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6, Method: ReducedSum} // which draws nothing yet
	whole := dptest.OK(NewSum[int](p))(t)
	parts := [2]*Sum[int]{}
	for i := range parts {
		parts[i] = dptest.OK(NewSum[int](p))(t)
	}
	for shard := range 6 {
		for _, to := range []*Sum[int]{whole, parts[shard%2]} {
			b := dptest.OK(New[int](p))(t)
			for i := range 500 {
				b.Add(i % (7 + shard))
			}
			require.NoError(t, to.Add(b))
		}
	}
	data := dptest.OK(parts[1].AppendPrivateState([]byte("prefix")))(t)
	require.True(t, bytes.HasPrefix(data, []byte("prefix")))
	again := dptest.OK(NewSum[int](p))(t)
	require.NoError(t, again.RestorePrivateState(data[len("prefix"):]))
	require.NoError(t, again.Merge(parts[0]))
	parts[0] = dptest.OK(NewSum[int](p))(t)
	require.NoError(t, parts[0].Merge(again), "into an empty one, which takes the table")
	require.ElementsMatch(t, peek(whole.secret).units.Sums(), peek(parts[0].secret).units.Sums())
	require.Equal(t, peek(whole.secret).lost, peek(parts[0].secret).lost)
	require.Equal(t, 6, peek(parts[0].secret).sketches)
}

// Users on two machines: the state of one travels, and both are merged as they would be here.
func TestPrivateStateOfUsers(t *testing.T) {
	for _, p := range []Params{
		{Counters: 8, Epsilon: 1, Delta: 1e-6, MaxElements: 3, Method: SparseVector, Dim: 40},
		{Counters: 8, Epsilon: 1, Dim: 40, MaxElements: 8},
		{Counters: 8, Epsilon: 1, Delta: 1e-6, MaxElements: 2, Method: KeptZeros},
	} {
		half := func(seed int) *UserBuilder[int] {
			b := dptest.OK(NewUserBuilder[int](p))(t)
			for i := range 60 {
				b.AddUser([]int{(seed*i + i) % 17, (i * i) % 17})
			}
			return b
		}
		here, there, again := half(1), half(2), half(3)
		state := dptest.OK(there.AppendPrivateState(nil))(t)
		require.NoError(t, again.RestorePrivateState(state))
		for _, b := range []*UserBuilder[int]{there, again} { // it goes on
			b.AddUser([]int{3, 5})
		}
		require.Equal(t, peek(there.secret).sketch.Append(nil), peek(again.secret).sketch.Append(nil))
		elements := build(t, Params{Counters: 8, Epsilon: 1, Dim: 40, MaxElements: 8}, []int{1})
		require.ErrorIs(t, elements.RestorePrivateState(state), check.ErrFormat)
		if p.Method == KeptZeros {
			require.ErrorIs(t, here.Merge(again), ErrParams)
			continue
		}
		direct := half(1)
		require.NoError(t, direct.Merge(there))
		require.NoError(t, here.Merge(again))
		require.Equal(t, peek(direct.secret).sketch.Append(nil), peek(here.secret).sketch.Append(nil))
	}
}

// Bytes that are no state, or one of other Params, leave the receiver as it is; nothing panics.
func TestRestoreRejects(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-6, Dim: 50}
	b, c := dptest.OK(New[int](p))(t), dptest.OK(New[int](p))(t)
	for i := range 30 {
		b.Add(i % 9)
	}
	sum := dptest.OK(NewSum[int](p))(t)
	require.NoError(t, sum.Add(restored(t, b, p)))
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	for _, q := range []Params{{Counters: 5, Epsilon: 1, Delta: 1e-6, Dim: 50}, {Counters: 4, Epsilon: 2, Delta: 1e-6, Dim: 50}, {Counters: 4, Epsilon: 1, Delta: 1e-6}} {
		require.ErrorIs(t, dptest.OK(New[int](q))(t).RestorePrivateState(data), ErrMismatch)
	}
	words := dptest.OK(New[string](Params{Counters: 4, Epsilon: 1, Delta: 1e-6}))(t)
	require.ErrorIs(t, words.RestorePrivateState(data), check.ErrFormat)
	require.ErrorIs(t, sum.RestorePrivateState(data), check.ErrFormat)
	dptest.Restores(t, b, c, func() {
		for i := range 20 {
			c.Add(i)
		}
		dptest.OK(restored(t, c, p).Release())(t)
	})
	require.ErrorIs(t, b.RestorePrivateState(dptest.OK(sum.AppendPrivateState(nil))(t)), check.ErrFormat)
	var h Histogram[int]
	require.ErrorIs(t, h.UnmarshalBinary(data), check.ErrFormat, "private state is no release")
}
