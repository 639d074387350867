package series

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// recordOf returns what a window knows of a key, and checks that Has says whether All yields it.
func recordOf(w *Window[int], key int) record[int] {
	r, found := w.find(key)
	listed := false
	for k := range w.All() {
		listed = listed || k == key
	}
	if found != listed || w.Has(key) != listed {
		panic("Has")
	}
	return r
}

// history is a series of Slices with the stream they are of.
type history struct {
	params Params
	counts []map[int]int
	slices []*Slice[int]
}

// simulate makes a series of a random stream of keys that come and go.
func simulate(t testing.TB, p Params, steps, elements int, noiseless bool, seed uint64) *history {
	h := &history{params: p}
	b := dptest.OK(New[int](p))(t)
	if noiseless {
		held(b).draw = quiet{held(b).calibration.threshold}
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	for now := range steps {
		m := map[int]int{}
		for range elements {
			x := rng.IntN(1+rng.IntN(9)) + now*3/steps*2
			m[x]++
			b.Add(x)
		}
		h.counts = append(h.counts, m)
		h.slices = append(h.slices, dptest.OK(b.Step())(t))
	}
	return h
}

func (h *history) truth(key, from, to int) (n float64) {
	for _, m := range h.counts[from:to] {
		n += float64(m[key])
	}
	return n
}

func (h *history) timeline(t testing.TB, from, to int) *Timeline[int] {
	l := dptest.OK(NewTimeline[int](h.params))(t)
	for _, s := range h.slices[from:to] {
		require.NoError(t, l.Append(s))
	}
	return l
}

var variants = []Params{
	{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4, 8)},
	{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 3), Discovery: spansOf(1, 2), Retire: 12},
	{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 3, 12), Discovery: spansOf(2, 6, 12), MaxKnown: 4},
	{Epsilon: 2, Delta: 0.1, Spans: spansOf(1, 3), Discovery: spansOf(2, 6), Retire: 4, Counters: 6},
	{Epsilon: 1, Dim: 12, Spans: spansOf(1, 4)},
}

// Without noise the estimates of keys that are known in all of a window are the truth, and every
// interval holds the truth, also of keys that are never known; with noise, intervals do where none
// is beyond its bounds.
func TestWindows(t *testing.T) {
	dptest.Alarm(t, 1e-9) // fewer than 1e4 intervals at 1 − 1e-13, of sketches, which have noise
	for i, p := range variants {
		confidence := 0.9
		if p.Counters > 0 {
			confidence = 1 - 1e-13
		}
		h := simulate(t, p, 48, 40, true, uint64(i))
		l := h.timeline(t, 0, 48)
		exact, finite := 0, 0
		for from := 0; from < 48; from += 1 + from%3 {
			for to := from + 1; to <= 48; to += 1 + to%5 {
				w := dptest.OK(l.Window(from, to))(t)
				var keys []int
				for key, x := range w.All() {
					keys = append(keys, key)
					require.Equal(t, x, w.Estimate(key))
				}
				require.True(t, slices.IsSorted(keys))
				require.Len(t, keys, w.Len())
				for key := range 16 {
					truth, r := h.truth(key, from, to), recordOf(w, key)
					if p.Dim > 0 && key >= p.Dim {
						continue
					}
					lo, hi := w.Interval(key, confidence)
					require.True(t, lo <= truth && truth <= hi && lo >= 0, "%+v: %v not in [%v, %v], key %d, steps %d to %d", p, truth, lo, hi, key, from, to)
					if !math.IsInf(hi, 1) {
						finite++
					}
					if len(r.gaps) == 0 {
						require.InDelta(t, truth, w.Estimate(key), 1e-9)
						exact++
					}
				}
			}
		}
		require.Greater(t, exact, 500)
		require.Greater(t, finite, 1000)
	}
}

