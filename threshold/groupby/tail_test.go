package groupby

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// valuesLaw is a law of users with a value in each of their keys.
type valuesLaw struct {
	users, keys int
	zipf        float64
	most        int // keys of a user
	value       func(r *rand.Rand, key int) float64
}

func scaleOf(key int) float64 {
	return math.Exp(rand.New(rand.NewPCG(uint64(key), 5)).NormFloat64())
}

// delay is one of a flight, in minutes: most are early, some are late by hours.
func delay(r *rand.Rand, key int) float64 {
	if r.IntN(3) > 0 {
		return max(-60, math.Round(-5+6*r.NormFloat64()))
	}
	return min(1700, math.Round(math.Exp(3.2+1.2*r.NormFloat64())*math.Sqrt(scaleOf(key))/2))
}

// nothingClipped leaves of an interval its noise and its shortfall.
var nothingClipped = ranges.Bound{StdDev: 1e-9}

// spreadOut are values of which the largest users have much.
var spreadOut = map[string]valuesLaw{
	"delays": {100_000, 223, 1, 1, delay},
	"grosses": {30_000, 200, 0.7, 1, func(r *rand.Rand, key int) float64 {
		return 1e6 * scaleOf(key) * min(math.Exp(1.7*r.NormFloat64()), 500)
	}},
	"log-normal 1":   {50_000, 200, 1, 8, func(r *rand.Rand, key int) float64 { return scaleOf(key) * math.Exp(r.NormFloat64()) }},
	"log-normal 1.5": {50_000, 200, 1, 8, func(r *rand.Rand, key int) float64 { return scaleOf(key) * math.Exp(1.5*r.NormFloat64()) }},
	"log-normal 2":   {50_000, 200, 1, 8, func(r *rand.Rand, key int) float64 { return scaleOf(key) * math.Exp(2*r.NormFloat64()) }},
	"downloads":      {50_000, 200, 1, 4, func(r *rand.Rand, key int) float64 { return math.Floor(scaleOf(key) * math.Pow(1-r.Float64(), -1/1.1)) }},
	"Pareto 1.5":     {50_000, 200, 1, 8, func(r *rand.Rand, key int) float64 { return scaleOf(key) * math.Pow(1-r.Float64(), -1/1.5) }},
	"N(100, 15)":     {50_000, 200, 1, 8, func(r *rand.Rand, _ int) float64 { return 100 + 15*r.NormFloat64() }},
}

// draw adds users and returns the true counts and sums.
func (l valuesLaw) draw(r *rand.Rand, add func(keys []int, values []float64)) (counts, sums []float64) {
	reach, total := make([]float64, l.keys), 0.0
	for k := range reach {
		total += math.Pow(float64(k+1), -l.zipf)
		reach[k] = total
	}
	counts, sums = make([]float64, l.keys), make([]float64, l.keys)
	for range l.users {
		var keys []int
		var values []float64
		for range 1 + r.IntN(l.most) {
			k, _ := slices.BinarySearch(reach, r.Float64()*total)
			if k = min(k, l.keys-1); slices.Contains(keys, k) {
				continue
			}
			keys, values = append(keys, k), append(values, l.value(r, k))
			counts[k]++
			sums[k] += values[len(values)-1]
		}
		add(keys, values)
	}
	return counts, sums
}

// Of the true sums and means of all shown keys, with what was clipped, 95 % intervals hold .93 or
// more, or are infinite, also where the largest users have much of all. Without the bound on what
// was clipped they do not.
func TestIntervalsOfTrueSums(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 8)
	r := rand.New(rand.NewPCG(8, 8))
	laws, releases := []string{"delays", "log-normal 2"}, 2
	if dptest.Long() {
		laws, releases = slices.Sorted(maps.Keys(spreadOut)), 10
	}
	for _, name := range laws {
		law := spreadOut[name]
		n, sumsHeld, meansHeld, withoutHeld, finite := 0, 0, 0, 0, 0
		for range releases {
			b := builder[int](t, learning)
			counts, sums := law.draw(r, b.AddUserValues)
			g := release(t, b)
			without := *g
			without.mostLost = nothingClipped
			for key := range g.All() {
				n++
				lo, hi := g.SumInterval(key, 0.95)
				low, high := g.MeanInterval(key, 0.95)
				require.Equal(t, math.IsInf(hi, 1), g.mostLost.StdDev == 0)
				sumsHeld += oneIf(lo, sums[key], hi)
				meansHeld += oneIf(low, sums[key]/counts[key], high)
				if !math.IsInf(hi, 1) {
					finite++
				}
				lo, hi = without.SumInterval(key, 0.95)
				withoutHeld += oneIf(lo, sums[key], hi)
			}
		}
		share := func(held int) float64 { return float64(held) / float64(n) }
		t.Logf("%s: sums %.3f, means %.3f, without the bound %.3f; %.2f finite", name, share(sumsHeld), share(meansHeld), share(withoutHeld), share(finite))
		require.GreaterOrEqual(t, share(sumsHeld), 0.93, name)
		require.GreaterOrEqual(t, share(meansHeld), 0.93, name)
		if name != "N(100, 15)" {
			require.Less(t, share(withoutHeld), 0.9, name)
		}
	}
}

// Sums and means get back a third of what clipping is estimated to have taken: their errors in the
// ten largest keys are then smaller by a tenth or more.
func TestClippedIsAddedBack(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 4)
	r := rand.New(rand.NewPCG(1, 9))
	for _, name := range []string{"log-normal 1", "log-normal 1.5"} {
		with, without := [2]float64{}, [2]float64{}
		for range 5 {
			b := builder[int](t, learning)
			counts, sums := spreadOut[name].draw(r, b.AddUserValues)
			g := release(t, b)
			clipped := *g
			clipped.lost = 0
			for key := range 10 {
				for square, g := range map[*[2]float64]*Groups[int]{&with: g, &without: &clipped} {
					square[0] += math.Pow(g.Sum(key)/sums[key]-1, 2)
					square[1] += math.Pow(g.Mean(key)*counts[key]/sums[key]-1, 2)
				}
			}
		}
		for i := range with {
			t.Logf("%s: squared errors %.4f, as clipped %.4f", name, with[i], without[i])
			require.Less(t, with[i], 0.9*0.9*without[i], name)
		}
	}
}

// oneIf is 1 if the interval holds x, else 0.
func oneIf(lo, x, hi float64) int {
	if lo <= x && x <= hi {
		return 1
	}
	return 0
}

// A larger TailIndex makes intervals narrower.
func TestTailIndex(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 9)
	width := func(index float64) float64 {
		p := learning
		p.TailIndex = index
		b := builder[int](t, p)
		spreadOut["log-normal 1"].draw(rand.New(rand.NewPCG(1, 1)), b.AddUserValues)
		lo, hi := release(t, b).SumInterval(0, 0.95)
		return hi - lo
	}
	require.Greater(t, width(1.1), 1.2*width(8))
}
