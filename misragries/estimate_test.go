package misragries

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
)

// The estimate of a stored key is unbiased for c + D and has the own noise alone; Lower is for c,
// and has the shared one too.
func TestReadingsHaveTheirNoise(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	p := Params{Counters: 4, Epsilon: 0.7, Delta: 1e-3}
	d := sharedNoise(p)
	variance, fourth := d.Variance(), sumOver(0.7, func(x float64) float64 { return x * x * x * x * d.Prob(x) })
	var src noise.Source
	var upper, lower []float64
	for range dptest.Full(1_000_000, 20_000) {
		h := releaseOne(&src, p, []counter[int]{{Key: 1, Count: 1000}}, 300)
		upper, lower = append(upper, h.Estimate(1)-1300), append(lower, h.Lower(1)-1000)
	}
	h := histogram(p, 0, []counter[int]{})
	dptest.Moments(t, "c + D", upper, 0, variance, fourth, 1e-10)
	dptest.Moments(t, "c", lower, 0, 2*variance, 2*fourth+6*variance*variance, 1e-10)
	require.InEpsilon(t, math.Sqrt(variance), h.stdDev(), 1e-12)
	require.InEpsilon(t, math.Sqrt(2*variance), h.lowerDev(), 1e-12)
}

// evenSpread solves its equation, and gives its mean back to a key that is spread evenly.
func TestEvenSpread(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	rng := rand.New(rand.NewPCG(3, 4))
	for _, lost := range []float64{0, 0.3, 5, 80} {
		for _, mu := range []float64{0.1, 3, 20, 80, 95, 400} {
			root := math.Sqrt(mu)
			z := (mu - lost) / root
			r := (mu-lost)*math.Erfc(-z/math.Sqrt2)/2 + root*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
			if got := evenSpread(r, lost); r > 1e-12 {
				require.InEpsilon(t, min(max(mu, r), r+lost), got, 1e-6, "%v %v", mu, lost)
			}
			if mu <= lost || mu >= 300 {
				continue
			}
			excess, none := 0.0, math.Exp(-mu) // of 20,000 sketches that hold Poisson(mu) each
			for range 20_000 {
				x, p := -1.0, 1.0
				for ; p > none; x++ {
					p *= rng.Float64()
				}
				excess += max(x-lost, 0) / 20_000
			}
			require.InEpsilon(t, mu, evenSpread(excess, lost), 0.05)
		}
	}
	require.Equal(t, 7.0, evenSpread(7, 0))
	require.False(t, math.IsNaN(evenSpread(-3, 0)) || math.IsNaN(evenSpread(-3, 5)) || math.IsNaN(evenSpread(0, 0)))
	for r := -3.0; r < 60; r += 0.5 {
		require.LessOrEqual(t, r, evenSpread(r, 20))
		require.GreaterOrEqual(t, r+20, evenSpread(r, 20))
		require.Less(t, evenSpread(r, 20), evenSpread(r+0.5, 20)+1e-9, "it rises, or Top would not be in order")
	}
}

// The share of the length is the best one, and both together spend ε.
func TestShareOfTheLength(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	for _, c := range []struct {
		k                    int
		share, threshold, sd float64 // as the bounds of the sum at ε − e give them
	}{{16, 0.092, 25.41, 2.98}, {64, 0.045, 20.63, 2.25}, {256, 0.021, 17.25, 1.83}, {1024, 0.009, 15.45, 1.62}} {
		p := Params{Counters: c.k, Epsilon: 1, Delta: 1e-6}
		p.Method = ReducedSum
		_, l, err := p.check(summed)
		require.NoError(t, err)
		require.InDelta(t, c.share, 1/l.lost, 0.0011)
		require.InEpsilon(t, c.threshold, l.lowest(), 2e-3)
		require.InEpsilon(t, c.sd, l.stdDev(), 1e-2)
		require.LessOrEqual(t, l.ReducedDelta(c.k, 1-1/l.lost), math.Log(1e-6))
		// Among all shares the deviation of the upper end is next to least.
		least := math.Inf(1)
		for s := 0.5 / l.lost; s < 2/l.lost; s *= 1.02 {
			other, _, ok := thresholds.Reduced(c.k, 1-s, 1e-6)
			require.True(t, ok)
			variance := discreteLaplace(other.Scale).Variance() + discreteLaplace(1/s).Variance()
			least = min(least, math.Sqrt(variance)/float64(c.k+1))
		}
		require.LessOrEqual(t, l.stdDev(), 1.01*least)
	}
}

