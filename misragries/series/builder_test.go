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
func (q quiet) late(_ int, count int64) int64         { return count }
func (q quiet) show(_ int, count int64) (int64, bool) { return count, count >= q.threshold }
func (q quiet) sketch(_ int, b *misragries.Builder[int]) (*misragries.Histogram[int], error) {
	return b.Release()
}

func builder(t testing.TB, p Params) *Builder[int] {
	t.Helper()
	b, err := New[int](p)
	require.NoError(t, err)
	return b
}

// held returns what a Builder holds.
func held(b *Builder[int]) *state[int] {
	data := private.Enter(b.secret)
	private.Leave(b.secret)
	return data
}

func step(t testing.TB, b interface{ Step() (*Slice[int], error) }) *Slice[int] {
	t.Helper()
	s, err := b.Step()
	require.NoError(t, err)
	return s
}

func privateBytes(t testing.TB, b interface{ AppendPrivateState([]byte) ([]byte, error) }) []byte {
	t.Helper()
	data, err := b.AppendPrivateState(nil)
	require.NoError(t, err)
	return data
}

// short are Params whose nodes end soon.
var short = Params{Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4)}

func TestRedacted(t *testing.T) {
	b, err := New[string](Params{Epsilon: 1, Delta: 1e-6, MaxElements: 3})
	require.NoError(t, err)
	b.AddUser("a user's own name", "a key that is private")
	dptest.Redacted(t, b, "a user's own name", "a key that is private")
	dptest.Redacted(t, *b, "a user's own name", "a key that is private")
	c, err := NewCounter(CounterParams{Epsilon: 1})
	require.NoError(t, err)
	c.Add(1987654321)
	dptest.Redacted(t, c, "1987654321")
}

