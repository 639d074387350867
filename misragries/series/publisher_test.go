package series

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// What a Builder publishes has the noise of its law: counts of known keys, late corrections, and
// counts that show a key, of which none is below the threshold.
func TestPublisher(t *testing.T) {
	p, c, err := checked[int](Params{Epsilon: 1, Delta: 0.1})
	require.NoError(t, err)
	n := &noisy[int]{calibration: c}
	const draws, count, reach = 20_000, 5, 40
	masses := func(prob func(float64) float64) []float64 {
		all := make([]float64, 2*reach+1)
		for i := range all {
			all[i] = prob(float64(i - reach))
		}
		return all
	}
	check := func(name string, publish func() int64, expected []float64) {
		seen := make([]int64, len(expected)+1)
		for range draws {
			if i := publish() - count + reach; i >= 0 && i < int64(len(expected)) {
				seen[i]++
			} else {
				seen[len(expected)]++
			}
		}
		dptest.ChiSquare(t, name, seen, expected, 1e-9)
	}
	require.NotEqual(t, c.known.Scale(), c.found.Scale())
	n.calibration.elements = [2]noise.DiscreteLaplace{c.found, c.known}
	check("elements that count", func() int64 { return n.elements(0, 1, count) }, masses(c.found.Prob))
	check("elements that are seen", func() int64 { return n.elements(1, 0, count) }, masses(c.known.Prob))
	for i := range used(&p.Discovery) {
		check("known", func() int64 { return n.known(i, count) }, masses(c.known.Prob))
		check("late", func() int64 { return n.late(i, count) }, masses(c.found.Prob))
		shown := masses(func(x float64) float64 {
			if x+count < float64(c.threshold) {
				return 0
			}
			return c.found.Prob(x)
		})
		check("shown", func() int64 {
			y, ok := n.show(i, count)
			require.True(t, ok || y == 0)
			if !ok {
				return count + 2*reach // the last cell
			}
			return y
		}, shown)
	}
}
