package distinct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestPrivateStates(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 70, Levels: 3, Seed: small.Seed, CountShare: 1}
	q := p
	q.Cells++
	running, windows := runningBuilder(t, p), windowBuilder(t, p, 100)
	running.Add(run(0, 50)...)
	windows.Add(run(0, 50)...)
	first := dptest.OK(running.Step())(t)
	running.Add(run(50, 80)...)
	require.NoError(t, windows.Advance(110))
	windows.Add(run(50, 80)...)
	dptest.OK(windows.Release())(t)

	again := runningBuilder(t, p)
	again.Add(run(500, 600)...)
	dptest.Restores(t, running, again, func() { again.Add(1, 2, 3) }, runningBuilder(t, q), windowBuilder(t, p, 1), builder(t, p))
	require.Equal(t, first.numbers, numbers{held(again.secret).released})
	second := dptest.OK(again.Step())(t)
	require.Equal(t, 2, second.Slots())
	require.Equal(t, ones(held(running.secret).table), held(again.secret).closed)

	later := windowBuilder(t, p, 3)
	later.Add(run(500, 600)...)
	dptest.Restores(t, windows, later, func() { later.Add(1, 2, 3) }, windowBuilder(t, q, 110), runningBuilder(t, p), builder(t, p))
	require.ErrorIs(t, dptest.Err(later.Release()), ErrReleased, "this day has been released")
	require.NoError(t, later.Advance(111))
	require.NoError(t, windows.Advance(111))
	require.Equal(t, held(windows.secret).stamps, held(later.secret).stamps)
	whole := builder(t, p)
	dptest.Restores(t, builder(t, p, run(0, 40)...), whole, func() { whole.Add(1, 2, 3) }, builder(t, q), runningBuilder(t, p), windowBuilder(t, p, 1))

	for _, zero := range []dptest.Movable{&RunningBuilder{}, &WindowBuilder{}, &Builder{}} {
		require.ErrorIs(t, dptest.Err(zero.AppendPrivateState(nil)), ErrReleased)
		require.ErrorIs(t, zero.RestorePrivateState(nil), ErrReleased)
	}
}
