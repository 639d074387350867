package main

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/threshold"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// histograms compares the release of a histogram over a huge key space: ε = 1, δ = 1e-6, a user is one unit of one count. The peer is
// the leanest loop that Google's library allows, over a map of the exact counts: its threshold once, its noise for each key. All of its δ goes to
// the threshold, as its Laplace noise takes none. A release starts from a Builder that holds the counts; the second line fills it as well.
func histograms(keys int) []comparison {
	counts := make(map[uint64]int64, keys)
	for i := range keys {
		counts[mix(uint64(i))] = 1 + int64(i%50)
	}
	filled := func(b *testing.B) *threshold.Builder[uint64] {
		builder, err := threshold.New[uint64](threshold.Params{Epsilon: 1, Delta: 1e-6, Integers: true})
		if err != nil {
			b.Fatal(err)
		}
		for key, count := range counts {
			builder.Add(key, float64(count))
		}
		return builder
	}
	release := func(b *testing.B, builder *threshold.Builder[uint64]) {
		if _, err := builder.Release(); err != nil {
			b.Fatal(err)
		}
	}
	c := comparison{
		work: fmt.Sprintf("histogram of %d integer keys, Release", keys), peer: "Google AddNoiseInt64", target: 1. / 60, units: keys,
		ours: func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				builder := filled(b)
				b.StartTimer()
				release(b, builder)
			}
		},
		theirs: func(b *testing.B) {
			peer := google.Laplace()
			b.ReportAllocs()
			for b.Loop() {
				released := make(map[uint64]int64)
				least, err := peer.Threshold(1, 1, 1, 0, 1e-6)
				if err != nil {
					b.Fatal(err)
				}
				for key, count := range counts {
					noisy, err := peer.AddNoiseInt64(count, 1, 1, 1, 0)
					if err != nil {
						b.Fatal(err)
					}
					if float64(noisy) >= least {
						released[key] = noisy
					}
				}
			}
		},
	}
	both := c
	both.work, both.target = fmt.Sprintf("histogram of %d integer keys, Add and Release", keys), 0
	both.ours = func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			release(b, filled(b))
		}
	}
	return []comparison{c, both}
}