// Elements before a key became known are estimated by what showed it and by its late corrections.
func TestBefore(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 2), Discovery: spansOf(2, 4, 8)}
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	held(b).draw = quiet{20}
	for now := range 8 {
		for range []int{3, 3, 5, 17, 1, 1, 1, 1}[now] {
			b.Add(7)
		}
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	}
	// shown by step 2 and 3 with 22, corrected at once to 28 for the steps 0 to 3, and again at the
	// end
	for from, want := range []float64{32, 29, 26, 15, 4, 3, 2, 1} {
		require.Equal(t, want, dptest.OK(l.Window(from, 8))(t).Estimate(7), "from %d", from)
	}
	require.Equal(t, 3., dptest.OK(l.Window(1, 2))(t).Estimate(7))
	require.Equal(t, 11., dptest.OK(l.Window(2, 3))(t).Estimate(7))
	w := dptest.OK(l.Window(0, 8))(t)
	lo, hi := w.Interval(7, 0.9)
	require.True(t, lo > 0 && lo < 32 && hi > 32 && hi < 60)
	require.Zero(t, w.Estimate(8))
	lo, hi = w.Interval(8, 0.9)
	require.Zero(t, lo)
	require.True(t, hi >= dptest.OK(held(b).params.Plan())(t).Threshold-1 && !math.IsInf(hi, 1))
	_, hi = dptest.OK(l.Window(5, 8))(t).Interval(8, 0.9)
	require.False(t, math.IsInf(hi, 1))
	require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	_, hi = dptest.OK(l.Window(5, 9))(t).Interval(8, 0.9)
	require.True(t, math.IsInf(hi, 1), "no discovery node holds step 8 yet")
}

// Keys that are dropped and found again, by MaxKnown and by Retire where discovery has the longer
// nodes: the truth is in the interval, and so is the estimate, which is near it.
func TestFoundAgain(t *testing.T) {
	long := spansOf(1, 24)
	for _, c := range []struct {
		name  string
		p     Params
		rates []int // of the keys, a step
	}{
		{"one of two keys", Params{MaxKnown: 1, Spans: spansOf(1, 4), Discovery: spansOf(1, 4, 24)}, []int{1_000_000, 500}},
		{"20 of 30 keys", Params{MaxKnown: 20, Spans: spansOf(1, 4), Discovery: long}, slices.Repeat([]int{100}, 30)},
		{"retired in short spans", Params{Retire: 50, Spans: spansOf(1, 4), Discovery: long}, slices.Repeat([]int{12}, 30)},
		{"retired in the longest", Params{Retire: 300, Spans: spansOf(1, 4, 24), Discovery: spansOf(1, 12, 48)}, slices.Repeat([]int{12, 20}, 15)},
		{"both", Params{Retire: 100, MaxKnown: 10, Spans: spansOf(1, 6), Discovery: spansOf(2, 6, 24)}, slices.Repeat([]int{10, 30, 60}, 8)},
	} {
		c.p.Epsilon, c.p.Delta = 1, 1e-6
		misses, outside, all, off := 0, 0, 0, 0.0
		for range dptest.Full(20, 4) {
			b, l := dptest.OK(New[int](c.p))(t), dptest.OK(NewTimeline[int](c.p))(t)
			for range 96 {
				for key, n := range c.rates {
					b.AddN(key, n)
				}
				require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
			}
			for _, at := range [][2]int{{0, 5}, {10, 30}, {24, 48}, {30, 90}, {0, 96}} {
				w := dptest.OK(l.Window(at[0], at[1]))(t)
				for key, n := range c.rates {
					lo, hi := w.Interval(key, 0.95)
					truth, x := float64(n*(at[1]-at[0])), w.Estimate(key)
					all++
					off += math.Abs(x/truth - 1)
					if truth < lo || truth > hi {
						misses++
					}
					if x < lo || x > hi {
						outside++
					}
				}
			}
		}
		off /= float64(all)
		t.Logf("%s: %d of %d miss, %d estimates outside; off by %.0f %%", c.name, misses, all, outside, 100*off)
		assert.LessOrEqual(t, float64(misses), 0.05*float64(all), c.name)
		assert.Zero(t, outside, c.name)
		assert.Less(t, off, 0.03, c.name)
	}
}