func TestZeroValues(t *testing.T) {
	var b Builder[int]
	b.Add(1)
	b.AddUser("a", 1)
	_, err := b.Step()
	require.ErrorIs(t, err, ErrReleased)
	_, err = b.AppendPrivateState(nil)
	require.ErrorIs(t, err, ErrReleased)
	require.ErrorIs(t, b.RestorePrivateState(nil, 0), ErrReleased)
	require.True(t, b.Released())
	require.False(t, b.Guarantee().Promises())
	var c Counter
	c.Add(1)
	c.AddUser("a", 1)
	_, err = c.Step()
	require.ErrorIs(t, err, ErrReleased)
	require.ErrorIs(t, c.RestorePrivateState(nil, 0), ErrReleased)
	require.True(t, c.Released())
	var l Timeline[int]
	require.ErrorIs(t, l.Append(&Slice[int]{}), ErrMismatch)
	require.ErrorIs(t, l.Append(nil), ErrMismatch)
	_, err = l.Window(0, 1)
	require.ErrorIs(t, err, ErrParams)
	l.Forget(3)
	var w *Window[int]
	lo, hi := w.Interval(1, 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	require.NotEmpty(t, w.String())
	require.NotEmpty(t, (&Slice[int]{}).String())
}

// The last step is refused before anything is drawn.
func TestLastStep(t *testing.T) {
	b := builder(t, short)
	held(b).steps = maxSteps - 1
	step(t, b)
	_, err := b.Step()
	require.ErrorIs(t, err, ErrReleased)
}

// An element counts if fewer than MaxElements of the user came in the last steps; with them,
// elements without a user do not.
func TestUsers(t *testing.T) {
	p := short
	p.MaxElements, p.Delta = 3, 1e-30 // so few elements are not shown, and stay where count looks
	b := builder(t, p)
	s := held(b)
	count := func() (sum int64) {
		for _, r := range s.unknown.rows {
			for _, x := range r.sums {
				sum += x
			}
		}
		return sum
	}
	b.Add(5)
	require.Zero(t, count())
	b.AddUser("a", 1, 1)
	b.AddUser("b")
	b.AddUser("b", 2, 3, 4, 5)
	require.EqualValues(t, 5, count())
	for range 3 {
		step(t, b)
	}
	before := count()
	b.AddUser("a", 7, 8)
	require.EqualValues(t, 1, count()-before)
	require.Equal(t, map[string]*visits{"a": {{0, 1}, {3, 2}}, "b": {{0, 3}}}, s.users)
	for range 3 {
		step(t, b)
	}
	require.Equal(t, map[string]*visits{"a": {{0, 1}, {3, 2}}}, s.users, "who was not here for six steps is forgotten")
	before = count()
	b.AddUser("a", 9, 9, 9, 9) // with two in step 3, three steps ago
	require.EqualValues(t, 1, count()-before)
	require.Equal(t, map[string]*visits{"a": {{6, 3}}}, s.users)
	for range 5 {
		step(t, b)
		before = count()
		b.AddUser("a", 9) // which does not count, and comes all the same
		require.Equal(t, before, count())
	}
	require.Equal(t, map[string]*visits{"a": {{9, 1}, {10, 1}, {11, 1}}}, s.users)
	for range 5 {
		step(t, b)
	}
	before = count()
	b.AddUser("a", 9, 9, 9)
	require.EqualValues(t, 2, count()-before)

	c, err := NewCounter(CounterParams{Epsilon: 1, MaxElements: 4})
	require.NoError(t, err)
	c.Add(7)
	c.AddUser("a", 3)
	c.AddUser("a", 3)
	c.AddUser("b", -2)
	c.AddUser("b", 1)
	require.EqualValues(t, 5, held(c.builder()).known[0].sums[0])
	c, err = NewCounter(CounterParams{Epsilon: 1})
	require.NoError(t, err)
	c.Add(7)
	c.Add(-3)
	c.AddUser("a", 2)
	require.EqualValues(t, 9, held(c.builder()).known[0].sums[0])
	c.Add(math.MaxInt)
	c.Add(math.MaxInt)
	require.LessOrEqual(t, held(c.builder()).known[0].sums[0], int64(limit))
}

// Names that are cut out of a large buffer do not keep it alive.
func TestNamesAreCopied(t *testing.T) {
	p := plain
	p.MaxElements = 3
	b, err := New[string](p)
	require.NoError(t, err)
	for i := range 100 {
		large := strings.Repeat(string(rune('a'+i)), 1<<20)
		for range 2 {
			b.AddUser(large[:10], large[:7])
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

// What a user does in any steps as many as the longest span has moves 2·MaxElements elements that
// count at most, in these and the next so many steps: all streams of a user over some steps are
// tried, with all that lies in some of them and without. It is attained. Two simpler rules are not
// bounded so: a limit of elements that count, in steps that slide, lets one step decide what counts
// for ever; and in fixed periods up to three times MaxElements move.
func TestUserIsBounded(t *testing.T) {
	type rule func(stream []int, span, most int) []int
	ours := func(stream []int, span, most int) (counts []int) {
		s := state[int]{params: Params{Spans: spansOf(1, span), MaxElements: most}, users: map[string]*visits{}}
		for now, n := range stream {
			s.steps = now
			if now%span == 0 {
				s.forgetUsers()
			}
			together := 0
			for range n % 2 { // some one by one, the others at once
				together += s.admit("a", 1)
			}
			counts = append(counts, together+s.admit("a", n-n%2))
		}
		return counts
	}
	sliding := func(stream []int, span, most int) (counts []int) {
		for now, n := range stream {
			had := 0
			for _, x := range counts[max(now-span+1, 0):] {
				had += x
			}
			counts = append(counts, min(n, most-had))
		}
		return counts
	}
	periods := func(stream []int, span, most int) (counts []int) {
		had := 0
		for now, n := range stream {
			if now%span == 0 {
				had = 0
			}
			counts = append(counts, min(n, most-had))
			had += counts[now]
		}
		return counts
	}
	worst := func(r rule, span, most, steps, values int) (moved int, local bool) {
		local = true
		stream, without := make([]int, steps), make([]int, steps)
		all := 1
		for range steps {
			all *= values
		}
		for code := range all {
			for i, rest := 0, code; i < steps; i, rest = i+1, rest/values {
				stream[i] = rest % values
			}
			x := r(stream, span, most)
			for from := range steps - span + 1 {
				copy(without, stream)
				clear(without[from : from+span])
				within, differ := 0, 0
				for now, y := range r(without, span, most) {
					if now >= from && now < from+span {
						within += x[now]
					}
					if d := max(x[now], y) - min(x[now], y); d > 0 {
						differ += d
						local = local && now >= from && now < from+2*span
					}
				}
				require.LessOrEqual(t, within, 2*most)
				local = local && within <= most
				moved = max(moved, differ)
			}
		}
		return moved, local
	}
	for _, c := range []struct{ span, most, steps, values int }{{2, 1, 7, 3}, {2, 2, 6, 4}, {3, 1, 8, 2}, {3, 2, 7, 3}} {
		moved, local := worst(ours, c.span, c.most, c.steps, c.values)
		require.Equal(t, 2*c.most, moved, "%+v", c)
		require.True(t, local)
	}
	moved, local := worst(sliding, 2, 2, 6, 4)
	require.Greater(t, moved, 4)
	require.False(t, local)
	moved, _ = worst(periods, 2, 2, 6, 4)
	require.Equal(t, 6, moved)
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
		b := builder(t, p)
		s := held(b)
		type key struct {
			since int
			rate  float64
		}
		known := map[int]key{}
		sketches := make([]*misragries.Builder[int], len(used(&p.Discovery)))
		fresh := func() *misragries.Builder[int] {
			m, err := misragries.New[int](s.law.sketch)
			require.NoError(t, err)
			return m
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
					require.Equal(t, privateBytes(t, m), privateBytes(t, s.sketches[j]), "step %d", now)
				}
			}
			r := step(t, b)
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
						require.GreaterOrEqual(t, f.count, p.Threshold())
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

// Without noise all published counts are those of the stream: in each node of the steps in which a
// key is known, and before it in those of a discovery node in which it is not.
func TestCounts(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4, 8)},
		{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 3), Discovery: spansOf(1, 2), Retire: 12},
		{Epsilon: 1, Delta: 0.1, Spans: spansOf(1, 3), Discovery: spansOf(2, 12), MaxKnown: 3},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		b := builder(t, p)
		s := held(b)
		s.draw = quiet{9}
		var counts []map[int]int
		knownAt := func(x, at int) bool { return false }
		var slicesOf []*Slice[int]
		for now := range 48 {
			m := map[int]int{}
			for range 30 {
				x := rng.IntN(1+rng.IntN(12)) + now/16
				m[x]++
				b.Add(x)
			}
			counts = append(counts, m)
			r := step(t, b)
			slicesOf = append(slicesOf, r)
			knownAt = func(x, at int) bool {
				_, ok := slices.BinarySearch(slicesOf[at].keys, x)
				return ok
			}
			for l, values := range r.values {
				for i, x := range r.keys {
					sum := 0
					for at := max(now+1-p.normal().Spans[l], r.since[i]); at <= now; at++ {
						require.True(t, knownAt(x, at))
						sum += counts[at][x]
					}
					require.EqualValues(t, sum, values[i])
				}
			}
			for d := range r.discoveries() {
				for _, f := range append(d.late, d.fresh...) {
					sum := 0
					for at := now + 1 - d.span; at <= now; at++ {
						if !knownAt(f.key, at) {
							sum += counts[at][f.key]
						}
					}
					require.EqualValues(t, sum, f.count, "step %d, key %d", now, f.key)
				}
			}
		}
		require.NotEmpty(t, slicesOf[47].keys)
	}
}

