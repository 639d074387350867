package sketch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// vector is (c, D) as maps and sorting make it: the reference of merge and of PAMG.
type vector[K hashing.Key] struct {
	k int
	c map[K]uint64
	d uint64
}

func newVector[K hashing.Key](k int) *vector[K] { return &vector[K]{k: k, c: map[K]uint64{}} }

// merge is the definition: sum, subtract the (k+1)-th largest, keep the positive.
func (v *vector[K]) merge(other *vector[K]) {
	for key, count := range other.c {
		v.c[key] += count
	}
	v.d += other.d
	if len(v.c) <= v.k {
		return
	}
	sums := slices.Sorted(maps.Values(v.c))
	largest := sums[len(sums)-1-v.k]
	for key := range v.c {
		v.c[key] -= min(largest, v.c[key])
	}
	maps.DeleteFunc(v.c, func(_ K, count uint64) bool { return count == 0 })
	v.d += largest
}

func (s *Sketch[K]) merge(other *Sketch[K]) { s.Merge(other, s.k) }

// vector returns (c, D) as the entries have it.
func (s *Sketch[K]) vector() *vector[K] {
	v := newVector[K](s.k)
	for _, e := range s.entries {
		v.c[e.key] = e.total - s.decrements
	}
	v.d = s.decrements
	return v
}

// holding returns a sketch of the given state.
func holding[K hashing.Key](k int, c map[K]uint64, d uint64) *Sketch[K] {
	s := New[K](k)
	s.decrements = d
	for _, key := range slices.SortedFunc(maps.Keys(c), wire.Compare[K]) {
		s.Add(key)
		s.entries[len(s.entries)-1].total += c[key] - 1
	}
	return s
}

// sound checks what the table promises: at most k positive counters, each found, with room for one
// more.
func sound[K hashing.Key](t *testing.T, s *Sketch[K], k int) {
	t.Helper()
	require.LessOrEqual(t, len(s.entries), k)
	require.Less(t, len(s.entries), cap(s.entries))
	for i, e := range s.entries {
		require.Greater(t, e.total, s.decrements)
		require.Equal(t, i, s.find(e.key))
	}
	held := 0
	for slot := range s.index.size {
		if s.index.at(slot) != 0 {
			held++
		}
	}
	require.Equal(t, len(s.entries), held)
}

// difference returns the number of counters that differ, and fails unless (c, −D) of a and b differ
// by 0 or 1, with one sign, in at most k counters.
func difference[K hashing.Key](t *testing.T, a, b *vector[K]) int {
	t.Helper()
	up, down := 0, 0
	count := func(x, y uint64) {
		switch x - y {
		case 0:
		case 1:
			up++
		case ^uint64(0):
			down++
		default:
			t.Fatalf("%d against %d: %v %v", x, y, a, b)
		}
	}
	for key, x := range a.c {
		count(x, b.c[key])
	}
	for key, y := range b.c {
		if _, common := a.c[key]; !common {
			count(0, y)
		}
	}
	changed := up + down
	count(b.d, a.d) // −D
	if up != 0 && down != 0 || changed > a.k {
		t.Fatalf("%d up, %d down: %v %v", up, down, a, b)
	}
	return changed
}

// further fails unless a, of one element or user more than b, is in case (A) or (B). It returns the
// number of counters that differ.
func further[K hashing.Key](t *testing.T, a, b *vector[K]) int {
	t.Helper()
	below, above := b, a // (A)
	if a.d != b.d {
		require.Equal(t, b.d+1, a.d)
		below, above = a, b // (B)
	}
	for key, count := range below.c {
		if count > above.c[key] {
			t.Fatalf("the wrong sign: %v %v", a, b)
		}
	}
	return difference(t, a, b)
}

