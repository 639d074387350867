package groupby

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/baskets"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/threshold"
)

// filled returns a Builder with all users.
func filled(t *testing.T, p Params, users [][]int) *Builder[int] {
	b := builder[int](t, p)
	for _, keys := range users {
		b.AddUser(keys)
	}
	return b
}

// expected returns the expected number of keys that a kernel of threshold T, R and σ shows.
func expected(b *Builder[int], threshold, r, sigma float64) (n float64) {
	for _, e := range held(b).table.cells {
		v := float64(e.weight) / unit
		if v > 0 {
			n += min(v*v/(r*r), 1) * tailOf((threshold-max(v, r))/sigma)
		}
	}
	return n
}

// weightedGaussian returns the least T of Gopi et al.'s weighted Gaussian mechanism at its exact δ:
// σ is that of a Gaussian mechanism, and l new keys of weight 1/√l escape with probability δ.
func weightedGaussian(m int, delta, sigma float64) (threshold float64) {
	for l := 1; l <= m; l++ {
		each := -math.Expm1(math.Log1p(-delta) / float64(l))
		threshold = max(threshold, 1/math.Sqrt(float64(l))+sigma*normalTail(each))
	}
	return threshold
}

// Table 1.3 of the thresholds of the weighted Gaussian at ε = 1, δ = 1e-6 and 1e-9, to 1e-4.
func TestWeightedGaussian(t *testing.T) {
	for m, want := range map[int]float64{1: 21.0817, 10: 22.2818, 30: 22.9955, 100: 23.8089, 1000: 25.3704} {
		require.InEpsilon(t, want, weightedGaussian(m, 1e-6, 4.22468), 1e-5)
	}
	for m, want := range map[int]float64{1: 33.9595, 10: 35.2735, 30: 36.0555, 100: 36.9514, 1000: 38.6880} {
		require.InEpsilon(t, want, weightedGaussian(m, 1e-9, 5.49527), 1e-5)
	}
}

// folded returns E|X| for X normal.
func folded(mean, sd float64) float64 {
	return sd*math.Sqrt(2/math.Pi)*math.Exp(-mean*mean/(2*sd*sd)) + mean*(1-2*tailOf(mean/sd))
}

// topErrors returns the expected error, on average over the top keys, where a user with l keys
// counts counted(l), with noise of deviation sd; with coins, he counts 1 with that probability.
func topErrors(users [][]int, top []int, sd float64, counted func(l int) float64, coins bool) (sum float64) {
	bias, variance := map[int]float64{}, map[int]float64{}
	for _, keys := range users {
		x := counted(len(keys))
		for _, key := range keys {
			bias[key] += 1 - x
			if coins {
				variance[key] += x * (1 - x)
			}
		}
	}
	for _, key := range top {
		sum += folded(bias[key], math.Sqrt(sd*sd+variance[key])) / float64(len(top))
	}
	return sum
}

// On baskets, ε = 1, δ = 1e-6: more keys than the weighted Gaussian at its exact δ shows, as many
// with MaxKeys 1000 as with 100; and top counts no farther from the truth than those of m random
// keys of each user with Gaussian noise (package threshold) at the best m, which the caller would
// have to guess. A release has the error that was expected.
func TestBaskets(t *testing.T) {
	dptest.NeedsLong(t)
	users := baskets.Retail()
	counts := map[int]float64{}
	pairs := 0
	for _, keys := range users {
		pairs += len(keys)
		for _, key := range keys {
			counts[key]++
		}
	}
	t.Logf("%d users, %d pairs, %d keys", len(users), pairs, len(counts))
	shown := map[int]float64{}
	for _, m := range []int{10, 30, 100, 1000} {
		b := filled(t, Params{Epsilon: 1, Delta: 1e-6, most: m, KeysOnly: true}, users)
		k := held(b).calibrated.kernel
		threshold := (float64(k.Threshold) - 0.5) / unit
		shown[m] = expected(b, threshold, float64(k.From)/unit, k.Scale/unit)
		peer := weightedGaussian(m, 1e-6, 4.22468)
		others := expected(b, peer, 1e-9, 4.22468)
		t.Logf("MaxKeys %4d: T = %.3f shows %.0f keys, the weighted Gaussian with T = %.3f %.0f: %.3f times", m, threshold, shown[m], peer, others, shown[m]/others)
		if m == 100 {
			require.Greater(t, shown[m], 1.1*others)
		}
	}
	require.Greater(t, shown[1000], 0.98*shown[100])

	top := make([]int, 0, len(counts))
	for key := range counts {
		top = append(top, key)
	}
	slices.SortFunc(top, func(a, b int) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	top = top[:100]
	p := Params{Epsilon: 1, Delta: 1e-6}
	here := topErrors(users, top, planned(p).StdDev, func(l int) float64 { return min(1, math.Sqrt(36/float64(l))) }, false)
	best := math.Inf(1)
	for _, m := range []int{30, 35, 40, 45, 50, 60} {
		there := threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: m, Integers: true, MaxValue: 1}
		plan := dptest.OK(there.Plan())(t)
		e := topErrors(users, top, plan.StdDev, func(l int) float64 { return min(1, float64(m)/float64(l)) }, true)
		t.Logf("%d random keys of each user: error of the top 100: %.1f, T = %.1f", m, e, plan.Threshold)
		best = min(best, e)
	}
	require.Less(t, here, best) // 21.7 and 22.0
	const runs = 10
	b, e, keys := filled(t, p, users), 0.0, 0
	for range runs {
		g := release(t, b)
		keys += g.Len()
		for _, key := range top {
			e += math.Abs(g.Estimate(key)-counts[key]) / float64(runs*len(top))
		}
	}
	t.Logf("groupby with counts: error of the top 100: %.1f, expected %.1f; %d keys", e, here, keys/runs)
	require.InDelta(t, here, e, 6.5*planned(p).StdDev/math.Sqrt(runs*float64(len(top))))
}
