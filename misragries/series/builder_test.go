package series

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries"
)

// quiet publishes without noise.
type quiet struct{ threshold int64 }

func (q quiet) known(_ int, count int64) int64        { return count }
func (q quiet) elements(_, _ int, count int64) int64  { return count }
func (q quiet) late(_ int, count int64) int64         { return count }
func (q quiet) show(_ int, count int64) (int64, bool) { return count, count >= q.threshold }
func (q quiet) sketch(_ int, b *misragries.Builder[int]) (*misragries.Histogram[int], error) {
	return b.Release()
}

// held returns what a Builder holds.
func held(b *Builder[int]) *state[int] {
	data := private.Enter(b.secret)
	private.Leave(b.secret)
	return data
}

// short are Params whose nodes end soon.
var short = Params{Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4)}

func TestRedacted(t *testing.T) {
	b := dptest.OK(New[string](Params{Epsilon: 1, Delta: 1e-6, MaxElements: 3}))(t)
	b.AddFor("a user's own name", []string{"a key that is private"})
	dptest.Redacted(t, b, "a user's own name", "a key that is private")
	dptest.Redacted(t, *b, "a user's own name", "a key that is private")
}

func TestBuilder(t *testing.T) {
	dptest.Builder(t, func() *Builder[string] { return dptest.OK(New[string](short))(t) }, func(b *Builder[string]) { b.Add("a"); b.AddN("b", 3) })
}

func TestZeroValues(t *testing.T) {
	var b Builder[int]
	b.Add(1)
	require.Zero(t, b.AddFor("a", []int{1}))
	b.AddN(1, 3)
	require.ErrorIs(t, dptest.Err(b.Step()), ErrReleased)
	require.ErrorIs(t, dptest.Err(b.AppendPrivateState(nil)), ErrReleased)
	require.ErrorIs(t, b.RestorePrivateState(nil, 0), ErrReleased)
	require.True(t, b.Released())
	require.False(t, b.Guarantee().Promises())
	var l Timeline[int]
	require.ErrorIs(t, l.Append(&Slice[int]{}), ErrMismatch)
	require.ErrorIs(t, l.Append(nil), ErrMismatch)
	require.ErrorIs(t, dptest.Err(l.Window(0, 1)), ErrParams)
	l.Forget(3)
	var w *Window[int]
	lo, hi := w.Interval(1, 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	require.NotEmpty(t, w.String())
	require.NotEmpty(t, (&Slice[int]{}).String())
}

// The last step is refused before anything is drawn.
func TestLastStep(t *testing.T) {
	b := dptest.OK(New[int](short))(t)
	held(b).steps = maxSteps - 1
	dptest.OK(b.Step())(t)
	require.ErrorIs(t, dptest.Err(b.Step()), ErrReleased)
}

// Names that are cut out of a large buffer do not keep it alive.
func TestNamesAreCopied(t *testing.T) {
	p := plain
	p.MaxElements = 3
	b := dptest.OK(New[string](p))(t)
	for i := range 100 {
		large := strings.Repeat(string(rune('a'+i)), 1<<20)
		for range 2 {
			b.AddFor(large[:10], []string{large[:7]})
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(50<<20))
	s := private.Enter(b.secret)
	require.Len(t, s.users, 100)
	require.Len(t, s.unknown.rows, 100)
}

// A stream of random keys, of which some come and go, is given to a Builder; from its Slices alone
// the test knows which keys are known, by the rules as they are documented. So it knows what is fed
// to sketches, and what each published count is of.
func TestKnownKeysArePublic(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	for _, p := range []Params{
		short,
		{Epsilon: 4, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4), Retire: 3},
		{Epsilon: 4, Delta: 1e-2, Spans: spansOf(1, 3), Discovery: spansOf(1, 2, 6), MaxKnown: 3},
		{Epsilon: 4, Delta: 1e-2, Spans: spansOf(1, 6), Discovery: spansOf(3), MaxKnown: 4, Retire: 5},
		{Epsilon: 4, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4), Retire: 3, Counters: 5},
		{Epsilon: 4, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4), MaxKnown: 2, Counters: 3},
	} {
		p = p.normal()
		rng := rand.New(rand.NewPCG(3, 4))
		b := dptest.OK(New[int](p))(t)
		s := held(b)
		type key struct {
			since int
			rate  float64
		}
		known := map[int]key{}
		sketches := make([]*misragries.Builder[int], len(used(&p.Discovery)))
		fresh := func() *misragries.Builder[int] {
			return dptest.OK(misragries.New[int](s.calibration.sketch))(t)
		}
		for j := range sketches {
			if p.Counters > 0 {
				sketches[j] = fresh()
			}
		}
		changes := 0
		for now := range 60 {
			for range 60 {
				x := rng.IntN(1+rng.IntN(8)) + now/20*3
				b.Add(x)
				if _, ok := known[x]; !ok && p.Counters > 0 {
					for _, m := range sketches {
						m.Add(x)
					}
				}
			}
			for j, m := range sketches {
				if p.Counters > 0 {
					require.Equal(t, dptest.OK(m.AppendPrivateState(nil))(t), dptest.OK(s.sketches[j].AppendPrivateState(nil))(t), "step %d", now)
				}
			}
			r := dptest.OK(b.Step())(t)
			var keys []int
			for x := range known {
				keys = append(keys, x)
			}
			slices.Sort(keys)
			require.Equal(t, keys, append([]int(nil), r.keys...))
			for i, x := range r.keys {
				require.Equal(t, known[x].since, r.since[i])
			}
			steps := now + 1
			if longest := p.longest(); steps%longest == 0 {
				for i, x := range r.keys {
					count := r.values[len(r.values)-1][i]
					if k := known[x]; k.since <= steps-longest {
						known[x] = key{k.since, float64(count) / float64(longest)}
						if p.Retire > 0 && count < int64(p.Retire) {
							delete(known, x)
							changes++
						}
					}
				}
			}
			j := 0
			for d := range r.discoveries() {
				if p.Counters > 0 {
					sketches[j] = fresh()
				}
				for _, f := range d.fresh {
					if p.Counters == 0 {
						require.GreaterOrEqual(t, f.count, dptest.OK(p.Plan())(t).Threshold)
					}
					known[f.key] = key{steps, math.Trunc(f.count) / float64(d.span)}
					changes++
				}
				j++
			}
			if len(known) > p.MaxKnown {
				keys = keys[:0]
				for x := range known {
					keys = append(keys, x)
				}
				slices.SortFunc(keys, func(a, b int) int {
					return cmp.Or(cmp.Compare(known[b].rate, known[a].rate), cmp.Compare(a, b))
				})
				for _, x := range keys[p.MaxKnown:] {
					delete(known, x)
					changes++
				}
			}
		}
		require.Greater(t, changes, 5, "%+v", p)
	}
}

