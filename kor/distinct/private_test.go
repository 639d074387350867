package distinct

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// movable is what can be moved between machines.
type movable interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(data []byte) error
	Add(keys ...uint64)
}

// restores checks that a state moves whole, that bytes that are none change nothing, and that
// nothing panics.
func restores(t *testing.T, from, to movable, others ...movable) {
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
		require.ErrorIs(t, to.RestorePrivateState(data[:n]), ErrFormat)
	}
	require.ErrorIs(t, to.RestorePrivateState(append(bytes.Clone(data), 0)), ErrFormat)
	require.Equal(t, data, state())
	for _, other := range others {
		require.Error(t, other.RestorePrivateState(data), "of another kind, or of other Params")
	}
	for bit := range 8 * len(data) {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		if to.RestorePrivateState(flipped) == nil {
			require.Equal(t, flipped, state())
			to.Add(1, 2, 3)
		}
	}
	require.NoError(t, to.RestorePrivateState(data))
}

func TestPrivateStates(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 70, Levels: 3, Seed: small.Seed, CountShare: 1}
	q := p
	q.Cells++
	running, windows := runningBuilder(t, p), windowBuilder(t, p, 100)
	running.Add(run(0, 50)...)
	windows.Add(run(0, 50)...)
	first, err := running.ReleaseSlot()
	require.NoError(t, err)
	running.Add(run(50, 80)...)
	require.NoError(t, windows.Advance(110))
	windows.Add(run(50, 80)...)
	_, err = windows.Release()
	require.NoError(t, err)

	again := runningBuilder(t, p)
	again.Add(run(500, 600)...)
	restores(t, running, again, runningBuilder(t, q), windowBuilder(t, p, 1), builder(t, p))
	require.Equal(t, first.ones, heldRunning(again).released)
	second, err := again.ReleaseSlot()
	require.NoError(t, err)
	require.Equal(t, 2, second.Slots())
	require.Equal(t, ones(heldRunning(running).table), heldRunning(again).ones)

	later := windowBuilder(t, p, 3)
	later.Add(run(500, 600)...)
	restores(t, windows, later, windowBuilder(t, q, 110), runningBuilder(t, p), builder(t, p))
	_, err = later.Release()
	require.ErrorIs(t, err, ErrReleased, "this day has been released")
	require.NoError(t, later.Advance(111))
	require.NoError(t, windows.Advance(111))
	require.Equal(t, heldWindows(windows).stamps, heldWindows(later).stamps)
	restores(t, builder(t, p, run(0, 40)...), builder(t, p), builder(t, q), runningBuilder(t, p), windowBuilder(t, p, 1))

	for _, zero := range []movable{&RunningBuilder{}, &WindowBuilder{}, &Builder{}} {
		_, err := zero.AppendPrivateState(nil)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorIs(t, zero.RestorePrivateState(nil), ErrReleased)
	}
}
