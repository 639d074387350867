package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/misragries"
)

// universes are the numbers of keys that the streams draw from. The ratio depends on it: a larger
// universe has more distinct keys, 3.1e5 against 1.4e5 in a million updates, which make the map
// larger and slower and hardly change the sketch.
var universes = []struct {
	name string
	size uint64
}{
	{"2^40", 1 << 40},
	{"2^20", 1 << 20},
}

// counting compares one update of a Misra-Gries sketch with one of a map that counts exactly. A
// unit is an update; making the sketch or the map is part of the work.
func counting(n int) []comparison {
	var all []comparison
	for _, u := range universes {
		numbers := zipf(n, u.size)
		texts := spell(numbers)
		const ofNumbers, ofTexts = 0.40, 0.60
		for _, k := range []int{1024, 256, 4096} {
			all = append(all, count("uint64 of "+u.name, ofNumbers, k, numbers))
		}
		for _, k := range []int{1024, 256, 4096} {
			all = append(all, count("string of "+u.name, ofTexts, k, texts))
		}
	}
	return append(all, count("distinct uint64", 0.30, 1024, different(n)), summing("add", 2, n), summing("merge", 20, n))
}

// different returns n keys, of which none comes twice.
func different(n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = mix(uint64(i))
	}
	return keys
}

// summing compares what TrimmedSum does to 32 sketches of 4096 counters with what ReducedSum does:
// it adds them to a Sum, or merges two Sums of 16. A unit is a sketch.
func summing(op string, target float64, n int) comparison {
	const servers = 32
	stream := zipf(n, 1<<20)
	sums := func(m misragries.Method) (all [2]*misragries.Sum[uint64], add func()) {
		p := misragries.Params{Counters: 4096, Epsilon: 1, Delta: 1e-9, Method: m}
		var builders []*misragries.Builder[uint64]
		for i := range servers {
			b := cli.Must(misragries.New[uint64](p))
			b.AddSlice(stream[i*n/servers : (i+1)*n/servers])
			builders = append(builders, b)
		}
		all = [2]*misragries.Sum[uint64]{cli.Must(misragries.NewSum[uint64](p)), cli.Must(misragries.NewSum[uint64](p))}
		return all, func() {
			for i, b := range builders {
				cli.OK(all[i%2].Add(b))
			}
		}
	}
	work := func(m misragries.Method) func(b *testing.B) {
		return func(b *testing.B) {
			shortest := time.Duration(math.MaxInt64) // without making the sketches
			for range 3 {
				all, add := sums(m)
				if op == "merge" {
					add()
				}
				start := time.Now()
				if op == "merge" {
					cli.OK(all[0].Merge(all[1]))
				} else {
					add()
				}
				shortest = min(shortest, time.Since(start))
			}
			for b.Loop() {
			}
			b.ReportMetric(float64(shortest.Nanoseconds()), least)
		}
	}
	return comparison{
		work:   "TrimmedSum of 32 Misra-Gries sketches, k = 4096, " + op,
		peer:   "ReducedSum",
		target: target,
		units:  servers,
		ours:   work(misragries.TrimmedSum),
		theirs: work(misragries.ReducedSum),
		short:  true,
		check: func() error {
			var most [2]float64
			for i, m := range []misragries.Method{misragries.TrimmedSum, misragries.ReducedSum} {
				all, add := sums(m)
				add()
				cli.OK(all[0].Merge(all[1]))
				h := cli.Must(all[0].Release())
				for _, count := range h.Top(1) {
					most[i] = count
				}
			}
			return near("sums", most[0], most[1], most[1]/5)
		},
	}
}

func count[K hashing.Key](kind string, target float64, k int, stream []K) comparison {
	sketch := func() *misragries.Builder[K] {
		b := cli.Must(misragries.New[K](misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-9}))
		for _, key := range stream {
			b.Add(key)
		}
		return b
	}
	exact := func() map[K]uint64 {
		counts := make(map[K]uint64)
		for _, key := range stream {
			counts[key]++
		}
		return counts
	}
	return comparison{
		work:   fmt.Sprintf("Misra-Gries Add, %s keys, k = %d", kind, k),
		peer:   "map, exact count",
		target: target,
		units:  len(stream),
		ours:   repeat(func() { sketch() }),
		theirs: repeat(func() { exact() }),
		check: func() error {
			h := cli.Must(sketch().Release())
			most, count := stream[0], uint64(0)
			for key, c := range exact() {
				if c > count {
					most, count = key, c
				}
			}
			plan := cli.Must(h.Params().Plan(1))
			if count == 1 { // of distinct keys none is shown
				return near("misragries", float64(h.Len())+1, 1, 0.5)
			}
			// Noise exceeds 20 standard deviations once in 1e12 times.
			return near("misragries", h.Estimate(most), float64(count), float64(len(stream))/float64(k+1)+20*plan.StdDev)
		},
	}
}

// zipf returns n keys, the one of rank r with a probability in proportion to (1 + r)^-1.1. The seed
// is fixed.
func zipf(n int, universe uint64) []uint64 {
	ranks := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, universe-1)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = mix(ranks.Uint64())
	}
	return keys
}

// mix is a bijection (the finaliser of SplitMix64), so that the order of the keys does not follow
// their ranks.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// spell returns the keys as 16 hexadecimal digits. Each has bytes of its own, as keys that a
// program reads do, so that equal keys are not equal pointers.
func spell(keys []uint64) []string {
	var b strings.Builder
	b.Grow(16 * len(keys))
	for _, key := range keys {
		fmt.Fprintf(&b, "%016x", key)
	}
	all := b.String()
	texts := make([]string, len(keys))
	for i := range texts {
		texts[i] = all[16*i : 16*i+16]
	}
	return texts
}
