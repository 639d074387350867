package sparse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// refuted returns the greatest ε that releases of two inputs refute at the δ of the Params, with
// confidence 1 − 1e-10. The event is fixed beforehand. The number of releases is such that half the
// noise is missed with probability below 1e-10, by the binomial laws of the counts that 60,000
// releases showed.
func refuted(t *testing.T, p Params, c calibration, a, b map[int]int64, event func(*Vector[int]) bool) float64 {
	dptest.Alarm(t, 1e-10)
	n := int64(1_500) // probabilities .88 and .12 with half the noise
	switch {
	case c.method.normal():
		n = 20_000 // .16 and .023
	case !p.Integers:
		n = 4_000 // .49 and .067
	}
	release := releaser(p, c)
	hits := func(totals map[int]int64) (count int64) {
		for range n {
			if event(release(totals)) {
				count++
			}
		}
		return count
	}
	return dptest.EpsilonLowerBound(hits(a), n, hits(b), n, p.Delta, 1-1e-10)
}

// Each mechanism on a pair of neighbours that is hard for it: no more ε than claimed can be seen,
// and with half the noise it can. Laplace noise: a key far above T moves by one unit, the event
// being a noisy value of at least the larger one. Normal noise: all keys that may move do, and the
// event is a sum that favours the larger input; it lies where the loss is greatest for half the
// noise.
func TestAudit(t *testing.T) {
	dptest.NotShort(t, "many releases")
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-2, Integers: true, Method: ExponentialRounding},
		{Epsilon: 1, Delta: 1e-2, Integers: true, Method: LinearRounding},
		{Epsilon: 1, Delta: 1e-2, Integers: true, Method: Laplace},
		{Epsilon: 1, Delta: 1e-2, Method: ExponentialRounding},
		{Epsilon: 1, Delta: 1e-2, MaxKeys: 1, Method: Gaussian},
		{Epsilon: 1, Delta: 1e-2, MaxKeys: 4, Method: Gaussian},
		{Epsilon: 1, Delta: 1e-2, MaxKeys: 4, Stored: 4, Method: CorrelatedGaussian},
		{Epsilon: 1, Dim: 1000, Integers: true},
		{Epsilon: 1, Dim: 4, Integers: true, Method: DenseLaplace},
	} {
		c := dptest.OK(p.choose())(t)
		half := c
		half.scale, half.shared = c.scale/2, c.shared/2
		unit := int64(math.Ceil(1 / c.step))
		large := 5 * max(c.threshold, unit)
		moved := max(p.MaxKeys, 1)
		a, b := map[int]int64{}, map[int]int64{}
		for key := range moved {
			a[key], b[key] = large+unit, large
		}
		edge := float64(int64(moved)*(large+unit)) * c.step
		if c.method.normal() {
			// one standard deviation of the sum of half the noise above the larger mean
			edge += math.Sqrt(float64(moved))*math.Hypot(half.scale, math.Sqrt(float64(moved))*half.shared)*c.step - 1e-9
		}
		event := func(v *Vector[int]) bool {
			sum := 0.0
			for key := range moved {
				sum += v.Estimate(key)
			}
			return sum >= edge
		}
		require.LessOrEqual(t, refuted(t, p, c, a, b, event), p.Epsilon, "%+v", p)
		require.Greater(t, refuted(t, p, half, a, b, event), p.Epsilon, "half the noise: %+v", p)
	}
}

// The δ side: keys that only one input has are released with a probability that the bound allows,
// and not with a threshold of two thirds.
func TestAuditOfDelta(t *testing.T) {
	dptest.NotShort(t, "many releases")
	// the least probable event of a lower threshold has .0366, seven standard deviations above what
	// is asked
	const n = 7_000
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-2, Integers: true, Method: ExponentialRounding},
		{Epsilon: 2, Delta: 1e-2, Method: LinearRounding},
		{Epsilon: 1, Delta: 1e-2, Integers: true, Method: Laplace},
		{Epsilon: 1, Delta: 1e-2, MaxKeys: 1, Method: Gaussian},
		{Epsilon: 1, Delta: 1e-2, MaxKeys: 3, Stored: 3, Method: CorrelatedGaussian},
	} {
		c := dptest.OK(p.choose())(t)
		hits := func(c calibration) (count int64) {
			unit := int64(math.Ceil(1 / c.step))
			totals := map[int]int64{}
			for key := range max(p.MaxKeys, 1) {
				totals[key] = unit
			}
			release := releaser(p, c)
			for range n {
				if release(totals).Len() > 0 {
					count++
				}
			}
			return count
		}
		dptest.Alarm(t, 2e-10) // the claim and the control
		low, _ := dptest.ClopperPearson(hits(c), n, 1-1e-10)
		require.LessOrEqual(t, low, p.Delta, "%+v", p)
		lower := c
		lower.threshold = c.threshold * 2 / 3
		lower.from = min(c.from, lower.threshold-1)
		low, _ = dptest.ClopperPearson(hits(lower), n, 1-1e-10)
		require.Greater(t, low, p.Delta, "lower threshold: %+v", p)
	}
}
