package sketch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
)

// batches feeds the stream to the sketches of two Builders, by Add and by AddSlice in pieces of
// random length, and compares.
func batches[K hashing.Key](t *testing.T, rng *rand.Rand, k int, stream []K) {
	t.Helper()
	one := private.New(Stream[K]{Sketch: *New[K](k)})
	many := private.New(Stream[K]{Sketch: *New[K](k)})
	probing := New[K](k) // by no fast way
	probing.hasher = private.Enter(one).hasher
	private.Leave(one)
	for _, key := range stream {
		Add(one, key)
		probing.Add(key)
	}
	for rest := stream; len(rest) > 0; {
		n := 1 + rng.IntN(len(rest))
		AddSlice(many, rest[:n])
		AddSlice(many, nil)
		rest = rest[n:]
	}
	s := &private.Enter(one).Sketch
	for _, other := range []*Sketch[K]{&private.Enter(many).Sketch, probing} {
		require.Equal(t, s.Counters(), other.Counters())
		require.Equal(t, s.decrements, other.decrements)
		require.Equal(t, s.entries, other.entries)
	}
}

func TestBatchesAreLoopsOverAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range dptest.Full(300, 60) {
		k, universe := 1+rng.IntN(40), uint64(1+rng.IntN(120))
		zipf := rand.NewZipf(rng, 1.01+rng.Float64(), 1, universe)
		stream := make([]uint64, rng.IntN(3000))
		small := make([]int32, len(stream))
		words := make([]string, len(stream))
		arrays := make([][16]byte, len(stream))
		for i := range stream {
			stream[i] = zipf.Uint64() * 0x9e3779b97f4a7c15
			small[i] = int32(stream[i])
			words[i] = fmt.Sprint(stream[i] % 1000)
			binary.LittleEndian.PutUint64(arrays[i][8*(stream[i]>>63):], stream[i]) // either half
		}
		batches(t, rng, k, stream)
		batches(t, rng, k, small)
		batches(t, rng, k, words)
		batches(t, rng, k, arrays)
	}
}
