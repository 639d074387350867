package groupby

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
)

// release returns one more release of the same data.
func release(t testing.TB, template *Builder[int]) *Groups[int] {
	t.Helper()
	return dptest.OK(again(t, template).Release())(t)
}

// again returns a Builder with the same data, without calibrating it anew.
func again(t testing.TB, b *Builder[int]) *Builder[int] {
	s := held(b)
	c := &Builder[int]{base[state[int]]{privateState(s), b.params, b.guarantee}}
	require.NoError(t, c.RestorePrivateState(dptest.OK(b.AppendPrivateState(nil))(t)))
	return c
}

// What is shown and how often has the law of the kernel: keys that one user has alone, keys around
// R and around the threshold. At δ = .01 even the former are seen. Half the noise fails the same
// test.
func TestLawOfARelease(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 0.01, KeysOnly: true, Others: true, most: 16}
	b := builder[int](t, p)
	law := held(b).calibrated
	const groups = 16
	b.AddUser([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) // weight ¼ each
	users := int(float64(law.kernel.Threshold)/unit) - 1
	for range users {
		for key := range groups {
			b.AddUser([]int{100 + key})
		}
	}
	runs := dptest.Full(20000, 4000)
	shown := [2]int64{}
	for range runs {
		for key := range release(t, b).All() {
			shown[key/100]++
		}
	}
	chance := func(v float64, sigma float64) float64 {
		r := float64(law.kernel.From) / unit
		share := min(v*v/(r*r), 1)
		return share * tailOf(((float64(law.kernel.Threshold)-0.5)/unit-max(v, r))/sigma)
	}
	sigma := law.weight / unit
	n := int64(runs * groups)
	for i, v := range []float64{float64(weight(16)) / unit, float64(users)} {
		dptest.ChiSquare(t, "shown", []int64{shown[i], n - shown[i]}, []float64{chance(v, sigma), 1 - chance(v, sigma)}, 1e-9)
	}
	require.Less(t, dptest.ChiSquarePValue([]int64{shown[1], n - shown[1]}, []float64{chance(float64(users), sigma/2), 1 - chance(float64(users), sigma/2)}), 1e-9)
}

// Ten thousand users of four keys each: every count is within its interval, and so are sums and
// means. Each interval fails with probability 1e-11.
func TestEveryCountIsWithinItsInterval(t *testing.T) {
	const confidence = 1 - 1e-11
	b := builder[int](t, Params{Epsilon: 1, Delta: 1e-6, Min: 0, Max: 100, Others: true})
	rng := rand.New(rand.NewPCG(7, 8))
	counts, sums := map[int]float64{}, map[int]float64{}
	for range 10_000 {
		keys := rng.Perm(40)[:4]
		keys[0] += 1000 // and some that are rarer
		values := map[int]float64{}
		for _, key := range keys {
			values[key] = min(100, math.Exp(2+rng.NormFloat64()))
			counts[key]++
			sums[key] += values[key]
		}
		valued(b)(split(pairs(keys, func(key int) float64 { return values[key] })))
	}
	g := dptest.OK(b.Release())(t)
	require.Equal(t, len(counts), g.Len())
	dptest.Alarm(t, float64(len(counts))*5e-11+1e-10)
	for key, n := range counts {
		requireInside(t, g, key, n, sums[key], confidence)
	}
	require.InDelta(t, 0, g.Others(), 6.5*g.noises.others)
}

func requireInside[K string | int](t *testing.T, g *Groups[K], key K, n, sum, confidence float64) {
	t.Helper()
	inside := func(what string, x, lo, hi float64) {
		require.True(t, lo <= x && x <= hi, "%s %v not in [%v, %v]", what, x, lo, hi)
	}
	lo, hi := g.Interval(key, confidence)
	inside("count", n, lo, hi)
	inside("estimate", max(g.Estimate(key), 1), lo, hi)
	lo, hi = g.SumInterval(key, confidence)
	inside("sum", sum, lo, hi)
	lo, hi = g.MeanInterval(key, confidence)
	inside("mean", sum/n, lo, hi)
}

