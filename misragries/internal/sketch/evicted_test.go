package sketch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

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

// agreeAnyhow runs the sketch and three references, which evict the smallest zero key, the
// largest and a random one: the positive counters and the number of decrements are the same all
// along, and with the smallest evicted the zero keys are.
func agreeAnyhow[K hashing.Key](t *testing.T, rng *rand.Rand, n int, key func(i int) K) {
	t.Helper()
	for _, k := range []int{1, 2, 7, 40} {
		for name, stream := range orders(rng, n/24, k) {
			s := New[K](k)
			references := []*reference[K]{newReference[K](k), newReference[K](k), newReference[K](k)}
			references[1].evict = func(n int) int { return n - 1 }
			references[2].evict = rng.IntN
			for i, x := range stream {
				s.Add(key(x))
				for _, r := range references {
					r.Add(key(x))
				}
				if i%97 != 0 && i != len(stream)-1 {
					continue
				}
				for _, r := range references {
					positive := slices.DeleteFunc(r.sorted(), func(c Counter[K]) bool { return c.Count == 0 })
					require.True(t, slices.Equal(positive, s.Positive()), "%T, k = %d, %s, element %d", *new(K), k, name, i)
					require.EqualValues(t, r.decrements, s.decrements)
				}
				require.True(t, slices.Equal(references[0].zeros(), s.retained()), "zero keys: %T, k = %d, %s, element %d", *new(K), k, name, i)
			}
		}
	}
}

// The sketch against the reference, whichever zero key that evicts: all key types.
func TestSketchIsAlgorithm1WhateverIsEvicted(t *testing.T) {
	n := 150_000
	if !dptest.Long() {
		n = 12_000
	}
	rng := rand.New(rand.NewPCG(21, 22))
	spread := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	type name string
	type id int64
	agreeAnyhow(t, rng, n, func(i int) string { return fmt.Sprint("key ", i) })
	agreeAnyhow(t, rng, n, func(i int) name { return name(fmt.Sprint(i)) })
	agreeAnyhow(t, rng, n, func(i int) int { return -i })
	agreeAnyhow(t, rng, n, func(i int) int32 { return int32(spread(i)) })
	agreeAnyhow(t, rng, n, func(i int) id { return id(spread(i)) })
	agreeAnyhow(t, rng, n, func(i int) uint { return uint(i) })
	agreeAnyhow(t, rng, n, func(i int) uint32 { return uint32(i) << 20 })
	agreeAnyhow(t, rng, n, spread)
}
