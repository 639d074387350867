package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// lookups compares package alp, ε = 1, δ = 1e-6 and 100 bits an entry, on the counts of
// [histograms], a unit being an entry. A look-up stands against one in a Go map of the exact
// counts, which has no privacy: for a fifth of the entries, which fit into a cache, and for forty
// times as many, which fit into none. The release stands against [thresholded], which publishes the
// counts above a threshold and nothing of those below, while alp keeps them all. No peer: another
// structure that has small entries too.
func lookups(n int) []comparison {
	entries := counts(n)
	filled := func() *alp.Builder { return filledFrom(entries) }
	return append(append(lookup("cached", n/5, 4, 4), lookup("beyond the caches", 40*n, 1.2, 1)...), comparison{
		work: fmt.Sprintf("sparse vector of %d entries, Release", n), peer: "Google AddNoiseInt64", target: 0.093, units: n,
		ours:   releases(filled),
		theirs: repeat(func() { thresholded(entries) }),
		check:  func() error { return estimated(cli.Must(filled().Release()), entries) },
	})
}

func filledFrom(entries map[uint64]int64) *alp.Builder {
	b := cli.Must(alp.New(alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: len(entries), Integers: true}))
	for index, count := range entries {
		b.Add(index, float64(count))
	}
	return b
}

// estimated checks the estimates of the visible entries: their mean absolute error is below 1.7,
// and its root mean square below 3. Estimates are not unbiased.
func estimated(p *alp.Projection, entries map[uint64]int64) error {
	total, keys := frequent(entries)
	return near("alp", sum(entries, p.Estimate), total, 1.7*keys+sure*3*math.Sqrt(keys))
}

// lookup compares look-ups of all entries in no order, one by one and in a slice. What Estimate
// keeps of listed entries is computed before.
func lookup(where string, n int, target, batched float64) []comparison {
	entries := counts(n)
	builder := filledFrom(entries)
	projection := cli.Must(builder.Release())
	indices := make([]uint64, n)
	for i := range indices {
		indices[i] = mix(uint64(i))
	}
	projection.Estimates(indices, nil)
	c := comparison{
		work: fmt.Sprintf("alp, %d entries, %s, Estimate", n, where), peer: "map, exact count", target: target, units: 1, short: true,
		ours: parts(indices, func(part []uint64) {
			for _, index := range part {
				projection.Estimate(index)
			}
		}),
		theirs: parts(indices, func(part []uint64) {
			exact := int64(0)
			for _, index := range part {
				exact += entries[index]
			}
			runtime.KeepAlive(exact)
		}),
		check: func() error { return estimated(projection, entries) },
	}
	all, dst := c, make([]float64, n)
	all.work, all.target = c.work+"s", batched
	all.ours = parts(indices, func(part []uint64) { dst = projection.Estimates(part, dst) })
	return []comparison{c, all}
}

// parts looks up 512 indices and again others, and reports what one took in the tenth of the parts
// that other load disturbed the least.
func parts(indices []uint64, look func(part []uint64)) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		each := min(512, len(indices))
		var took []time.Duration
		for b.Loop() {
			part := indices[rand.IntN(len(indices)/each)*each:][:each]
			start := time.Now()
			look(part)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/10].Nanoseconds())/float64(each), least)
	}
}