// A Timeline may begin with any Slice, and forget: windows that both have are the same.
func TestForget(t *testing.T) {
	dptest.Alarm(t, 1e-9) // fewer than 1e5 intervals at 1 − 1e-14
	for i, p := range variants {
		h := simulate(t, p, 48, 40, false, uint64(i))
		all := h.timeline(t, 0, 48)
		forgot := dptest.OK(NewTimeline[int](p))(t)
		for now, s := range h.slices {
			require.NoError(t, forgot.Append(s))
			forgot.Forget(now - 20)
		}
		late := h.timeline(t, 27, 48)
		require.Equal(t, 27, late.First())
		require.LessOrEqual(t, forgot.First(), 27)
		require.Greater(t, forgot.First(), 12)
		for from := forgot.First(); from < 48; from++ {
			for to := from + 1; to <= 48; to += 4 {
				a, b := dptest.OK(all.Window(from, to))(t), dptest.OK(forgot.Window(from, to))(t)
				for key := range 16 {
					require.InDelta(t, a.Estimate(key), b.Estimate(key), 1e-9)
					lo, hi := a.Interval(key, 0.9)
					lo2, hi2 := b.Interval(key, 0.9)
					require.Equal(t, [2]float64{lo, hi}, [2]float64{lo2, hi2}, "key %d, steps %d to %d", key, from, to)
				}
				if from >= late.First() {
					c := dptest.OK(late.Window(from, to))(t)
					for key := range 16 {
						_ = c.Estimate(key)
						lo, hi := c.Interval(key, 1-1e-14)
						truth := h.truth(key, from, to)
						if p.Dim == 0 || key < p.Dim {
							require.True(t, lo <= truth && truth <= hi, "%v not in [%v, %v]", truth, lo, hi)
						}
					}
				}
			}
		}
		for _, bad := range [][2]int{{-1, 3}, {0, 3}, {48, 49}, {40, 49}, {40, 40}, {41, 40}, {math.MaxInt, math.MinInt}} {
			require.ErrorIs(t, dptest.Err(forgot.Window(bad[0], bad[1])), ErrParams)
		}
		forgot.Forget(-5)
		forgot.Forget(math.MaxInt)
		require.LessOrEqual(t, forgot.First(), 48)
	}
}

// Slices come in order, each once, from one series.
func TestAppend(t *testing.T) {
	h := simulate(t, variants[0], 12, 40, false, 1)
	l := h.timeline(t, 0, 8)
	require.Equal(t, 8, l.Len())
	before := dptest.OK(l.Window(0, 8))(t)
	other := h.params
	other.MaxKnown = 17
	strange := simulate(t, other, 12, 40, false, 1)
	elsewhere := simulate(t, variants[0], 12, 40, true, 2)
	empty := simulate(t, variants[0], 12, 0, true, 1)
	require.ErrorIs(t, l.Append(h.slices[7]), ErrMismatch)
	require.ErrorIs(t, l.Append(h.slices[9]), ErrMismatch)
	require.ErrorIs(t, l.Append(strange.slices[8]), ErrMismatch)
	require.ErrorIs(t, l.Append(&Slice[int]{}), ErrMismatch)
	require.NotEmpty(t, elsewhere.slices[8].keys)
	l2 := empty.timeline(t, 0, 8)
	require.ErrorIs(t, l2.Append(elsewhere.slices[8]), ErrMismatch)
	require.Equal(t, before, dptest.OK(l.Window(0, 8))(t))
	require.NoError(t, l.Append(h.slices[8]))
	require.NotEqual(t, before, dptest.OK(l.Window(0, 8))(t), "later counts help")
	require.True(t, l.Guarantee().Equal(h.slices[3].Guarantee()) && before.Guarantee().Equal(l.Guarantee()))
	require.Equal(t, h.params.normal(), l.Params())
	from, to := before.Steps()
	require.Equal(t, [2]int{0, 8}, [2]int{from, to})
}

