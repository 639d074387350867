package misragries

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// event is what one call of AddN adds.
type event struct{ key, n int }

// elements returns the stream that the events stand for, where at most m elements of each count.
func elements(events []event, m int) (stream []int) {
	for _, e := range events {
		for range min(e.n, m) {
			stream = append(stream, e.key)
		}
	}
	return stream
}

// eachEvents calls f with every list of events up to a length, over keys 0 to keys−1 with weights 1
// to m.
func eachEvents(keys, m, length int, f func(events []event)) {
	var extend func(events []event)
	extend = func(events []event) {
		f(events)
		if len(events) == length {
			return
		}
		for key := range keys {
			for n := range m {
				extend(append(slices.Clone(events), event{key, n + 1}))
			}
		}
	}
	extend(nil)
}

// AddN leaves the state of n times Add: events of more than MaxElements, which it cuts, all kinds
// of keys, states that are encoded, merged and gone on with in between.
func TestAddNAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range dptest.Full(300, 40) {
		p := Params{Counters: 1 + rng.IntN(30), Epsilon: 1, Delta: 0.05, MaxElements: 1 + rng.IntN(40)}
		zipf := rand.NewZipf(rng, 1.01+rng.Float64(), 1, uint64(4*p.Counters))
		events := make([]event, 400)
		for i := range events {
			events[i] = event{int(zipf.Uint64()), rng.IntN(p.MaxElements + 2)}
		}
		weighted(t, rng, p, events, func(key int) int { return key - 7 })
		weighted(t, rng, p, events, func(key int) uint32 { return uint32(key) * 0x9e3779b9 })
		weighted(t, rng, p, events, func(key int) string { return fmt.Sprint(key) })
	}
}

func weighted[K hashing.Key](t *testing.T, rng *rand.Rand, p Params, events []event, key func(int) K) {
	t.Helper()
	fresh := func() *Builder[K] {
		return dptest.OK(New[K](p))(t)
	}
	one, many := fresh(), fresh()
	others := [2]*Builder[K]{fresh(), fresh()}
	for i, e := range events {
		many.AddN(key(e.key), e.n)
		others[1].AddN(key(e.key+1), e.n)
		for range min(e.n, p.MaxElements) {
			one.Add(key(e.key))
			others[0].Add(key(e.key + 1))
		}
		switch rng.IntN(40) {
		case 0:
			require.Equal(t, dptest.OK(one.AppendPrivateState(nil))(t), dptest.OK(many.AppendPrivateState(nil))(t), "event %d", i)
		case 1:
			back := fresh()
			require.NoError(t, back.RestorePrivateState(dptest.OK(many.AppendPrivateState(nil))(t)))
			many = back
		}
	}
	require.Equal(t, dptest.OK(one.AppendPrivateState(nil))(t), dptest.OK(many.AppendPrivateState(nil))(t))
	a, b := peek(one.secret).Sketch, peek(many.secret).Sketch
	require.Equal(t, a.Counters(), b.Counters())
	require.NoError(t, one.Merge(others[0]))
	require.NoError(t, many.Merge(others[1]))
	for range 20 { // a merged sketch goes on
		k := key(rng.IntN(100))
		many.AddN(k, 2)
		for range min(2, p.MaxElements) {
			one.Add(k)
		}
	}
	require.Equal(t, dptest.OK(one.AppendPrivateState(nil))(t), dptest.OK(many.AppendPrivateState(nil))(t))
}

// AddN ignores what Add ignores, and what is no number of elements.
func TestAddNIgnores(t *testing.T) {
	b := build(t, Params{Counters: 4, Epsilon: 1, Dim: 10, MaxElements: 5}, []int{})
	empty := dptest.OK(b.AppendPrivateState(nil))(t)
	for _, e := range []event{{3, 0}, {3, -1}, {-1, 2}, {10, 2}} {
		b.AddN(e.key, e.n)
		require.Equal(t, empty, dptest.OK(b.AppendPrivateState(nil))(t))
	}

	// Several elements of one event, where the guarantee is for one.
	b = build(t, Params{Epsilon: 1, Delta: 1e-6}, []int{})
	b.AddN(1, 1)
	b.AddN(1, 2)
	require.ErrorContains(t, dptest.Err(b.Release()), "MaxElements")
}

