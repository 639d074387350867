package estimates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/misragries"
)

// madeLength is how many elements a made stream has.
var madeLength = 1_000_000

// made are streams with no seasons.
var made = []set{
	{"zipf", func(seed uint64) []uint64 { // of exponent 1.1
		return draw(seed, func(rng *rand.Rand) func() uint64 { return rand.NewZipf(rng, 1.1, 1, 1<<20-1).Uint64 })
	}},
	{"heavy", func(seed uint64) []uint64 { // half on 500 keys of weights .65 to 1.35, half on all
		return draw(seed, func(rng *rand.Rand) func() uint64 {
			return func() uint64 {
				key := rng.Uint64N(500)
				for heavy := rng.IntN(2) == 0; heavy; key = rng.Uint64N(500) {
					if 1.35*rng.Float64() < 0.65+0.7*float64(key)/500 {
						return key
					}
				}
				return rng.Uint64N(1 << 20)
			}
		})
	}},
	{"uniform", func(seed uint64) []uint64 { // on 1000 keys
		return draw(seed, func(rng *rand.Rand) func() uint64 {
			return func() uint64 { return rng.Uint64N(1000) }
		})
	}},
}

func draw(seed uint64, from func(rng *rand.Rand) func() uint64) []uint64 {
	next := from(rand.New(rand.NewPCG(seed, 2)))
	stream := make([]uint64, madeLength)
	for i := range stream {
		stream[i] = next()
	}
	return stream
}

// ways are how one release of several sketches is made: their sum by either method, or the sum of
// their releases.
var ways = []string{"TrimmedSum", "ReducedSum", "Combine"}

// sizes are the numbers of counters and of sketches.
var sizes = []struct{ k, sketches int }{{1024, 2}, {1024, 5}, {1024, 8}, {1024, 32}, {256, 32}}

// score is how many keys a release shows, and the mean |error| of the 100 most frequent, which is
// the count itself where one is hidden.
type score struct{ shown, off float64 }

// of adds the score of one release.
func (s *score) of(h interface {
	Estimate(key uint64) float64
	Len() int
}, truth map[uint64]float64, heavy []uint64) {
	s.shown += float64(h.Len())
	for _, key := range heavy {
		s.off += math.Abs(h.Estimate(key)-truth[key]) / float64(len(heavy))
	}
}

// sums prints the table of the ways.
func (opts *options) sums(w *printer, sets []set) {
	w.print("\nSums of M sketches that elements are dealt to at random, ε = 1, δ = 1e-6:\nkeys shown / mean |error| of the true top 100, a hidden key being estimated as 0\n\n%-8s %6s %4s", "stream", "k", "M")
	for _, way := range ways {
		w.print(" %15s", way)
	}
	w.print("\n")
	for _, s := range slices.Concat(made, sets) {
		scores := make([][]score, len(sizes))
		for i := range scores {
			scores[i] = make([]score, len(ways))
		}
		for release := range opts.releases {
			progress("%s: stream %d of %d ", s.name, release+1, opts.releases)
			seed := opts.seed + uint64(release)
			stream := s.stream(seed)
			truth := count(stream)
			heavy := top(truth, 100)
			for i, size := range sizes {
				compare(scores[i], stream, row{k: size.k, sketches: size.sketches}, seed, truth, heavy)
			}
		}
		progress("")
		for i, size := range sizes {
			w.print("%-8s %6d %4d", s.name, size.k, size.sketches)
			for _, sc := range scores[i] {
				w.print(" %15s", fmt.Sprintf("%.0f / %.3g", sc.shown/float64(opts.releases), sc.off/float64(opts.releases)))
			}
			w.print("\n")
		}
	}
}

// compare adds one release in each of the ways.
func compare(scores []score, stream []uint64, r row, seed uint64, truth map[uint64]float64, heavy []uint64) {
	for i, method := range []misragries.Method{misragries.TrimmedSum, misragries.ReducedSum} {
		r.method = method
		scores[i].of(r.release(stream, seed)[0], truth, heavy)
	}
	r.method = 0
	var parts []*misragries.Histogram[uint64]
	for _, b := range r.deal(stream, seed) {
		parts = append(parts, cli.Must(b.Release()))
	}
	scores[len(ways)-1].of(cli.Must(misragries.Combine(parts...)), truth, heavy)
}
