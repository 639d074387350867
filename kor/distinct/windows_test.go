package distinct

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/stretchr/testify/require"
)

func windowBuilder(t testing.TB, p Params, day int) *WindowBuilder {
	t.Helper()
	b, err := NewWindowBuilder(p, day)
	require.NoError(t, err)
	return b
}

// heldWindows returns what a WindowBuilder holds.
func heldWindows(b *WindowBuilder) *windowState {
	data := private.Enter(b.windowSecret)
	private.Leave(b.windowSecret)
	return data
}

// days of the four slots: of all three classes, and older.
var days = [slots]int{100, 125, 127, 131}

// Over all streams of three keys in three cells on four days: a key moves the three classes by at
// most 2 in ℓ₁, and by 2 it does, which is what the noise of scale 2/ε is for. The windows
// themselves it moves by 3.
func TestWindowsAreExactlyPrivate(t *testing.T) {
	cache := map[[6]uint64][3]int64{}
	of := func(keys []uint64, history []uint) [3]int64 {
		id := [6]uint64{keys[0], keys[1], keys[2], uint64(history[0]), uint64(history[1]), uint64(history[2])}
		if v, ok := cache[id]; ok {
			return v
		}
		b := windowBuilder(t, tiny, 99)
		for slot, day := range days {
			require.NoError(t, b.Advance(day))
			for i, key := range keys {
				if history[i]>>slot&1 != 0 {
					b.Add(key)
				}
			}
		}
		cache[id] = classes(heldWindows(b).stamps)
		return cache[id]
	}
	var distance, windows int64
	streams(func(keys []uint64, without, with []uint) {
		a, b := of(keys, without), of(keys, with)
		var d, sum, all int64
		for i := range a {
			by := b[i] - a[i]
			d += max(by, -by)
			sum += by
			all += max(sum, -sum)
		}
		distance, windows = max(distance, d), max(windows, all)
	})
	require.EqualValues(t, 2, distance)
	require.EqualValues(t, 3, windows)
	law, err := tiny.windowLaw()
	require.NoError(t, err)
	require.InDelta(t, tiny.Epsilon, float64(distance)/law.Scale(), 1e-12)
	require.GreaterOrEqual(t, law.Scale()*tiny.Epsilon, 2.0)
}

// The classes get independent noise of that law, anew on every day. False-reject probability 3e-9.
func TestWindowsHaveTheLaw(t *testing.T) {
	law, err := tiny.windowLaw()
	require.NoError(t, err)
	const runs, reach = 5000, 12
	observed, expected := make([]int64, 2*reach+2), make([]float64, 2*reach+1)
	for i := range expected {
		expected[i] = law.Prob(float64(i - reach))
	}
	b := windowBuilder(t, tiny, 0)
	products := 0.0
	for day := 1; day <= runs; day++ {
		require.NoError(t, b.Advance(day))
		w, err := b.Release()
		require.NoError(t, err)
		for _, z := range w.classes {
			if z+reach >= 0 && z <= reach {
				observed[z+reach]++
			} else {
				observed[2*reach+1]++
			}
		}
		products += float64(w.classes[0]*w.classes[1] + w.classes[1]*w.classes[2] + w.classes[0]*w.classes[2])
	}
	dptest.ChiSquare(t, "classes", observed, expected, 1e-9)
	dptest.Alarm(t, 1e-10)
	require.InDelta(t, 0, products/(3*runs), 7*law.Variance()/math.Sqrt(3*runs))
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
			last[heldWindows(b).place.cell(key)] = day
			last[heldWindows(b).place.cell(other)] = day
		}
		require.NoError(t, b.Merge(shard))
		var want [3]int64
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
		require.Equal(t, want, classes(heldWindows(b).stamps))
		day += 1 + rng.IntN(3)
		if rng.IntN(50) == 0 {
			day += 300
		}
		require.NoError(t, b.Advance(day))
	}
}