// A state that is restored goes on as the Builder it is of; one behind is refused, and with it all
// that is no state.
func TestPrivateState(t *testing.T) {
	for _, p := range []Params{short, {Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 6), Discovery: spansOf(2, 4), Counters: 4, MaxElements: 70}, {Epsilon: 1, Dim: 3}} {
		b := builder(t, p)
		add := func(b *Builder[int], step int) {
			for i := range 40 {
				b.AddUser(fmt.Sprint(i%7), i%3, i+step)
			}
		}
		for now := range 7 {
			add(b, now)
			step(t, b)
		}
		add(b, 7)
		state := privateBytes(t, b)
		again := builder(t, p)
		require.NoError(t, again.RestorePrivateState(state, 7))
		require.Equal(t, state, privateBytes(t, again))
		for _, x := range []*Builder[int]{b, again} {
			held(x).draw = quiet{9}
		}
		if p.Counters == 0 {
			for now := 8; now < 12; now++ {
				require.Equal(t, step(t, b), step(t, again))
				add(b, now)
				add(again, now)
				require.Equal(t, privateBytes(t, b), privateBytes(t, again))
			}
		}
		require.ErrorIs(t, builder(t, p).RestorePrivateState(state, 8), ErrMismatch, "behind what is published")
		again = builder(t, p)
		after := privateBytes(t, again)
		ahead := builder(t, p)
		for range 8 {
			step(t, ahead)
		}
		before := privateBytes(t, ahead)
		require.ErrorIs(t, ahead.RestorePrivateState(state, 0), ErrMismatch, "behind what this one has stepped through")
		other := p
		other.Epsilon = 2
		require.ErrorIs(t, builder(t, other).RestorePrivateState(state, 0), ErrMismatch)
		for n := range state {
			require.ErrorIs(t, again.RestorePrivateState(state[:n], 0), ErrFormat)
		}
		words, err := New[string](Params{Epsilon: 1, Delta: 1e-2})
		require.NoError(t, err)
		require.ErrorIs(t, words.RestorePrivateState(state, 0), ErrFormat)
		require.Equal(t, before, privateBytes(t, ahead))
		require.Equal(t, after, privateBytes(t, again))
	}
}

func FuzzRestorePrivateState(f *testing.F) {
	p := Params{Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 2), Discovery: spansOf(1, 2), MaxElements: 9}
	b := builder(f, p)
	held(b).draw = quiet{2}
	for range 3 {
		b.AddUser("u", 1, 2, 2)
		b.AddUser("v", 1, 2, 3)
		step(f, b)
	}
	b.AddUser("u", 1, 4)
	f.Add(privateBytes(f, b))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := builder(t, p)
		now := privateBytes(t, b)
		if b.RestorePrivateState(data, 0) == nil {
			now = data
			b.AddUser("u", 1, 7)
			require.NoError(t, b.RestorePrivateState(data, 0))
		}
		require.Equal(t, now, privateBytes(t, b))
		step(t, b)
	})
}