// Theorem: a release is (ε, δ)-private for one event of up to MaxElements elements. To add it is to
// add them one by one, so this is group privacy. Computed for all pairs of streams of events over 3
// keys that differ by one event, after nothing and after a key that is surely shown, from the
// calibrated threshold and noise. Neither those of one element do, nor events beyond the cut.
func TestAnEventIsPrivateExactly(t *testing.T) {
	const m, epsilon = 2, 1.0
	for k := 1; k <= 3; k++ {
		p := Params{Counters: k, Epsilon: epsilon, Delta: 0.01, MaxElements: m}
		c := lawOf(p)
		l := drawn{c.noise(), c.Threshold}
		pairs := func(most int) [][2]*reference[int] {
			return slices.Concat(eventNeighbours(k, most, dptest.Full(4, 2), nil), eventNeighbours(k, most, 2, repeat(int(l.tau)+9)))
		}
		known, beyond := pairs(m), pairs(2*m)
		exact := l.worst(known, epsilon)
		require.LessOrEqual(t, exact, p.Delta, "k = %d", k)
		require.Greater(t, exact, p.Delta/4, "far below: nothing is seen here")
		t.Logf("k = %d: %d classes, δ = %.3g of %v", k, len(known), exact, p.Delta)

		alone := p
		alone.MaxElements = 1
		one := lawOf(alone)
		require.Greater(t, drawn{one.noise(), l.tau}.worst(known, epsilon), p.Delta, "noise of one element")
		require.Greater(t, drawn{l.noise, one.Threshold}.worst(known, epsilon), p.Delta, "threshold of one element")
		require.Greater(t, l.worst(beyond, epsilon), p.Delta, "events of more than MaxElements")
	}
}

// The thresholds of events, as the comment at AddN has them.
func TestEventThresholds(t *testing.T) {
	for m, want := range map[int][3]float64{1: {17, 15.45, 16.633}, 20: {19.75, 15.57, 17.068}, 1500: {24.21, 15.57, 17.473}} {
		p := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6, MaxElements: m}
		for i, mechanism := range []Method{KeptZeros, ReducedSum, TrimmedSum} {
			p.Method = mechanism
			require.InDelta(t, want[i], lawOf(p).lowest()/float64(m), 0.006, "%d, %v", m, mechanism)
		}
	}
}

// eventNeighbours returns every pair of states that some elements and then events over 3 keys with
// weights up to m, and the same without one event, lead to, each once but for the names of the
// keys.
func eventNeighbours(k, m, length int, first []int) [][2]*reference[int] {
	seen := map[string]bool{}
	var pairs [][2]*reference[int]
	eachEvents(3, m, length, func(events []event) {
		whole := run(k, slices.Concat(first, elements(events, m)))
		for i := range events {
			less := run(k, slices.Concat(first, elements(slices.Concat(events[:i], events[i+1:]), m)))
			id := fmt.Sprint(whole.counts, less.counts, whole.decrements-less.decrements)
			if !seen[id] {
				seen[id] = true
				pairs = append(pairs, [2]*reference[int]{whole, less})
			}
		}
	})
	return upToNames(pairs)
}

// An event of n elements is n steps between neighbours, and no more: D rises by some b ≤ n, c + D
// of every key that both sides hold by 0 or more, and b and all these together are at most n.
func TestAnEventIsSoManySteps(t *testing.T) {
	const m = 3
	for k := 1; k <= 3; k++ {
		for _, pair := range eventNeighbours(k, m, dptest.Full(4, 3), nil) {
			steps := pair[0].decrements - pair[1].decrements
			require.GreaterOrEqual(t, steps, int64(0))
			for key, count := range pair[0].counts {
				if other, both := pair[1].counts[key]; both {
					rise := count + pair[0].decrements - other - pair[1].decrements
					require.GreaterOrEqual(t, rise, int64(0))
					steps += rise
				}
			}
			require.LessOrEqual(t, steps, int64(m), "%v, %v", pair[0], pair[1])
		}
	}
}

// Counters that were given or merged lie at 2⁶² at most, and so does D: adding to them takes no
// Builder its data, as that would tell of a single element. (It did, as totals c + D were
// compared.)
func TestAddNToGivenAndMergedCounters(t *testing.T) {
	p := Params{Counters: 2, Epsilon: 1, Delta: 1e-6, MaxElements: maxElements}
	given := func(counts ...int64) *Builder[int] {
		all := map[int]int64{}
		for key, count := range counts {
			all[key] = count
		}
		return dptest.OK(FromMisraGries(p, all))(t)
	}
	for _, key := range []int{0, 1, 9} {
		b := given(sketch.Limit, sketch.Limit)
		b.AddN(key, maxElements)
		require.False(t, b.Released())
		merged, other := given(sketch.Limit, sketch.Limit), map[int]int64{5: sketch.Limit, 6: sketch.Limit}
		o := dptest.OK(FromMisraGries(p, other))(t)
		require.NoError(t, merged.Merge(o))
		merged.AddN(key, maxElements)
		require.False(t, merged.Released())
		dptest.OK(merged.Release())(t)
	}
}
