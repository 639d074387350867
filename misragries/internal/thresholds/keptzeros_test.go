package thresholds

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

// sumOver adds f(x) over |x| ≤ 100 + 80/ε, from the ends.
func sumOver(epsilon float64, f func(x float64) float64) float64 {
	sum := 0.0
	for x := 100 + math.Ceil(80/epsilon); x > 0; x-- {
		sum += f(x) + f(-x)
	}
	return sum + f(0)
}

// The closed form of δ against its definition, Σ_x Pr[η = x]·(1 − F(τ−1−x)·F(τ−x)).
func TestDeltaIsItsDefinition(t *testing.T) {
	for _, epsilon := range []float64{0.05, 0.5, 1, 2, 5} {
		d := noiseFor(epsilon)
		tail := func(t float64) float64 { return d.Survival(t - 1) } // Pr[L ≥ t]
		for _, tau := range []float64{1, 2, 3, 7, 20, 60} {
			want := sumOver(epsilon, func(x float64) float64 {
				g0, g1 := tail(tau-1-x), tail(tau-x)
				return d.Prob(x) * -math.Expm1(math.Log1p(-g0)+math.Log1p(-g1))
			})
			require.InEpsilon(t, want, math.Exp(KeptDelta(2, epsilon, tau)), 1e-11, "ε = %v, τ = %v", epsilon, tau)
			require.Equal(t, math.Exp(KeptDelta(2, epsilon, tau)), math.Exp(KeptDelta(1000, epsilon, tau)), "δ does not grow with k")
			single := sumOver(epsilon, func(x float64) float64 { return d.Prob(x) * tail(tau-1-x) })
			require.InEpsilon(t, single, math.Exp(KeptDelta(1, epsilon, tau)), 1e-11)
			require.InEpsilon(t, single, math.Exp(SharedSurvival(epsilon, tau-1)), 1e-11)
		}
	}
}

// The table of exact thresholds, k ≥ 2 and k = 1.
func TestThresholdTable(t *testing.T) {
	for _, row := range []struct {
		epsilon, delta float64
		many, one      float64
	}{
		{0.5, 1e-2, 13, 12}, {0.5, 1e-3, 18, 18}, {0.5, 1e-6, 33, 32}, {0.5, 1e-9, 48, 47}, {0.5, 1e-12, 62, 61},
		{1, 1e-2, 7, 7}, {1, 1e-3, 10, 10}, {1, 1e-6, 17, 17}, {1, 1e-9, 25, 24}, {1, 1e-12, 32, 32},
		{2, 1e-2, 4, 4}, {2, 1e-3, 6, 6}, {2, 1e-6, 9, 9}, {2, 1e-9, 13, 13}, {2, 1e-12, 17, 17},
	} {
		for _, k := range []int{1, 2, 3, 64, 1 << 20} {
			want := row.many
			if k == 1 {
				want = row.one
			}
			require.EqualValues(t, want, KeptThreshold(k, row.epsilon, row.delta), "%+v, k = %d", row, k)
			require.LessOrEqual(t, math.Exp(KeptDelta(k, row.epsilon, want)), row.delta)
			require.Greater(t, math.Exp(KeptDelta(k, row.epsilon, want-1)), row.delta, "τ − 1 must not do")
		}
	}
}

// laplaceThreshold is the threshold of Lemma 11 of the paper for continuous noise, and valid for
// discrete noise by the same union bound.
func laplaceThreshold(epsilon, delta float64) float64 { return 1 + 2*math.Log(3/delta)/epsilon }

// geometricThreshold is the paper's threshold for discrete noise (section 5.2), 1 +
// 2·⌈ln(6e^ε/((e^ε+1)δ))/ε⌉.
func geometricThreshold(epsilon, delta float64) float64 {
	return 1 + 2*math.Ceil((math.Log(6/delta)-math.Log1p(math.Exp(-epsilon)))/epsilon)
}

// exact ≤ geometric closed form, exact ≤ Laplace closed form + 1, over the whole range of
// parameters.
func TestClosedFormsAreLooser(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2, 8} {
		for _, delta := range []float64{0.1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-100, 1e-300} {
			exact := float64(KeptThreshold(64, epsilon, delta))
			require.LessOrEqual(t, exact, geometricThreshold(epsilon, delta))
			require.LessOrEqual(t, exact, math.Ceil(laplaceThreshold(epsilon, delta)))
			require.LessOrEqual(t, math.Exp(SharedSurvival(epsilon, exact-1)), delta)
		}
	}
	require.Equal(t, 33.0, geometricThreshold(1, 1e-6))
	require.InDelta(t, 30.8, laplaceThreshold(1, 1e-6), 0.05)
}

// Extremes: no overflow, no NaN, monotone in ε and δ.
func TestThresholdExtremes(t *testing.T) {
	for _, k := range []int{1, 2} {
		last := 0.0
		for _, delta := range []float64{1 - 0x1p-53, 0.9, 0.5, 1e-30, check.MinDelta} {
			for _, epsilon := range []float64{check.MinEpsilon, 1e-6, 1, 100, check.MaxEpsilon} {
				tau := float64(KeptThreshold(k, epsilon, delta))
				require.GreaterOrEqual(t, tau, 1.0, fmt.Sprint(k, epsilon, delta))
				require.LessOrEqual(t, tau, 2+1500/epsilon)
			}
			tau := float64(KeptThreshold(k, 1, delta))
			require.GreaterOrEqual(t, tau, last)
			last = tau
		}
	}
	// At the smallest δ the threshold is what the tail says: δ(τ) ~ τ·e^{−ετ}.
	require.InDelta(t, 300*math.Ln10+math.Log(700), float64(KeptThreshold(64, 1, check.MinDelta)), 5)
}

// Both are the least integers, by their definition.
func TestReach(t *testing.T) {
	d := noiseFor(0.7)
	for _, tail := range []float64{0.4, 0.05, 1e-4, 1e-9} {
		n := float64(Reach(d.Scale(), tail))
		require.LessOrEqual(t, d.Survival(n-1), tail*(1+1e-12))
		require.True(t, n == 0 || d.Survival(n-2) > tail)
	}
	for _, x := range []float64{0, 1, 9, 60} { // Pr[η + L ≥ t]
		want := sumOver(0.7, func(y float64) float64 { return d.Prob(y) * d.Survival(x-1-y) })
		require.InEpsilon(t, want, math.Exp(SharedSurvival(0.7, x)), 1e-11)
	}
}
