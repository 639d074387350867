package misragries

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// 32 goroutines add while one releases: what one of them added before it heard of the release is
// counted, nothing twice, and nothing is added after.
func TestShardedCountsAll(t *testing.T) {
	const goroutines, each = 32, 500
	p := Params{Counters: 16, Epsilon: 1, Delta: 1e-6, MaxElements: 2}
	add := func(s *Sharded[int], goroutine int) {
		for i := range each {
			s.Add(i % 8)
			s.AddN(goroutine, 3)
			s.AddSlice([]int{i, i + 1})
		}
	}
	s, err := NewSharded[int](p, 5)
	require.NoError(t, err)
	var workers sync.WaitGroup
	for goroutine := range goroutines {
		workers.Go(func() { add(s, goroutine) })
	}
	workers.Wait()
	length := int64(0)
	for _, shard := range private.Share(s.shardedSecret).lanes {
		length += shard.builder.secretLength()
	}
	require.EqualValues(t, goroutines*each*(1+2+2), length, "AddN is cut at MaxElements")
	for _, shard := range private.Share(s.shardedSecret).lanes {
		require.InDelta(t, length/5, shard.builder.secretLength(), 0.2*float64(length)/5, "spread evenly")
	}
	sum, err := s.Sum()
	require.NoError(t, err)
	require.Equal(t, length, peek(sum.sumSecret).length)
	require.Equal(t, 5, peek(sum.sumSecret).sketches)

	s, err = NewSharded[int](p, 3)
	require.NoError(t, err)
	var releases atomic.Int32
	for goroutine := range 4 {
		workers.Go(func() { add(s, goroutine) })
		workers.Go(func() {
			for !s.Released() {
				runtime.Gosched()
				if _, err := s.Release(); err == nil {
					releases.Add(1)
				} else {
					require.ErrorIs(t, err, ErrReleased)
				}
			}
		})
	}
	workers.Wait()
	require.EqualValues(t, 1, releases.Load(), "released once")
	for _, shard := range private.Share(s.shardedSecret).lanes {
		require.True(t, shard.builder.Released())
	}
}

// secretLength returns the number of elements that a Builder counted.
func (b *Builder[K]) secretLength() int64 {
	s := peek(b.secret)
	return s.sketch.plain().length(s.sketch.k)
}

// Every element goes to one shard, which holds the stream of its elements in their order; and where
// the next goes does not follow from where the last went.
func TestShardsAreDrawn(t *testing.T) {
	p := Params{Counters: 3, Epsilon: 1, Delta: 1e-3}
	s, err := NewSharded[int](p, 4)
	require.NoError(t, err)
	streams := make([][]int, 4)
	last, repeats := -1, 0
	for i := range 200 {
		before := make([]int64, 4)
		for j, shard := range private.Share(s.shardedSecret).lanes {
			before[j] = shard.builder.secretLength()
		}
		s.Add(i % 7)
		moved := 0
		for j, shard := range private.Share(s.shardedSecret).lanes {
			if n := shard.builder.secretLength(); n != before[j] {
				require.Equal(t, before[j]+1, n)
				streams[j] = append(streams[j], i%7)
				moved++
				if j == last {
					repeats++
				}
				last = j
			}
		}
		require.Equal(t, 1, moved)
	}
	// 50 ± 6
	require.Greater(t, repeats, 5, "shards in turn: one element more would move all that follow")
	for j, shard := range private.Share(s.shardedSecret).lanes {
		require.Equal(t, privateState(t, build(t, p, streams[j])), privateState(t, shard.builder))
	}
}

func TestShardedKeepsItsSecret(t *testing.T) {
	const secret = "the key of one user"
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-3, MaxElements: 2}
	s, err := NewSharded[string](p, 2)
	require.NoError(t, err)
	s.AddN(secret, 2)
	dptest.Redacted(t, s, secret)
	dptest.Redacted(t, *s, secret)
	require.True(t, s.Guarantee().Equal(budget.ApproxDP(1, 1e-3, budget.User(2, budget.AddRemove))))
	copied := *s
	h, err := s.Release()
	require.NoError(t, err)
	require.Equal(t, ReducedSum, h.Method())
	require.Equal(t, 2, h.sketches)
	for _, released := range []*Sharded[string]{s, &copied, {}} {
		released.Add(secret)
		released.AddN(secret, 1)
		released.AddSlice([]string{secret})
		require.True(t, released.Released())
		_, err = released.Release()
		require.ErrorIs(t, err, ErrReleased)
		_, err = released.Sum()
		require.ErrorIs(t, err, ErrReleased)
	}
	require.Zero(t, new(Sharded[string]).Guarantee())
	for _, shards := range []int{-1, 0, maxShards + 1} {
		_, err := NewSharded[string](p, shards)
		require.ErrorIs(t, err, ErrParams)
	}
	p.Epsilon = 0
	_, err = NewSharded[string](p, 2)
	require.ErrorIs(t, err, ErrParams)
}

// BenchmarkGoroutines adds a stream of Zipf keys by 32 goroutines: to one Builder behind a mutex,
// to a Sharded, by single elements and by slices of 64, and to a Builder of each goroutine.
// ns/update is the time of the whole, over all elements.
func BenchmarkGoroutines(b *testing.B) {
	const goroutines, batch = 32, 64
	keys := zipfKeys(1<<20, 1<<20)
	p := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}
	run := func(name string, add func() func(keys []uint64)) {
		b.Run(fmt.Sprintf("how=%s", name), func(b *testing.B) {
			for b.Loop() {
				add := add()
				var workers sync.WaitGroup
				for i := range goroutines {
					workers.Go(func() { add(keys[i*len(keys)/goroutines : (i+1)*len(keys)/goroutines]) })
				}
				workers.Wait()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(keys)), "ns/update")
		})
	}
	builder := func() *Builder[uint64] {
		builder, err := New[uint64](p)
		if err != nil {
			b.Fatal(err)
		}
		return builder
	}
	sharded := func() *Sharded[uint64] {
		s, err := NewSharded[uint64](p, 2*runtime.GOMAXPROCS(0))
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	run("mutex", func() func([]uint64) {
		one, mutex := builder(), new(sync.Mutex)
		return func(keys []uint64) {
			for _, key := range keys {
				mutex.Lock()
				one.Add(key)
				mutex.Unlock()
			}
		}
	})
	run("Sharded", func() func([]uint64) {
		s := sharded()
		return func(keys []uint64) {
			for _, key := range keys {
				s.Add(key)
			}
		}
	})
	run("Sharded.AddSlice", func() func([]uint64) {
		s := sharded()
		return func(keys []uint64) {
			for ; len(keys) > batch; keys = keys[batch:] {
				s.AddSlice(keys[:batch])
			}
			s.AddSlice(keys)
		}
	})
	run("own", func() func([]uint64) {
		return func(keys []uint64) {
			own := builder()
			for _, key := range keys {
				own.Add(key)
			}
		}
	})
}

// BenchmarkAddN adds the bytes of packets of Zipf keys, of sizes up to 1500, at once.
func BenchmarkAddN(b *testing.B) {
	keys := zipfKeys(1<<20, 1<<20)
	builder, err := New[uint64](Params{Counters: 1024, Epsilon: 1, Delta: 1e-6, MaxElements: 1500})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, key := range keys {
			builder.AddN(key, 40+int(key%1461))
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(keys)), "ns/update")
}
