package misragries

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// batches feeds the stream to two Builders, by Add and by AddSlice in pieces of random length, and
// compares.
func batches[K hashing.Key](t *testing.T, rng *rand.Rand, k int, stream []K) {
	t.Helper()
	var states []*state[K]
	builders := make([]*Builder[K], 2)
	for i := range builders {
		b, err := New[K](Params{Counters: k, Epsilon: 1, Delta: 1e-6})
		require.NoError(t, err)
		builders[i], states = b, append(states, peek(b.secret))
	}
	probing := newSketch[K](k) // by no fast way
	probing.hasher = states[0].sketch.hasher
	for _, key := range stream {
		builders[0].Add(key)
		probing.add(key)
	}
	states = append(states, &state[K]{sketch: *probing})
	for rest := stream; len(rest) > 0; {
		n := 1 + rng.IntN(len(rest))
		builders[1].AddSlice(rest[:n])
		builders[1].AddSlice(nil)
		rest = rest[n:]
	}
	for _, s := range states[1:] {
		require.Equal(t, states[0].sketch.counters(), s.sketch.counters())
		require.Equal(t, states[0].sketch.decrements, s.sketch.decrements)
		require.Equal(t, states[0].sketch.entries, s.sketch.entries)
	}
}

func TestBatchesAreLoopsOverAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range full(300, 60) {
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

func TestBatchesAfterRelease(t *testing.T) {
	b := build(t, Params{Counters: 4, Epsilon: 1, Delta: 1e-6}, []int{1, 2})
	_, err := b.Release()
	require.NoError(t, err)
	var zero Builder[int]
	for _, released := range []*Builder[int]{b, &zero} {
		released.AddSlice([]int{1})
		require.True(t, released.Released())
	}
}

func TestAddSliceDoesNotAllocate(t *testing.T) {
	stream := zipfKeys(1<<14, 1<<30)
	b := build(t, Params{Counters: 256, Epsilon: 1, Delta: 1e-6}, stream)
	require.Zero(t, testing.AllocsPerRun(10, func() { b.AddSlice(stream) }))
}