// A state that is restored goes on as the Builder it is of; one behind is refused, and with it all
// that is no state.
func TestPrivateState(t *testing.T) {
	for _, p := range []Params{short, {Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 6), Discovery: spansOf(2, 4), Counters: 4, MaxElements: 70}, {Epsilon: 1, Dim: 3}} {
		b := dptest.OK(New[int](p))(t)
		add := func(b *Builder[int], step int) {
			for i := range 40 {
				if keys := []int{i % 3, i + step}; p.MaxElements > 0 {
					b.AddFor(fmt.Sprint(i%7), keys)
				} else {
					b.Add(keys[0])
					b.Add(keys[1])
				}
			}
		}
		for now := range 7 {
			add(b, now)
			dptest.OK(b.Step())(t)
		}
		add(b, 7)
		state := dptest.OK(b.AppendPrivateState(nil))(t)
		again := dptest.OK(New[int](p))(t)
		require.NoError(t, again.RestorePrivateState(state, 7))
		require.Equal(t, state, dptest.OK(again.AppendPrivateState(nil))(t))
		for _, x := range []*Builder[int]{b, again} {
			held(x).draw = quiet{9}
		}
		if p.Counters == 0 {
			for now := 8; now < 12; now++ {
				require.Equal(t, dptest.OK(b.Step())(t), dptest.OK(again.Step())(t))
				add(b, now)
				add(again, now)
				require.Equal(t, dptest.OK(b.AppendPrivateState(nil))(t), dptest.OK(again.AppendPrivateState(nil))(t))
			}
		}
		require.ErrorIs(t, dptest.OK(New[int](p))(t).RestorePrivateState(state, 8), ErrMismatch, "behind what is published")
		again = dptest.OK(New[int](p))(t)
		after := dptest.OK(again.AppendPrivateState(nil))(t)
		ahead := dptest.OK(New[int](p))(t)
		for range 8 {
			dptest.OK(ahead.Step())(t)
		}
		before := dptest.OK(ahead.AppendPrivateState(nil))(t)
		require.ErrorIs(t, ahead.RestorePrivateState(state, 0), ErrMismatch, "behind what this one has stepped through")
		other := p
		other.Epsilon = 2
		require.ErrorIs(t, dptest.OK(New[int](other))(t).RestorePrivateState(state, 0), ErrMismatch)
		for n := range state {
			require.ErrorIs(t, again.RestorePrivateState(state[:n], 0), ErrFormat)
		}
		words := dptest.OK(New[string](Params{Epsilon: 1, Delta: 1e-2}))(t)
		require.ErrorIs(t, words.RestorePrivateState(state, 0), ErrFormat)
		require.Equal(t, before, dptest.OK(ahead.AppendPrivateState(nil))(t))
		require.Equal(t, after, dptest.OK(again.AppendPrivateState(nil))(t))
	}
}

func FuzzRestorePrivateState(f *testing.F) {
	p := Params{Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 2), Discovery: spansOf(1, 2), MaxElements: 9}
	b := dptest.OK(New[int](p))(f)
	held(b).draw = quiet{2}
	for range 3 {
		b.AddFor("u", []int{1, 2, 2})
		b.AddFor("v", []int{1, 2, 3})
		dptest.OK(b.Step())(f)
	}
	b.AddFor("u", []int{1, 4})
	f.Add(dptest.OK(b.AppendPrivateState(nil))(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := dptest.OK(New[int](p))(t)
		now := dptest.OK(b.AppendPrivateState(nil))(t)
		if b.RestorePrivateState(data, 0) == nil {
			now = data
			b.AddFor("u", []int{1, 7})
			require.NoError(t, b.RestorePrivateState(data, 0))
		}
		require.Equal(t, now, dptest.OK(b.AppendPrivateState(nil))(t))
		dptest.OK(b.Step())(t)
	})
}