// Intervals of known keys hold the truth with the probability that the exact law of their noise
// says, of 1, 8 and 17 counts that are summed up.
func TestCoverage(t *testing.T) {
	p := Params{Epsilon: 1, Dim: dptest.Full(4000, 1000), Spans: spansOf(1, 4, 24, 168)}
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	for range 3 * 168 {
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	}
	for want, at := range map[int][2]int{1: {0, 168}, 8: {0, 86}, 17: {62, 422}} {
		from, to := at[0], at[1]
		w := dptest.OK(l.Window(from, to))(t)
		sum := newLaplaceSum(w.calibration.known.Scale(), want)
		for _, confidence := range []float64{0.5, 0.95} {
			half, inside := sum.beyond(shareOfKnown*(1-confidence)), int64(0)
			for key := range p.Dim {
				r := recordOf(w, key)
				require.Equal(t, want, r.known.nodes)
				lo, hi := w.Interval(key, confidence)
				x := max(w.Estimate(key), 0) // by more counts: it may be beyond the bounds
				require.Equal(t, [2]float64{min(max(r.known.sum-half, 0), x), max(r.known.sum+half, 0, x)}, [2]float64{lo, hi})
				if math.Abs(r.known.sum) <= half { // the truth is 0
					inside++
				}
			}
			require.GreaterOrEqual(t, 1-2*sum.tail(half+1), confidence)
			dptest.Tail(t, "an interval", inside, int64(p.Dim), 1-2*sum.tail(half+1), 1e-9)
		}
	}
}

// The JSON of a window has its steps and its keys, the largest first, and the guarantee.
func TestWindowHasJSON(t *testing.T) {
	p := Params{Epsilon: 1, Dim: 3, Spans: spansOf(1, 2)}
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	for range 3 {
		b.AddN(1, 1000)
		b.AddN(2, 5000)
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	}
	w := dptest.OK(l.Window(1, 3))(t)
	type view struct {
		Guarantee struct{ Text string }
		From, To  int
		Keys      []struct {
			Key                 string
			Estimate, Low, High float64
		}
	}
	for _, v := range []any{w, *w} {
		var read view
		require.NoError(t, json.Unmarshal(dptest.OK(json.Marshal(v))(t), &read))
		require.Equal(t, []any{w.Guarantee().String(), 1, 3, 3}, []any{read.Guarantee.Text, read.From, read.To, len(read.Keys)})
		i := 0
		for key, estimate := range w.Top(3) {
			lo, hi := w.Interval(key, 0.95)
			require.Equal(t, []any{fmt.Sprint(key), estimate, lo, hi}, []any{read.Keys[i].Key, read.Keys[i].Estimate, read.Keys[i].Low, read.Keys[i].High})
			i++
		}
		require.Equal(t, "2", read.Keys[0].Key)
	}
	require.Contains(t, string(dptest.OK(json.Marshal(Window[string]{}))(t)), `"keys":[]`)
}

// Readers of a Window see one state, whatever is appended.
func TestWindowIsImmutable(t *testing.T) {
	h := simulate(t, variants[0], 24, 40, false, 1)
	l := h.timeline(t, 0, 15)
	w := dptest.OK(l.Window(3, 14))(t)
	dptest.Readers(t, w)
	again := dptest.OK(l.Window(3, 14))(t)
	for _, s := range h.slices[15:] {
		require.NoError(t, l.Append(s))
	}
	require.Equal(t, again, w)
	require.NotEqual(t, dptest.OK(l.Window(3, 14))(t), w)
}