// What the order of a stream does to Estimate and to the middle of the interval: mean relative
// errors of the keys of rank 50 to 200, Zipf(1.1) over 20,000 keys, 400,000 elements, k = 2048. In
// random order nearly all decrements are a key's, in an order by key nearly none. Intervals hold
// the count and the estimate in every order, on one server and in the sum of 20. Noise and streams
// are the same in every run.
func TestOrder(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	const keys, n, from, to = 20_000, 400_000, 49, 200
	p := Params{Epsilon: 1, Delta: 1e-6, Counters: 2048}
	weights, total := make([]float64, keys), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -1.1)
		total += weights[i]
	}
	truth, random := make([]int, keys), []int(nil)
	for i, w := range weights {
		truth[i] = int(w / total * n)
		random = append(random, slices.Repeat([]int{i}, truth[i])...)
	}
	rng := rand.New(rand.NewPCG(71, 72))
	rng.Shuffle(len(random), func(i, j int) { random[i], random[j] = random[j], random[i] })
	// ordered sorts the stream by times; each key has one about which it comes
	ordered := func(spread float64) []int {
		type arrival struct {
			time float64
			key  int
		}
		all := make([]arrival, len(random))
		for i, key := range random {
			all[i] = arrival{float64(key*7919%keys)/keys + spread*rng.NormFloat64(), key}
		}
		slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.time, b.time) })
		stream := make([]int, len(all))
		for i, a := range all {
			stream[i] = a.key
		}
		return stream
	}
	byName, drifting := ordered(0), ordered(0.2)
	errors := map[string][2]float64{}
	for _, c := range []struct {
		name    string
		stream  []int
		servers int
	}{{"random", random, 1}, {"by name", byName, 1}, {"drifting", drifting, 1}, {"20 random", random, 20}, {"20 by name", byName, 20}, {"20 drifting", drifting, 20}} {
		shards := make([]*Builder[int], c.servers)
		for i := range shards {
			shards[i] = dptest.OK(New[int](p))(t)
		}
		for _, key := range c.stream {
			shards[rng.IntN(c.servers)].Add(key)
		}
		release := shards[0].Release
		if c.servers > 1 {
			sum := dptest.OK(NewSum[int](p))(t)
			for _, b := range shards {
				require.NoError(t, sum.Add(b))
			}
			release = sum.Release
		}
		h := dptest.OK(release())(t)
		byEstimate, byMiddle, misses := 0.0, 0.0, 0
		for key, n := range truth[:1000] {
			lo, hi := h.Interval(key, 0.95)
			if x := float64(n); x < lo || x > hi {
				misses++
			}
			if x := h.Estimate(key); from <= key && key < to {
				byEstimate += math.Abs(x/float64(n)-1) / (to - from)
				byMiddle += math.Abs((lo+hi)/2/float64(n)-1) / (to - from)
				require.True(t, lo <= x && x <= hi)
			}
		}
		errors[c.name] = [2]float64{byEstimate, byMiddle}
		t.Logf("%s: Estimate off by %.1f %%, the middle of the interval by %.1f %%; %d of 1000 intervals miss", c.name, 100*byEstimate, 100*byMiddle, misses)
		require.LessOrEqual(t, misses, 50, c.name)
	}
	require.Less(t, errors["random"][0], errors["random"][1])
	require.Greater(t, errors["by name"][0], errors["by name"][1])
	require.Less(t, errors["20 random"][0], 2*errors["random"][0]+0.02)
}
