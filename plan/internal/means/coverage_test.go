package means

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// covered counts how often the interval holds the truth.
func covered(m *Mean, truth []float64, confidence float64) (hits int64) {
	for i, x := range truth {
		if lo, hi := m.NoiseInterval(i, confidence); lo <= x && x <= hi {
			hits++
		}
	}
	return hits
}

// requireRate checks that hits of n are within slack of the rate, as far as samples can tell. False
// reject: 2e-10 if that is so.
func requireRate(t *testing.T, name string, hits, n int64, rate, slack float64) {
	t.Helper()
	dptest.Alarm(t, 2e-10)
	lower, upper := dptest.ClopperPearson(hits, n, 1-1e-10)
	require.LessOrEqual(t, lower, rate+slack, "%s: %d of %d", name, hits, n)
	require.GreaterOrEqual(t, upper, rate-slack, "%s: %d of %d", name, hits, n)
}

// Intervals hold the mean of the rows as often as they say where rows are not clipped, or all
// alike: 90 % and 50 %.
//
// The slack: norms around the centre are √20·(1 ± 0.16), of which C cuts an eighth by 7 % on
// average, and γ gives the average back; what is left differs from coordinate to coordinate by at
// most 0.025/√n, 9 % of the noise, 2·√20/(n·√(2ρ)), so its variance is 1 % larger. Binary rows with
// 12 ones each are clipped alike, by 2⁻¹² or not at all if unscaled, and the passes are independent
// but for the choice of scales. Where γ is near 1, its cap, it errs by less than its standard
// deviation, and intervals hold more often; so it is left out.
func TestIntervalCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22)) // test data
	const d = 20
	x, mean := dptest.NormalRows(rng, 1000, 3, dptest.Powers(d, 0))
	binary, q := equalRows(rng, 1000, 60, 12)
	releases := dptest.Full(150, 60)
	undivided := Params{Rho: 0.5, Dim: 60, NonNegative: true, Steps: Steps{Scaling: Unscaled, Undivided: true}, Relation: budget.Replace}
	scaled := undivided
	scaled.Steps = Steps{Clip: 0.98, Undivided: true}
	for _, c := range []struct {
		name    string
		truth   []float64
		release func() *Mean
	}{
		{"adaptive", mean, func() *Mean {
			return release(t, Params{Rho: 0.5, Dim: d, Max: 100, Resolution: 1, Relation: budget.Replace}, x)
		}},
		{"two passes, unscaled", q, func() *Mean { return releaseSparse(t, undivided, binary) }},
		{"two passes", q, func() *Mean { return releaseSparse(t, scaled, binary) }},
	} {
		var wide, narrow, n int64
		for range releases {
			m := c.release()
			wide, narrow, n = wide+covered(m, c.truth, 0.9), narrow+covered(m, c.truth, 0.5), n+int64(m.Params.Dim)
		}
		t.Logf("%s: %.4f at 0.9, %.4f at 0.5", c.name, float64(wide)/float64(n), float64(narrow)/float64(n))
		requireRate(t, c.name, wide, n, 0.9, 0.02)
		requireRate(t, c.name, narrow, n, 0.5, 0.02)
	}
}

// equalRows returns rows with the given number of ones, the first columns being the more frequent
// ones, but none half full, and their mean.
func equalRows(rng *rand.Rand, n, d, ones int) (Sparse, []float64) {
	s, mean := Sparse{Offsets: []int{0}}, make([]float64, d)
	for range n {
		seen := map[uint32]bool{}
		for len(seen) < ones {
			seen[uint32(math.Pow(rng.Float64(), 1.2)*float64(d))] = true
		}
		for i := range seen {
			s.Indices = append(s.Indices, i)
			mean[i] += 1 / float64(n)
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return s.canonical(d), mean
}

func releaseSparse(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}
