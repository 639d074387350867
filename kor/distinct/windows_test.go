package distinct

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func windowBuilder(t testing.TB, p Params, day int) *WindowBuilder {
	return dptest.OK(NewWindowBuilder(p, day))(t)
}

// days of the four slots: of all four classes.
var days = [slots]int{100, 125, 127, 131}

// windowsOf returns the numbers of cells of each class of a WindowBuilder that sees the keys.
func windowsOf(t *testing.T, keys []uint64, in []int) numbers {
	b := windowBuilder(t, tiny, 99)
	for slot, day := range days {
		require.NoError(t, b.Advance(day))
		for i, key := range keys {
			if histories[in[i]]>>slot&1 != 0 {
				b.Add(key)
			}
		}
	}
	return held(b.secret).classes()
}

// Each class gets noise of that law, anew on every day: 5000 days with four draws each.
// False-reject probability 2e-10.
func TestWindowsHaveTheLaw(t *testing.T) {
	b, day := windowBuilder(t, tiny, 0), 0
	noisy(t, tiny, func() numbers {
		day++
		require.NoError(t, b.Advance(day))
		w := dptest.OK(b.Release())(t)
		w.numbers[3] -= 16 // all cells are empty
		return w.numbers
	})
}

// Stamps are those of a map from cells to last days, over many days with gaps, duplicates, and
// shards that are merged; nothing wraps.
func TestStampsAge(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	p := tiny
	p.Levels = 3
	b, day := windowBuilder(t, p, 5), 5
	last := map[uint64]int{}
	for range 400 {
		shard := windowBuilder(t, p, day)
		for range rng.IntN(4) {
			key := rng.Uint64N(200)
			b.Add(key)
			other := rng.Uint64N(200)
			shard.Add(other, other)
			last[held(b.secret).place.cell(key)] = day
			last[held(b.secret).place.cell(other)] = day
		}
		require.NoError(t, b.Merge(shard))
		want := make(numbers, 4)
		for _, at := range last {
			switch ago := day - at; {
			case ago < 1:
				want[0]++
			case ago < 7:
				want[1]++
			case ago < 30:
				want[2]++
			}
		}
		want[3] = 48 - want[0] - want[1] - want[2]
		require.Equal(t, want, held(b.secret).classes())
		day += 1 + rng.IntN(3)
		if rng.IntN(50) == 0 {
			day += 300
		}
		require.NoError(t, b.Advance(day))
	}
}

// Whether keys come before or after the Advance that follows a release makes no difference: those
// of a day for which it was called late are that day's, not the one's before.
func TestKeysBehindARelease(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, spans := range [][8]int{{1}, {1, 2}, {1, 7, 30}, {3, 255}} {
		p := tiny
		p.Spans = spans
		early, late, day := windowBuilder(t, p, 0), windowBuilder(t, p, 0), 0
		for range 60 {
			dptest.OK(early.Release())(t)
			dptest.OK(late.Release())(t)
			if day += 1 + rng.IntN(2); rng.IntN(20) == 0 {
				day += 300
			}
			keys := run(rng.Uint64N(50), 50)[:rng.IntN(2)]
			require.NoError(t, early.Advance(day))
			early.Add(keys...)
			late.Add(keys...)
			require.NoError(t, late.RestorePrivateState(privateBytes(t, late), -1))
			require.NoError(t, late.Advance(day))
			require.Equal(t, privateBytes(t, early), privateBytes(t, late))
			if len(keys) > 0 && spans[0] == 1 {
				require.EqualValues(t, 1, held(late.secret).classes()[0])
			}
		}
	}
}

// The noise of windows of 1, 7 and 30 days, times ε: 2.45, 2.83 and 2.45; three classes without the
// empty one had 2.83, 4.00 and 4.90.
func TestNoiseOfWindows(t *testing.T) {
	p := Params{Epsilon: 0.01, Seed: hashing.Seed{1}}.normal().windowed()
	for some, want := range map[int]float64{1: math.Sqrt(6), 2: math.Sqrt(8), 3: math.Sqrt(6)} {
		c, ok := p.unionCurve(some, 4)
		require.True(t, ok)
		require.InEpsilon(t, want, math.Sqrt(c.variance)*p.Epsilon, 1e-5)
	}
	// what is off from the number of all cells is noise, and is taken out of each class
	c := p.union(numbers{110, 20, 30, 49152 - 150}, func(class int) bool { return class < 2 })
	require.Equal(t, 130.0-10.0/4*2, c.ones)
}

func TestWindowBuilder(t *testing.T) {
	p, other := small, small
	p.CountShare, other.CountShare = 0, 0
	other.Cells++
	dptest.Builder(t, func() *WindowBuilder { return windowBuilder(t, p, 7) }, func(b *WindowBuilder) { b.Add(1); b.Add(2, 3); AddKey(b, "key") },
		windowBuilder(t, other, 7), windowBuilder(t, p, 8))
	require.ErrorIs(t, dptest.Err(NewWindowBuilder(p, -1)), ErrParams)
	b := windowBuilder(t, p, 7)
	for _, day := range []int{7, 6, -1, math.MinInt} {
		require.ErrorIs(t, b.Advance(day), ErrParams)
	}
	if math.MaxInt > maxSlots { // an int has 64 bits
		require.ErrorIs(t, b.Advance(math.MaxInt), ErrParams)
	}
	require.False(t, b.Released())
	w := dptest.OK(b.Release())(t)
	require.True(t, b.Released())
	require.ErrorIs(t, dptest.Err(b.Release()), ErrReleased, "once a day")
	require.ErrorIs(t, b.Merge(windowBuilder(t, p, 7)), ErrReleased)
	late := windowBuilder(t, p, 7)
	dptest.OK(late.Release())(t)
	late.Add(1)
	require.NoError(t, late.Advance(8))
	require.Equal(t, int64(1), held(late.secret).classes()[0], "added behind the release")
	require.NoError(t, b.Advance(8))
	dptest.OK(b.Release())(t)
	require.ErrorIs(t, new(WindowBuilder).Advance(1), ErrReleased)
	require.True(t, new(WindowBuilder).Released())
	for _, x := range []*Windows{w, {}} {
		lo, hi := x.Interval(3, 0.9)
		require.True(t, math.IsNaN(x.Estimate(3)) && math.IsNaN(x.StdErr(3)) && math.IsNaN(lo) && math.IsNaN(hi))
	}
	require.False(t, new(Windows).Guarantee().Promises())
	held(b.secret).stamps = []uint8("secretly here")
	dptest.Redacted(t, b, "secretly here")
	dptest.Readers(t, sampleWindows())
}