// (b) on all neighbouring streams over 4 keys up to length 6, each merged with a few others, from
// either side, and an element more.
func TestMergeOfAllShortNeighbours(t *testing.T) {
	length := 6
	if !dptest.Long() {
		length = 4
	}
	others := [][]int{nil, {3}, {0, 0, 1}, {1, 1, 2, 2, 3}, {0, 1, 2, 3, 4, 5}, {4, 4, 5, 5, 5, 6, 0}}
	of := func(k int, stream []int) *Sketch[int] {
		s := New[int](k)
		s.AddSlice(stream)
		return s
	}
	for k := 1; k <= 3; k++ {
		pairs := 0
		seen := map[string]bool{}
		check := func(stream, less []int) {
			a, b := of(k, stream), of(k, less)
			id := fmt.Sprint(a.vector().c, b.vector().c, a.decrements-b.decrements)
			if seen[id] {
				return
			}
			seen[id] = true
			pairs++
			further(t, a.vector(), b.vector())
			for _, other := range others {
				a, b, o := of(k, stream), of(k, less), of(k, other)
				a.merge(o)
				b.merge(o)
				further(t, a.vector(), b.vector())
				sound(t, a, k)
				into, against := of(k, other), of(k, other)
				into.merge(of(k, stream))
				against.merge(of(k, less))
				require.Equal(t, a.vector(), into.vector(), "a merge commutes")
				require.Equal(t, b.vector(), against.vector())
				for key := range 4 {
					a.Add(key)
					b.Add(key)
					further(t, a.vector(), b.vector())
				}
			}
		}
		var extend func(stream []int)
		extend = func(stream []int) {
			for i := range stream {
				check(stream, slices.Concat(stream[:i], stream[i+1:]))
			}
			if len(stream) < length {
				for key := range 4 {
					extend(append(slices.Clone(stream), key))
				}
			}
		}
		extend(nil)
		t.Logf("k = %d: %d classes of neighbours", k, pairs)
	}
}

// Lemma 17 as it stands: any counters with T′ ⊆ T that differ by 0 or 1, not only those of streams.
func TestLemma17(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	runs := 20_000
	if !dptest.Long() {
		runs = 2000
	}
	for range runs {
		k, high := 1+rng.IntN(8), uint64(1+rng.IntN(9))
		c, less := map[int]uint64{}, map[int]uint64{}
		for range rng.IntN(k + 1) {
			key := rng.IntN(2 * k)
			c[key] = 1 + rng.Uint64N(high)
			if less[key] = c[key] - rng.Uint64N(2); less[key] == 0 {
				delete(less, key)
			}
		}
		other := map[int]uint64{}
		for range rng.IntN(k + 1) {
			other[rng.IntN(2*k)] = 1 + rng.Uint64N(high)
		}
		d := rng.Uint64N(5)
		a, b := holding(k, c, d), holding(k, less, d+rng.Uint64N(2))
		o := holding(k, other, rng.Uint64N(5))
		a.merge(o)
		b.merge(o)
		difference(t, a.vector(), b.vector())
	}
}

// shard is a sketch and its reference.
type shard struct {
	s *Sketch[string]
	v *vector[string]
}

func (a shard) merge(t *testing.T, b shard) shard {
	before := b.s.vector()
	a.s.merge(b.s)
	a.v.merge(b.v)
	require.Equal(t, before, b.s.vector(), "other is only read")
	require.Equal(t, a.v, a.s.vector())
	require.Nil(t, a.s.retained())
	return a
}

// 64 shards in a chain, a tree and a random association: c ≤ f ≤ c + D, D ≤ N/(k+1), with elements
// that come after the merges as well.
func TestMergeOfShards(t *testing.T) {
	const k, length, late = 100, 2000, 10
	rng := rand.New(rand.NewPCG(25, 26))
	zipf := rand.NewZipf(rng, 1.2, 1, 1<<20)
	streams := make([][]string, 64)
	f := map[string]uint64{}
	for i := range streams {
		for range length {
			key := fmt.Sprint(zipf.Uint64())
			streams[i] = append(streams[i], key)
			f[key]++
		}
	}
	var tree func(shards []shard) shard
	tree = func(shards []shard) shard {
		if n := len(shards); n > 1 {
			return tree(shards[:n/2]).merge(t, tree(shards[n/2:]))
		}
		return shards[0]
	}
	for name, fold := range map[string]func(shards []shard) shard{
		"tree": tree,
		"chain": func(shards []shard) shard {
			for _, next := range shards[1:] {
				shards[0].merge(t, next)
			}
			return shards[0]
		},
		"random": func(shards []shard) shard {
			for n := len(shards); n > 1; n-- {
				rng.Shuffle(n, func(i, j int) { shards[i], shards[j] = shards[j], shards[i] })
				shards[0].merge(t, shards[n-1])
			}
			return shards[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			var shards []shard
			for _, stream := range streams {
				s := New[string](k)
				s.AddSlice(stream[late:])
				shards = append(shards, shard{s, s.vector()})
			}
			s := fold(shards).s
			for _, stream := range streams {
				s.AddSlice(stream[:late])
			}
			v := s.vector()
			for key, count := range f {
				require.LessOrEqual(t, v.c[key], count)
				require.LessOrEqual(t, count, v.c[key]+v.d)
			}
			require.LessOrEqual(t, v.d, uint64(len(streams)*length/(k+1)))
			sound(t, s, k)
			t.Logf("D = %d, at most %d", v.d, len(streams)*length/(k+1))
		})
	}
}

