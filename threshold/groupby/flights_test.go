package groupby

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// Flights by origin, each a user of one key: by default counts have the noise of FullKeys 1, which
// the release finds out, and sums of delays, whose range it learns, what is left. With the clip of
// 36 counts had 65, and with Min and Max sums 10,800.
func TestFlightsByOrigin(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 5)
	law, releases, mostCount, mostSum := spreadOut["delays"], 2, 18., 2100.
	law.users = 60_000
	if dptest.Long() { // of more flights more is clipped
		law.users, releases, mostCount, mostSum = 300_000, 10, 12, 3000
	}
	law.value = func(r *rand.Rand, _ int) float64 {
		if r.IntN(3) > 0 {
			return max(-60, math.Round(-5+6*r.NormFloat64()))
		}
		return min(1700, math.Round(math.Exp(2.8+1.1*r.NormFloat64())))
	}
	rng := rand.New(rand.NewPCG(5, 5))
	counts, sums := 0.0, 0.0
	for range releases {
		r := rowsOf[int, int](t, Params{Epsilon: 1, Delta: 1e-6, Values: true})
		flight := 0
		n, x := law.draw(rng, func(keys []int, delays []float64) {
			r.AddValue(flight, keys[0], delays[0])
			flight++
		})
		g := dptest.OK(r.Release())(t)
		require.LessOrEqual(t, g.FullKeys(), 2)
		for key := range g.All() {
			counts += math.Pow(g.Estimate(key)-n[key], 2) / float64(g.Len()*releases)
			sums += math.Pow(g.Sum(key)-x[key], 2) / float64(g.Len()*releases)
		}
	}
	t.Logf("rms of counts %.1f, of sums %.0f", math.Sqrt(counts), math.Sqrt(sums))
	// The choice errs now and then, and takes 2, where noise is √2 times as much.
	require.Less(t, math.Sqrt(counts), mostCount)
	require.Less(t, math.Sqrt(sums), mostSum)
}
