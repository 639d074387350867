package peers

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/threshold"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// histograms compares the release of a histogram over a huge key space: ε = 1, δ = 1e-6, a user is
// one unit of one count. The peer is [thresholded]. A release starts from a Builder that holds the
// counts; the second line fills it as well.
func histograms(keys int) []comparison {
	counts := counts(keys)
	filled := func() *threshold.Builder[uint64] {
		builder := cli.Must(threshold.New[uint64](threshold.Params{Epsilon: 1, Delta: 1e-6, Integers: true}))
		builder.Grow(len(counts))
		for key, count := range counts {
			builder.Add(key, float64(count))
		}
		return builder
	}
	c := comparison{
		work: fmt.Sprintf("histogram of %d integer keys, Release", keys), peer: "Google AddNoiseInt64", target: 1. / 60, units: keys,
		ours:   releases(filled),
		theirs: repeat(func() { thresholded(counts) }),
		check: func() error {
			ours, theirs := cli.Must(filled().Release()), thresholded(counts)
			total, keys := frequent(counts)
			tolerance := sure * math.Sqrt(2*keys) // 2 is the variance of Laplace noise
			return errors.Join(near("threshold", sum(counts, ours.Estimate), total, tolerance),
				near("Google", sum(counts, func(key uint64) float64 { return float64(theirs[key]) }), total, tolerance))
		},
	}
	both := c
	both.work, both.target = fmt.Sprintf("histogram of %d integer keys, Add and Release", keys), 0
	both.ours = repeat(func() { cli.Must(filled().Release()) })
	return []comparison{c, both}
}

// thresholded releases counts by the leanest loop that Google's library allows: its threshold once,
// its noise for each key. All of its δ goes to the threshold, as its Laplace noise takes none.
func thresholded(counts map[uint64]int64) map[uint64]int64 {
	noise := google.Laplace()
	least := cli.Must(noise.Threshold(1, 1, 1, 0, 1e-6))
	released := make(map[uint64]int64)
	for key, count := range counts {
		noisy := cli.Must(noise.AddNoiseInt64(count, 1, 1, 1, 0))
		if float64(noisy) >= least {
			released[key] = noisy
		}
	}
	return released
}

// counts returns so many keys with counts from 1 to 50.
func counts(keys int) map[uint64]int64 {
	all := make(map[uint64]int64, keys)
	for i := range keys {
		all[mix(uint64(i))] = 1 + int64(i%50)
	}
	return all
}

// visible is a count that is 20 above the thresholds for ε = 1 and δ = 1e-6: noise hides it once in
// 1e9 times.
const visible = 36

// frequent returns the sum of all visible counts, and the number of their keys.
func frequent(counts map[uint64]int64) (total, keys float64) {
	for _, count := range counts {
		if count >= visible {
			total += float64(count)
			keys++
		}
	}
	return total, keys
}

// sum returns the sum of the estimates of the keys whose counts are visible.
func sum(counts map[uint64]int64, estimate func(key uint64) float64) float64 {
	total := 0.0
	for key, count := range counts {
		if count >= visible {
			total += estimate(key)
		}
	}
	return total
}
