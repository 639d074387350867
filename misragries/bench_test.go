package misragries

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/hashing"
)

// BenchmarkAdd counts a stream of a million Zipf(1.1) keys with a Builder, and with a Go map in the
// same loop: ratio is the Builder's time over the map's. Making the Builder or the map is part of
// the work.
//
// Paired runs in turn with b17654a, from before a Builder saw concurrent use, in CPU time of Add
// alone, ratios of medians: .78 and .81 (uint64, k = 256 and 1024), .93 and .95 (strings); 6.2 and
// 5.7, 17.9 and 16.7 ns an element. At k = 65535 they are .9 to 1.1.
func BenchmarkAdd(b *testing.B) {
	for _, bits := range []int{20, 40} {
		numbers := zipfKeys(1_000_000, 1<<bits)
		words := make([]string, len(numbers))
		for i, x := range numbers {
			words[i] = fmt.Sprintf("%016x", x)
		}
		againstMap(b, fmt.Sprintf("keys=uint64/universe=2^%d", bits), numbers)
		againstMap(b, fmt.Sprintf("keys=string/universe=2^%d", bits), words)
	}
}

func againstMap[K hashing.Key](b *testing.B, name string, stream []K) {
	run := func(how string, k int, add func(*Builder[K])) {
		b.Run(fmt.Sprintf("%s/how=%s/k=%d", name, how, k), func(b *testing.B) {
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				builder, err := New[K](Params{Counters: k, Epsilon: 1, Delta: 1e-9})
				if err != nil {
					b.Fatal(err)
				}
				add(builder)
				half := time.Now()
				counts := make(map[K]uint64)
				for _, key := range stream {
					counts[key]++
				}
				ours += half.Sub(start)
				theirs += time.Since(half)
			}
			updates := float64(b.N) * float64(len(stream))
			b.ReportMetric(float64(ours)/updates, "ns/update")
			b.ReportMetric(float64(theirs)/updates, "ns/map")
			b.ReportMetric(float64(ours)/float64(theirs), "ratio")
		})
	}
	for _, k := range []int{256, 1024, 4096} {
		run("Add", k, func(builder *Builder[K]) {
			for _, key := range stream {
				builder.Add(key)
			}
		})
	}
	run("AddSlice", 1024, func(builder *Builder[K]) { builder.AddSlice(stream) })
}

// zipfKeys returns n keys, the one of rank r with a probability in proportion to (1+r)^-1.1, spread
// over the integers by a bijection, so that neither order nor low bits follow the rank.
func zipfKeys(n int, universe uint64) []uint64 {
	ranks := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, universe-1)
	keys := make([]uint64, n)
	for i := range keys {
		x := ranks.Uint64()
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		keys[i] = x ^ x>>31
	}
	return keys
}
