package dptest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Movable is a Builder whose private data can be moved between machines.
type Movable interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(data []byte) error
}

// Restores checks that the state of from moves whole into to, which has equal Params; that every
// truncation, and a byte more, is refused with check.ErrFormat and changes nothing; that a state
// with any one bit flipped is refused too, or is another valid state with these very bytes, on
// which use works; and that the others, of another kind or of other Params, refuse it.
func Restores(t testing.TB, from, to Movable, use func(), others ...Movable) {
	t.Helper()
	data, err := from.AppendPrivateState([]byte("prefix"))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(data, []byte("prefix")))
	data = data[len("prefix"):]
	require.NoError(t, to.RestorePrivateState(data))
	state := func() []byte {
		again, err := to.AppendPrivateState(nil)
		require.NoError(t, err)
		return again
	}
	require.Equal(t, data, state())
	for n := range data {
		require.ErrorIs(t, to.RestorePrivateState(data[:n]), check.ErrFormat)
	}
	require.ErrorIs(t, to.RestorePrivateState(append(bytes.Clone(data), 0)), check.ErrFormat)
	require.Equal(t, data, state())
	for _, other := range others {
		require.Error(t, other.RestorePrivateState(data), "of another kind, or of other Params")
	}
	for bit := range 8 * len(data) {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		if to.RestorePrivateState(flipped) == nil {
			require.Equal(t, flipped, state())
			use()
		}
	}
	require.NoError(t, to.RestorePrivateState(data))
}

// RestoresOrStays gives a Builder any bytes as its private state, those of a fuzz target say, and
// reports whether it took them: then its state is these very bytes, else the one before.
func RestoresOrStays(t testing.TB, b Movable, data []byte) (restored bool) {
	t.Helper()
	want, err := b.AppendPrivateState(nil)
	require.NoError(t, err)
	if restored = b.RestorePrivateState(data) == nil; restored {
		want = data
	}
	state, err := b.AppendPrivateState(nil)
	require.NoError(t, err)
	require.Equal(t, want, state)
	return restored
}
