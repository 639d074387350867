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
