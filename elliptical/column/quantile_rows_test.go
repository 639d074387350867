package column

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The number of rows has the noise that it is calibrated for, and none under Replace.
func TestNumberOfRows(t *testing.T) {
	const rows, runs, most = 5, 2000, 300
	for _, p := range []Params{{Epsilon: 1}, {Rho: .5}, {Epsilon: 1, Relation: budget.Replace}} {
		p.Max = 10
		q := quantilesOf(p, .3, .6).normal()
		noise := q.rowsNoise()
		observed, expected := make([]int64, 2*most+1), make([]float64, 2*most+1)
		for range runs {
			n := releasedQuantiles(t, q, 1, 2, 3, 4, 5).rows - rows
			if p.Relation == budget.Replace {
				require.Zero(t, n)
				continue
			}
			observed[min(max(n+most, 0), 2*most)]++
		}
		if p.Relation == budget.Replace {
			continue
		}
		for i := range expected {
			expected[i] = math.Exp(noise.Distribution().LogProb(float64(i-most))) * (1 - 1e-9)
		}
		dptest.ChiSquare(t, "rows", observed, expected, 1e-10)
	}
}

// With several levels an interval is of cells of other levels, however close they are: none holds
// less often than its confidence, and where n is large they are the next levels'.
func TestIntervalsOfSeveral(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 3)) // test data
	levels := []float64{.47, .49, .5, .51, .53}
	for _, n := range []int{1000, 20_000} {
		values := make([]float64, n)
		for i := range values {
			values[i] = rng.Float64()
		}
		slices.Sort(values)
		misses, all, beside := int64(0), int64(0), 0
		for range dptest.Full(200, 40) {
			q := releasedQuantiles(t, quantilesOf(Params{Epsilon: 1, Max: 1000}, levels...), values...)
			for _, level := range levels {
				lo, hi := q.Interval(level, .9)
				if at := int(level * float64(n)); values[at] < lo || values[at-1] > hi {
					misses++
				}
				if all++; lo > 0 && hi < 1000 {
					beside++
				}
			}
		}
		least, _ := dptest.ClopperPearson(misses, all, 1-1e-10)
		dptest.Alarm(t, 1e-10)
		require.LessOrEqual(t, least, .1, "%d of %d misses", misses, all)
		require.Equal(t, n > 10_000, beside > 0, "%d of %d have two ends", beside, all)
	}
}
