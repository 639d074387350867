package thresholds

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// noiseFor returns the law of η and of every L that is drawn at ε.
func noiseFor(epsilon float64) noise.DiscreteLaplace {
	scale, err := noise.LaplaceScale(epsilon, 1)
	if err != nil {
		panic(err)
	}
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic(err)
	}
	return d
}

// standardByDefinition returns Σ_x Pr[η = x]·(1 − F(τ−1−x)^k), term by term with compensation.
func standardByDefinition(k int, epsilon, tau float64) float64 {
	d := noiseFor(epsilon)
	sum, lost := 0.0, 0.0
	for x := math.Ceil(tau + 60/epsilon); x >= -60/epsilon; x-- {
		below := -d.Survival(tau - 2 - x) // ln F(τ−1−x), through the smaller tail
		if below > -0.5 {
			below = math.Log1p(below)
		} else {
			below = math.Log(d.CDF(tau - 2 - x))
		}
		term := d.Prob(x) * -math.Expm1(float64(k)*below)
		next := sum + term
		lost += term - (next - sum)
		sum = next
	}
	return sum + lost
}

// δ against its definition, where the terms are summed one by one and where midpoints stand for
// them.
func TestStandardDeltaIsItsDefinition(t *testing.T) {
	epsilons := []float64{0x1p-10, 0x1p-8, 0.05, 0.5, 1, 3, 20}
	if !dptest.Long() {
		epsilons = epsilons[2:]
	}
	for _, epsilon := range epsilons {
		for _, k := range []int{1, 2, 3, 64, 1024, 1 << 20, 1 << 28} {
			for _, reach := range []float64{0, 0.3, 3, 9, 30} {
				tau := 1 + math.Ceil(reach/epsilon)
				want := standardByDefinition(k, epsilon, tau)
				require.InEpsilon(t, want, math.Exp(FreedDelta(k, epsilon, tau)), 1e-12, "k = %d, ε = %v, τ = %v", k, epsilon, tau)
			}
		}
	}
}

// Midpoints: the bound on their error, against a sixteenth of the step, at the largest sums there
// are.
func TestStandardMidpoints(t *testing.T) {
	for _, epsilon := range []float64{check.MinEpsilon, 0x1p-17} {
		for _, k := range []int{2, 300, 1 << 28} {
			for _, reach := range []float64{0.1, 2, 12, 40} {
				s, tau := standardSum{k: float64(k), epsilon: epsilon}, math.Ceil(reach/epsilon)
				require.InDelta(t, s.logDelta(tau, 16*cells), s.logDelta(tau, cells), 1e-12, "k = %d, ε = %v, τ = %v", k, epsilon, tau)
			}
		}
	}
	// With eight cells the same sum is far off: the test can fail.
	s := standardSum{k: 1 << 28, epsilon: 0x1p-20}
	require.Greater(t, math.Abs(s.logDelta(0x1p25, cells)-s.logDelta(0x1p25, 8)), 1e-7)
}

// One counter is the case that has a closed form; k counters lie between it and the union bound,
// and δ falls with τ and rises with k.
func TestStandardDeltaBounds(t *testing.T) {
	for _, epsilon := range []float64{check.MinEpsilon, 1e-6, 0.01, 1, 10, check.MaxEpsilon} {
		last := math.Inf(1)
		for _, reach := range []float64{0, 0.5, 2, 10, 100, 700, 5000} {
			tau := 1 + math.Ceil(reach/epsilon)
			one := SharedSurvival(epsilon, tau-1)
			require.InDelta(t, one, FreedDelta(1, epsilon, tau), 1e-12*max(1, -one), "ε = %v, τ = %v", epsilon, tau)
			previous := one
			for _, k := range []int{2, 50, 1 << 14, 1 << 28} {
				got := FreedDelta(k, epsilon, tau)
				slack := 1e-12 * max(1, -got)
				require.GreaterOrEqual(t, got, previous-slack)
				require.LessOrEqual(t, got, min(0, one+math.Log(float64(k)))+slack)
				previous = got
			}
			require.LessOrEqual(t, previous, last+1e-12*max(1, -previous))
			last = previous
		}
	}
}

// The table of exact thresholds by k, beside that of kept zeros, which does not grow, and the
// paper's.
func TestStandardThresholdTable(t *testing.T) {
	for _, row := range []struct {
		epsilon, delta float64
		want           [5]int64 // k = 1, 2, 3, 64, 1024
		kept           int64
		paper64, paper float64
	}{
		{0.5, 1e-6, [5]int64{32, 34, 35, 41, 46}, 33, 70.2, 81.2},
		{1, 1e-6, [5]int64{17, 18, 18, 21, 24}, 17, 35.6, 41.1},
		{1, 1e-9, [5]int64{24, 25, 25, 28, 31}, 25, 49.4, 54.9},
		{2, 1e-6, [5]int64{9, 10, 10, 11, 13}, 9, 18.3, 21.1},
	} {
		for i, k := range []int{1, 2, 3, 64, 1024} {
			tau := FreedThreshold(k, row.epsilon, row.delta)
			require.Equal(t, row.want[i], tau, "k = %d, %+v", k, row)
			require.LessOrEqual(t, standardByDefinition(k, row.epsilon, float64(tau)), row.delta)
			require.Greater(t, standardByDefinition(k, row.epsilon, float64(tau)-1), row.delta, "τ − 1 must not do")
		}
		require.Equal(t, row.kept, KeptThreshold(64, row.epsilon, row.delta))
		paper := func(k float64) float64 { return 1 + 2*math.Log((k+1)/(2*row.delta))/row.epsilon }
		require.InDelta(t, row.paper64, paper(64), 0.06)
		require.InDelta(t, row.paper, paper(1024), 0.06)
	}
}
