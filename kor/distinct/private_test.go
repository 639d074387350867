package distinct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// restarted is a builder of many releases that begins anew with each state, as one that goes on
// takes only later ones.
type restarted[B interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(data []byte, published int) error
}] struct {
	b         B
	fresh     func() B
	published int
}

func (s *restarted[B]) AppendPrivateState(dst []byte) ([]byte, error) {
	return s.b.AppendPrivateState(dst)
}

func (s *restarted[B]) RestorePrivateState(data []byte) error {
	b := s.fresh()
	err := b.RestorePrivateState(data, s.published)
	if err == nil {
		s.b = b
	}
	return err
}

func TestPrivateStates(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 70, Levels: 3, Seed: small.Seed, CountShare: 1}
	q := p
	q.Cells++
	runs := func(p Params) *restarted[*RunningBuilder] {
		fresh := func() *RunningBuilder { return runningBuilder(t, p) }
		return &restarted[*RunningBuilder]{fresh(), fresh, 1}
	}
	winds := func(p Params) *restarted[*WindowBuilder] {
		fresh := func() *WindowBuilder { return windowBuilder(t, p, 300) }
		return &restarted[*WindowBuilder]{fresh(), fresh, 110}
	}
	running, windows := runs(p), winds(p)
	windows.b = windowBuilder(t, p, 100)
	running.b.Add(run(0, 50)...)
	windows.b.Add(run(0, 50)...)
	first := dptest.OK(running.b.Step())(t)
	running.b.Add(run(50, 80)...)
	require.NoError(t, windows.b.Advance(110))
	windows.b.Add(run(50, 80)...)
	dptest.OK(windows.b.Release())(t)

	again := runs(p)
	again.b.Add(run(500, 600)...)
	dptest.Restores(t, running, again, func() { again.b.Add(1, 2, 3) }, runs(q), winds(p), builder(t, p))
	require.Equal(t, first.numbers, numbers{held(again.b.secret).released})
	second := dptest.OK(again.b.Step())(t)
	require.Equal(t, 2, second.Slots())
	require.Equal(t, ones(held(running.b.secret).table), held(again.b.secret).closed)

	later := winds(p)
	later.b.Add(run(500, 600)...)
	dptest.Restores(t, windows, later, func() { later.b.Add(1, 2, 3) }, winds(q), runs(p), builder(t, p))
	require.ErrorIs(t, dptest.Err(later.b.Release()), ErrReleased, "this day has been released")
	require.NoError(t, later.b.Advance(111))
	require.NoError(t, windows.b.Advance(111))
	require.Equal(t, held(windows.b.secret).stamps, held(later.b.secret).stamps)
}

// A builder goes on to its next release and not back to one that was made: here, or where it is
// said to be published. What it was released for once cannot be released again.
func TestStatesThatArePassedAreRefused(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 70, Levels: 3, Seed: small.Seed, CountShare: 1}
	b := runningBuilder(t, p)
	var states [][]byte
	for slot := range 3 {
		b.Add(uint64(slot))
		states = append(states, privateBytes(t, b))
		dptest.OK(b.Step())(t)
		for _, old := range states {
			before := privateBytes(t, b)
			require.ErrorIs(t, b.RestorePrivateState(old, 0), ErrMismatch, "behind what this one has stepped through")
			require.Equal(t, before, privateBytes(t, b))
		}
	}
	for slots, state := range states {
		require.NoError(t, runningBuilder(t, p).RestorePrivateState(state, slots))
		require.ErrorIs(t, runningBuilder(t, p).RestorePrivateState(state, slots+1), ErrMismatch, "behind what is published")
	}
	behind := runningBuilder(t, p)
	require.NoError(t, behind.RestorePrivateState(states[1], 0))
	require.NoError(t, behind.RestorePrivateState(states[2], 1), "one further on")
	require.ErrorIs(t, behind.RestorePrivateState(states[1], 1), ErrMismatch)

	w := windowBuilder(t, p, 7)
	never := privateBytes(t, w)
	require.NoError(t, w.Advance(8))
	require.NoError(t, w.RestorePrivateState(never, -1), "an earlier day, and none is released")
	dptest.OK(w.Release())(t)
	seventh := privateBytes(t, w)
	require.ErrorIs(t, w.RestorePrivateState(never, -1), ErrMismatch, "day 7 would be released again")
	require.NoError(t, w.Advance(9))
	require.ErrorIs(t, w.RestorePrivateState(never, -1), ErrMismatch, "day 7 would be released again")
	require.NoError(t, w.RestorePrivateState(seventh, 7), "day 7 is still released")
	require.ErrorIs(t, dptest.Err(w.Release()), ErrReleased)
	require.NoError(t, w.Advance(9))
	ninth := privateBytes(t, w)
	dptest.OK(w.Release())(t)
	for _, old := range [][]byte{never, seventh, ninth} {
		require.ErrorIs(t, w.RestorePrivateState(old, 7), ErrMismatch, "day 9 would be released again")
		require.ErrorIs(t, windowBuilder(t, p, 1).RestorePrivateState(old, 9), ErrMismatch)
	}
	require.NoError(t, windowBuilder(t, p, 1).RestorePrivateState(ninth, 7))
	require.ErrorIs(t, windowBuilder(t, p, 1).RestorePrivateState(never, 0), ErrMismatch, "day 0 is published, of a state that never was")
	require.ErrorIs(t, new(WindowBuilder).RestorePrivateState(never, -1), ErrReleased)
	require.ErrorIs(t, new(RunningBuilder).RestorePrivateState(states[0], 0), ErrReleased)
}