// A key whose weight is at the threshold is shown by half of the draws, those with high noise: the
// estimate is nearly unbiased given that it is shown, where the noisy count is not.
func TestEstimatesOfWhatIsShown(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6}
	b := builder[int](t, p)
	law := p.normal().noises(held(b).calibrated, choice{})
	users := int(math.Round(planned(p).Threshold))
	for range users {
		b.AddUser([]int{1})
	}
	off := float64(users) - planned(p).Threshold // of T
	runs := dptest.Full(40_000, 8000)
	var estimate, noisy moments
	for range runs {
		if g := release(t, b); g.Has(1) {
			estimate.add((g.Estimate(1) - float64(users)) / law.weight)
			noisy.add((g.noisy(g.groups[0]) - float64(users)) / law.weight)
		}
	}
	// 6.5 standard errors of what has a standard deviation of at most 1.5: 8e-11 each.
	dptest.Alarm(t, 2e-10)
	bound := 6.5 * 1.5 / math.Sqrt(estimate.n)
	require.InDelta(t, 0.8, noisy.mean(), bound+math.Abs(off)*law.mix/law.weight)
	require.InDelta(t, 0.065, estimate.mean(), 0.065+bound+math.Abs(off)*law.mix/law.weight)
	require.Greater(t, 0.6, bound)
}

// The noise of counts, shortfall, sums and others has the stated deviations, and independent parts.
func TestDeviations(t *testing.T) {
	p := Params{Epsilon: 4, Delta: 1e-6, Min: 0, Max: 10, Others: true}
	b := builder[int](t, p)
	for range 500 {
		give(b, 1, 2)
	}
	runs := dptest.Full(20000, 2000)
	var count, sum, others, product, short, rests moments
	p = p.normal()
	law := p.noises(held(b).calibrated, choice{})
	for range runs {
		g := release(t, b)
		x, y := (g.Estimate(1)-500)/planned(p).StdDev, (g.Estimate(2)-500)/planned(p).StdDev
		count.add(x)
		product.add(x * y)
		sum.add(g.Sum(1) / math.Hypot(5*law.count, 5*law.value))
		others.add(g.Others() / g.noises.others)
		short.add(float64(g.shortfall) / unit / law.shortfall)
		rests.add((float64(g.groups[0].rest) - float64(rest(500*unit, 500*weight(2), held(b).calibrated.clips[0].mix))) / held(b).calibrated.rest(choice{}))
	}
	// Six and a half standard errors: 8e-11 each; of a variance 1 the standard error is √(2/n).
	dptest.Alarm(t, 1e-9)
	bound := 6.5 / math.Sqrt(float64(runs))
	for _, m := range []moments{count, sum, others, product, short, rests} {
		require.InDelta(t, 0, m.mean(), bound)
	}
	for _, m := range []moments{count, sum, others, short, rests} {
		require.InDelta(t, 1, m.square(), 1.5*bound)
	}
}

type moments struct{ n, s, ss float64 }

func (m *moments) add(x float64)  { m.n, m.s, m.ss = m.n+1, m.s+x, m.ss+x*x }
func (m moments) mean() float64   { return m.s / m.n }
func (m moments) square() float64 { return m.ss / m.n }
func tailOf(x float64) float64    { return math.Erfc(x/math.Sqrt2) / 2 }
func privateState(s *state[int]) secret[state[int]] {
	return private.New(newState(s.params, s.calibrated, s.pass, newIndex[int](0), 0))
}

// Intervals miss about as often as they may: an upper end of two bounds, of the count and of what
// clipping cost, missed .004 to .028 where .1 is allowed. The noise is fixed.
func TestIntervalsAreNotTooWide(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	for _, p := range []Params{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Delta: 1e-6, Passes: 2}} {
		const users = 300
		const runs = 1000
		missed := 0
		for range runs {
			b := builder[int](t, p)
			for range users {
				b.AddUser([]int{1, 2, 3})
			}
			g := dptest.OK(b.Release())(t)
			if lo, hi := g.Interval(1, 0.9); lo > users || hi < users {
				missed++
			}
		}
		require.LessOrEqual(t, missed, runs*16/100) // 6.5 standard deviations above a tenth
		require.GreaterOrEqual(t, missed, runs*5/100)
	}
}
