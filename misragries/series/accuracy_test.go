package series

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// For a stationary stream the mean error of the ten most frequent keys is that of the formula: the
// mean of |estimate − truth| is some .8 of its standard error. 1.3 is for keys whose beginning is
// not known, and for chance: stream and noise are the same in every run.
func TestTopErrors(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	p := plain
	steps := max(dptest.Full(2048, 900), 900)
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.2, 3, 5000)
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	var counts []map[int]int
	for range steps {
		m := map[int]int{}
		for range 300 {
			x := int(zipf.Uint64())
			m[x]++
			b.Add(x)
		}
		counts = append(counts, m)
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	}
	for _, length := range []int{1, 24, 168, 720} {
		sum, n := 0.0, 0
		for end := steps - 120; end <= steps; end += 7 {
			truth := map[int]float64{}
			for _, m := range counts[end-length : end] {
				for x, count := range m {
					truth[x] += float64(count)
				}
			}
			var keys []int
			for x := range truth {
				keys = append(keys, x)
			}
			slices.SortFunc(keys, func(a, b int) int { return int(truth[b]-truth[a])*10000 + a - b })
			w := dptest.OK(l.Window(end-length, end))(t)
			for _, x := range keys[:10] {
				sum += math.Abs(w.Estimate(x) - truth[x])
				n++
			}
		}
		bound := 1.3 * 0.8 * dptest.OK(p.Plan())(t).StdErr(length)
		t.Logf("%d steps: %.1f, at most %.1f", length, sum/float64(n), bound)
		require.Less(t, sum/float64(n), bound)
	}
}

// Keys that are dropped, by MaxKnown or Retire, and found again by longer nodes: intervals of all
// windows hold, and no estimate counts a node twice, so that few lie outside of theirs. Stream and
// noise are the same in every run.
func TestKeysDroppedAndFoundAgain(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	for _, s := range []struct {
		maxKnown, retire int
		counts           []int // of each key in each step
		discovery        [maxSpans]int
	}{
		{1, 0, []int{1_000_000, 500}, spansOf(1, 4, 12)},
		{20, 0, slices.Repeat([]int{100}, 30), spansOf(1, 4, 12)},
		{5, 0, []int{300, 250, 200, 150, 100, 90, 80, 70}, spansOf(2, 12)},
		{0, 50, slices.Repeat([]int{40}, 20), spansOf(1, 4, 24)},
		{10, 60, slices.Repeat([]int{50}, 20), spansOf(2, 12, 24)},
	} {
		missed, outside, n := 0, 0, 0
		for range 8 {
			p := Params{Epsilon: 1, Delta: 1e-6, Spans: spansOf(1, 4), Discovery: s.discovery, MaxKnown: s.maxKnown, Retire: s.retire}
			b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
			for range 24 {
				for key, count := range s.counts {
					b.AddN(key, count)
				}
				require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
			}
			for _, at := range [][2]int{{0, 24}, {0, 12}, {3, 8}, {7, 24}, {11, 12}} {
				w := dptest.OK(l.Window(at[0], at[1]))(t)
				for key, count := range s.counts {
					lo, hi := w.Interval(key, 0.95)
					truth, estimate := float64(count*(at[1]-at[0])), w.Estimate(key)
					n++
					if truth < lo || truth > hi {
						missed++
					}
					if estimate < lo || estimate > hi {
						outside++
					}
				}
			}
		}
		t.Logf("MaxKnown %d, Retire %d: of %d intervals %d miss, %d estimates lie outside", s.maxKnown, s.retire, n, missed, outside)
		require.LessOrEqual(t, float64(missed), 0.05*float64(n))
		require.LessOrEqual(t, float64(outside), 0.05*float64(n))
	}
}
