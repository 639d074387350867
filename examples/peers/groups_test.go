package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/differential-privacy/go/v3/dpagg"
	google "github.com/google/differential-privacy/go/v3/noise"

	"github.com/dpsketch/dpsketch/internal/baskets"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// peerGroups is what Google's library makes of baskets, by the way its documentation recommends: m
// random keys of each user, its selection of partitions by half of ε and δ, and counts with
// Gaussian noise by the other half; for keys alone the selection by all of it.
func peerGroups(t *testing.T, users [][]int, m int, keysOnly bool) map[int]float64 {
	counts := map[int]int64{}
	for _, keys := range users {
		for i, j := range rand.Perm(len(keys)) {
			if i < m {
				counts[keys[j]]++
			}
		}
	}
	epsilon, delta := 0.5, 0.5e-6
	if keysOnly {
		epsilon, delta = 1, 1e-6
	}
	shown := map[int]float64{}
	for key, n := range counts {
		selection, err := dpagg.NewPreAggSelectPartition(&dpagg.PreAggSelectPartitionOptions{Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(m)})
		if err == nil {
			err = selection.IncrementBy(n)
		}
		var keep bool
		if err == nil {
			keep, err = selection.ShouldKeepPartition()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !keep {
			continue
		}
		shown[key] = math.NaN()
		if keysOnly {
			continue
		}
		count, err := dpagg.NewCount(&dpagg.CountOptions{Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(m), Noise: google.Gaussian()})
		if err == nil {
			err = count.IncrementBy(n)
		}
		var noisy int64
		if err == nil {
			noisy, err = count.Result()
		}
		if err != nil {
			t.Fatal(err)
		}
		shown[key] = float64(noisy)
	}
	return shown
}

// GROUP BY over baskets at ε = 1, δ = 1e-6: keys that are shown, and the mean error of the 100
// largest counts, where one that is not shown counts as 0. For each bound m on the keys of a user,
// groupby shows more keys, and at its defaults it is nearer to the truth with more keys than the
// peer at its best m.
func TestGroupsBesideGoogle(t *testing.T) {
	if !*long {
		t.Skip("needs -long")
	}
	users := baskets.Retail()
	truth := map[int]float64{}
	for _, keys := range users {
		for _, key := range keys {
			truth[key]++
		}
	}
	top := make([]int, 0, len(truth))
	for key := range truth {
		top = append(top, key)
	}
	slices.SortFunc(top, func(a, b int) int { return cmp.Or(cmp.Compare(truth[b], truth[a]), cmp.Compare(a, b)) })
	top = top[:100]
	off := func(estimate func(int) float64) (sum float64) {
		for _, key := range top {
			sum += math.Abs(estimate(key)-truth[key]) / float64(len(top))
		}
		return sum
	}
	ours := func(p groupby.Params) (int, float64) {
		b, err := groupby.New[int](p)
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range users {
			b.AddUser(keys...)
		}
		g, err := b.Release()
		if err != nil {
			t.Fatal(err)
		}
		return g.Len(), off(g.Estimate)
	}
	counted, nearest := ours(groupby.Params{Epsilon: 1, Delta: 1e-6})
	two, _ := ours(groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2, KeysOnly: true})
	t.Logf("groupby with counts: %d keys, error %.1f; two passes, keys only: %d", counted, nearest, two)
	for _, m := range []int{10, 30, 40, 100} {
		keys, _ := ours(groupby.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: m, KeysOnly: true})
		peer := len(peerGroups(t, users, m, true))
		with := peerGroups(t, users, m, false)
		far := off(func(key int) float64 { return with[key] })
		t.Logf("m = %d: %d keys, Google's library %d; with counts %d, error %.1f", m, keys, peer, len(with), far)
		if keys < 6*peer/5 || two < peer || counted < len(with) || nearest > far {
			t.Errorf("m = %d: the peer is better", m)
		}
	}
}
