package sketch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/wire"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// naive is Algorithm 1 as a map and a loop over all counters. Which zero key is evicted is up to
// the test.
type naive[K hashing.Key] struct {
	k          int
	counts     map[K]int64
	zeros      []K
	decrements uint64
	evict      func(zeros []K) int
}

func (r *naive[K]) Add(key K) {
	if _, stored := r.counts[key]; stored {
		if i := slices.Index(r.zeros, key); i >= 0 {
			r.zeros = slices.Delete(r.zeros, i, i+1)
		}
		r.counts[key]++
		return
	}
	if len(r.counts) == r.k {
		if len(r.zeros) == 0 {
			r.decrements++
			for other := range r.counts {
				if r.counts[other]--; r.counts[other] == 0 {
					r.zeros = append(r.zeros, other)
				}
			}
			wire.Sort(r.zeros)
			return
		}
		i := r.evict(r.zeros)
		delete(r.counts, r.zeros[i])
		r.zeros = slices.Delete(r.zeros, i, i+1)
	}
	r.counts[key] = 1
}

func (r *naive[K]) Positive() (all []Counter[K]) {
	for key, count := range r.counts {
		if count > 0 {
			all = append(all, Counter[K]{key, count})
		}
	}
	Sort(all)
	return all
}

// orders are streams of n numbers below about 4k: at random, skewed, and such as are hard for
// Misra-Gries: k + 1 keys in turn, which decrement at every (k+1)-th element; each key in a block;
// a sweep up and down; heavy keys, then all new ones.
func orders(rng *rand.Rand, n, k int) map[string][]int {
	zipf := rand.NewZipf(rng, 1.2, 1, uint64(4*k))
	makers := map[string]func(i int) int{
		"random":  func(int) int { return rng.IntN(4 * k) },
		"skewed":  func(int) int { return int(zipf.Uint64()) },
		"in turn": func(i int) int { return i % (k + 1) },
		"blocks":  func(i int) int { return i / 7 % (3 * k) },
		"sweep":   func(i int) int { return max(i%(4*k)-2*k, 2*k-i%(4*k)) },
		"attack": func(i int) int {
			if i < n/3 {
				return i % k
			}
			return k + i%(2*k+1)
		},
	}
	streams := map[string][]int{}
	for name, maker := range makers {
		stream := make([]int, n)
		for i := range stream {
			stream[i] = maker(i)
		}
		streams[name] = stream
	}
	return streams
}

// agreeWithNaive runs the sketch and three references, which evict the smallest zero key, the
// largest and a random one: the positive counters and the number of decrements are the same all
// along, and with the smallest evicted the zero keys are.
func agreeWithNaive[K hashing.Key](t *testing.T, rng *rand.Rand, n int, key func(i int) K) {
	t.Helper()
	for _, k := range []int{1, 2, 7, 40} {
		for name, stream := range orders(rng, n/24, k) {
			s := New[K](k)
			references := []*naive[K]{
				{evict: func([]K) int { return 0 }},
				{evict: func(zeros []K) int { return len(zeros) - 1 }},
				{evict: func(zeros []K) int { return rng.IntN(len(zeros)) }},
			}
			for _, r := range references {
				r.k, r.counts = k, map[K]int64{}
			}
			for i, x := range stream {
				s.Add(key(x))
				for _, r := range references {
					r.Add(key(x))
				}
				if i%97 != 0 && i != len(stream)-1 {
					continue
				}
				for _, r := range references {
					require.True(t, slices.Equal(r.Positive(), s.Positive()), "%T, k = %d, %s, element %d", *new(K), k, name, i)
					require.Equal(t, r.decrements, s.decrements)
				}
				zeros := slices.Clone(references[0].zeros)
				wire.Sort(zeros)
				require.True(t, slices.Equal(zeros, s.retained()), "zero keys: %T, k = %d, %s, element %d", *new(K), k, name, i)
			}
		}
	}
}

// The sketch against the naive reference: 1e6 elements over all key types.
func TestSketchIsNaive(t *testing.T) {
	n := 150_000
	if !dptest.Long() {
		n = 12_000
	}
	rng := rand.New(rand.NewPCG(21, 22))
	spread := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	type name string
	type id int64
	agreeWithNaive(t, rng, n, func(i int) string { return fmt.Sprint("key ", i) })
	agreeWithNaive(t, rng, n, func(i int) name { return name(fmt.Sprint(i)) })
	agreeWithNaive(t, rng, n, func(i int) int { return -i })
	agreeWithNaive(t, rng, n, func(i int) int32 { return int32(spread(i)) })
	agreeWithNaive(t, rng, n, func(i int) id { return id(spread(i)) })
	agreeWithNaive(t, rng, n, func(i int) uint { return uint(i) })
	agreeWithNaive(t, rng, n, func(i int) uint32 { return uint32(i) << 20 })
	agreeWithNaive(t, rng, n, spread)
}
