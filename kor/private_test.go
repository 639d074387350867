package kor

import (
	"bytes"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
)

func builder(t testing.TB, p Params, keys ...uint64) *Builder {
	t.Helper()
	b := dptest.OK(New(p))(t)
	b.ToggleSlice(keys)
	return b
}

func streamBuilder(t testing.TB, p Params, keys ...uint64) *StreamBuilder {
	t.Helper()
	b := dptest.OK(NewStreamBuilder(p))(t)
	for _, key := range keys {
		b.Add(key)
	}
	return b
}

// held returns what a Builder holds.
func held(s secret) *state {
	data := private.Enter(s)
	private.Leave(s)
	return data
}

// restored moves the Builder into another one, whose content is replaced.
func restored(t *testing.T, b *Builder) *Builder {
	t.Helper()
	data := dptest.OK(b.AppendPrivateState([]byte("prefix")))(t)
	require.True(t, bytes.HasPrefix(data, []byte("prefix")))
	require.False(t, b.Released())
	c := builder(t, held(b.secret).params, 1, 2, 3, 77)
	require.NoError(t, c.RestorePrivateState(data[len("prefix"):]))
	return c
}

var counting = Params{Epsilon: 40, Cells: 100, Levels: 5, Seed: hashing.Seed{1}, CountShare: 0.9}

func TestPrivateStateOfAStream(t *testing.T) {
	p := Params{Epsilon: 30, Cells: 128, Levels: 8, Seed: hashing.Seed{1}}
	b := streamBuilder(t, p, append(run(0, 50), run(0, 50)...)...)
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	c := streamBuilder(t, p, run(500, 600)...)
	require.NoError(t, c.RestorePrivateState(data))
	require.Equal(t, held(b.secret).table, held(c.secret).table)
	more := streamBuilder(t, p, run(40, 70)...)
	want := append([]uint64(nil), held(b.secret).table...)
	sets.Or(want, held(more.secret).table)
	require.NoError(t, c.Merge(more))
	require.Equal(t, want, held(c.secret).table)
	c.Add(3)
	s := dptest.OK(c.Release())(t)
	// 70 keys and hardly any flips: the standard error is 13 (for a Poisson number).
	dptest.Alarm(t, 1e-10)
	require.InDelta(t, 70, s.Estimate(), 8*13)
}

// Bytes that are no state, or one of other Params, leave the receiver as it is; nothing panics; a
// state is no Sketch.
func TestRestoreRejects(t *testing.T) {
	p := counting
	q := p
	q.CountShare = 0
	b, plain, stream := builder(t, p, run(0, 9)...), builder(t, q, run(0, 9)...), streamBuilder(t, q, 1, 2, 3)
	for _, c := range []struct {
		from, to, other dptest.Movable
	}{{b, builder(t, p), plain}, {plain, builder(t, q), stream}, {stream, streamBuilder(t, q), b}} {
		dptest.Restores(t, c.from, c.to, func() {
			if b, ok := c.to.(*Builder); ok {
				b.ToggleSlice(run(0, 20))
			} else {
				c.to.(*StreamBuilder).Add(run(0, 20)...)
			}
		}, c.other, builder(t, small))
	}
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	plainData := dptest.OK(plain.AppendPrivateState(nil))(t)
	streamData := dptest.OK(stream.AppendPrivateState(nil))(t)
	require.ErrorIs(t, b.RestorePrivateState(streamData), ErrFormat)
	require.ErrorIs(t, stream.RestorePrivateState(plainData), ErrFormat)
	require.ErrorIs(t, b.RestorePrivateState(plainData), ErrMismatch)

	padding := bytes.Clone(plainData)
	padding[len(padding)-8-1] = 0x80 // of the last level, whose second word has 36 cells
	require.ErrorIs(t, builder(t, q).RestorePrivateState(padding), ErrFormat)
	for _, other := range changed(p) {
		require.False(t, dptest.RestoresOrStays(t, builder(t, other, 5), data))
	}

	var s Sketch
	require.ErrorIs(t, s.UnmarshalBinary(data), ErrFormat, "private state is no release")
	var u StreamSketch
	require.ErrorIs(t, u.UnmarshalBinary(streamData), ErrFormat, "private state is no release")
	require.Equal(t, Sketch{}, s)
	release := dptest.OK(released(t, p, 1).MarshalBinary())(t)
	require.ErrorIs(t, b.RestorePrivateState(release), ErrFormat)
}

func FuzzRestorePrivateState(f *testing.F) {
	for _, p := range []Params{small, counting} {
		f.Add(dptest.OK(builder(f, p, 1, 2, 3).AppendPrivateState(nil))(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range []Params{small, counting} {
			b := builder(t, p, 9)
			dptest.RestoresOrStays(t, b, data)
			b.ToggleSlice([]uint64{1, 2, 3})
			dptest.OK(b.Release())(t)
		}
	})
}