// Counts of 1, 7 and 30 days: the stated error, and coverage. With 300 runs a mean square is off by
// more than 8 standard errors, √(5/300) each, and a coverage of .94 is seen below .8, each with
// probability below 1e-10.
func TestWindowsAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	p := Params{Epsilon: 1, Cells: 64, Levels: 6, Seed: hashing.Seed{1}}
	const runs, keys = 300, 20
	squares, covered := map[int]float64{}, map[int]int{}
	for range runs {
		p.Seed = hashing.NewSeed()
		b := windowBuilder(t, p, 1)
		for day := 1; day <= 40; day++ {
			if day > 1 {
				require.NoError(t, b.Advance(day))
			}
			for range keys {
				b.Add(rng.Uint64())
			}
		}
		w, err := b.Release()
		require.NoError(t, err)
		require.Equal(t, 40, w.Day())
		for _, span := range spans {
			want := float64(keys * span)
			e := (w.Estimate(span) - want) / planned(p).WindowStdErr(want, span)
			squares[span] += e * e
			if lo, hi := w.Interval(span, 0.95); lo <= want && want <= hi {
				covered[span]++
			}
			require.Positive(t, w.StdErr(span))
		}
	}
	for _, span := range spans {
		dptest.Alarm(t, 2e-10)
		require.InDelta(t, 1, squares[span]/runs, 1.04, "%d days", span)
		require.Greater(t, float64(covered[span])/runs, 0.80, "%d days", span)
	}
}

func TestWindowsRefuse(t *testing.T) {
	p := small
	_, err := NewWindowBuilder(p, 1)
	require.ErrorIs(t, err, ErrParams)
	require.True(t, math.IsNaN(planned(p).WindowStdErr(10, 7)))
	p.CountShare = 0
	_, err = NewWindowBuilder(p, -1)
	require.ErrorIs(t, err, ErrParams)
	large := p
	for _, size := range [][2]int{{1 << 28, 5}, {1 << 30, 8}} { // the last is 0 modulo 2³²
		large.Cells, large.Levels = size[0], size[1]
		_, err = NewWindowBuilder(large, 1)
		require.ErrorIs(t, err, ErrParams)
	}
	require.True(t, math.IsNaN(planned(large).WindowStdErr(10, 7)) && math.IsNaN(planned(p).WindowStdErr(10, 2)) && math.IsNaN(planned(p).WindowStdErr(-1, 7)))
	b := windowBuilder(t, p, 7)
	for _, day := range []int{7, 6, -1, math.MinInt} {
		require.ErrorIs(t, b.Advance(day), ErrParams)
	}
	if math.MaxInt > maxSlots { // an int has 64 bits
		require.ErrorIs(t, b.Advance(math.MaxInt), ErrParams)
	}
	require.ErrorIs(t, b.Merge(windowBuilder(t, p, 8)), ErrMismatch, "one clock")
	require.ErrorIs(t, b.Merge(b), ErrMismatch)
	require.ErrorIs(t, b.Merge(nil), ErrReleased)
	other := p
	other.Cells++
	require.ErrorIs(t, b.Merge(windowBuilder(t, other, 7)), ErrMismatch)
	require.False(t, b.Released())
	w, err := b.Release()
	require.NoError(t, err)
	require.True(t, b.Released())
	_, err = b.Release()
	require.ErrorIs(t, err, ErrReleased, "once a day")
	require.ErrorIs(t, b.Merge(windowBuilder(t, p, 7)), ErrReleased)
	late := windowBuilder(t, p, 7)
	_, err = late.Release()
	require.NoError(t, err)
	late.Add(1)
	require.NoError(t, late.Advance(8))
	require.Equal(t, [3]int64{0, 1, 0}, classes(heldWindows(late).stamps), "added behind the release")
	require.NoError(t, b.Advance(8))
	_, err = b.Release()
	require.NoError(t, err)
	zero := &WindowBuilder{}
	zero.Add(1)
	require.True(t, zero.Released() && !zero.Guarantee().Promises())
	_, err = zero.Release()
	require.ErrorIs(t, err, ErrReleased)
	require.ErrorIs(t, zero.Advance(1), ErrReleased)
	for _, x := range []*Windows{w, {}} {
		lo, hi := x.Interval(3, 0.9)
		require.True(t, math.IsNaN(x.Estimate(3)) && math.IsNaN(x.StdErr(3)) && math.IsNaN(lo) && math.IsNaN(hi))
	}
	require.True(t, math.IsNaN(new(Windows).Estimate(7)) && !new(Windows).Guarantee().Promises())
	heldWindows(b).stamps = []uint8("secretly here")
	dptest.Redacted(t, b, "secretly here")
	dptest.Readers(t, sampleWindows())
}