// Tables that grow by a merge, keep their size, or use wide slots, are as sound as others, and take
// elements afterwards.
func TestMergeGrowsTheTable(t *testing.T) {
	for _, c := range []struct{ k, a, b, common int }{
		{5000, 10, 4000, 5}, {5000, 900, 900, 0}, {5000, 1024, 1, 0}, {5000, 1024, 1024, 1024}, {5000, 5000, 5000, 0}, {5000, 0, 5000, 0}, {1, 1, 1, 0},
		{1 << 16, 60_000, 1 << 16, 30_000}, {1 << 16, 1 << 16, 1 << 16, 1}, {3, 0, 0, 0},
	} {
		if !dptest.Long() && c.b == 1<<16 {
			continue
		}
		a, b := New[uint64](c.k), New[uint64](c.k)
		for i := range c.a {
			a.Add(uint64(i))
			a.Add(uint64(i))
		}
		for i := range c.b {
			b.Add(uint64(c.a - c.common + i))
		}
		want := a.vector()
		want.merge(b.vector())
		a.merge(b)
		require.Equal(t, want, a.vector(), "%+v", c)
		sound(t, a, c.k)
		for key := range uint64(100) {
			a.Add(key)
			want.merge(&vector[uint64]{c.k, map[uint64]uint64{key: 1}, 0})
			a.Add(key << 40)
			want.merge(&vector[uint64]{c.k, map[uint64]uint64{key << 40: 1}, 0})
		}
		require.Equal(t, want, a.vector(), "%+v", c)
		sound(t, a, c.k)
	}
}

// The keys of the zero counters, and of the entries that go, are let go of, as after a decrement.
func TestMergeForgets(t *testing.T) {
	const k = 8
	a, b := New[string](k), New[string](k)
	for i := range 3 * k {
		a.Add(fmt.Sprint(i))
		b.Add(fmt.Sprint(100 + i/2))
	}
	require.NotEmpty(t, a.retained())
	a.merge(b)
	require.Nil(t, a.retained())
	for _, key := range a.zeros[:cap(a.zeros)] {
		require.Empty(t, key)
	}
	for _, e := range a.entries[len(a.entries):cap(a.entries)] {
		require.Empty(t, e.key)
	}
}

// Doubled a hundred times, a sketch and its neighbour stay at the limit, still neighbours.
func TestMergeSaturates(t *testing.T) {
	a := holding(3, map[int]uint64{1: 9, 2: Limit - 3, 3: Limit + 1<<20}, 5)
	b := holding(3, map[int]uint64{1: 9, 2: Limit - 4, 3: Limit - 1 + 1<<20}, 6)
	difference(t, a.vector(), b.vector())
	other := holding(3, map[int]uint64{2: 3, 4: 7, 5: Limit - 1}, Limit-5)
	for range 100 {
		a.merge(other)
		b.merge(other)
		difference(t, a.vector(), b.vector())
		a.Add(2)
		b.Add(2)
		sound(t, a, 3)
	}
	require.Equal(t, uint64(Limit), a.decrements)
	self := holding(2, map[int]uint64{1: 2, 2: 1}, 1)
	for range 100 {
		self.merge(self)
	}
	require.Equal(t, []Counter[int]{{1, Limit}, {2, Limit}}, self.Positive())
	require.Equal(t, uint64(Limit), self.decrements)
}
