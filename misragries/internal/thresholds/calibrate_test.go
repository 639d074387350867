package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The search with the normal limit of H finds what the one with H itself does: the threshold in
// counts goes on where the one ends and the other begins, and is the least of its R and b.
func TestNormalResponses(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 8} {
		for _, delta := range []float64{1e-300, 1e-9, 0.01} {
			want := Inward(delta)
			exact, _ := calibrateConcentration(1<<16, epsilon, want)
			about, ok := calibrateConcentration(1<<16+1, epsilon, want)
			require.True(t, ok)
			require.InEpsilon(t, float64(exact.Threshold)/(1<<16), float64(about.Threshold)/(1<<16+1), 1e-3, "ε = %v, δ = %v", epsilon, delta)
			require.LessOrEqual(t, about.concentrationLogDelta(1<<16+1, epsilon), want)
		}
	}
}

// The threshold is the least that the bound allows, as a search that computes H at each step finds,
// from wherever both start.
func TestSettleConcentration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	tried := 0
	for range 250 {
		k, epsilon, delta := int(between(2, 1<<17)), between(1e-6, 100), between(1e-12, 0.9)
		want := Inward(delta)
		found, ok := calibrateConcentration(k, epsilon, want)
		if !ok {
			continue
		}
		require.LessOrEqual(t, found.concentrationLogDelta(k, epsilon), want)
		low := found
		low.Threshold = (found.From + found.Threshold) / 2
		plain := low
		require.True(t, low.settleConcentration(k, epsilon, want))
		plain.settle(func(l Noise) bool { return l.concentrationLogDelta(k, epsilon) <= want })
		require.Equal(t, plain, low, "k = %d, ε = %v, δ = %v", k, epsilon, delta)
		require.Equal(t, plain, found, "k = %d, ε = %v, δ = %v", k, epsilon, delta)
		tried++
	}
	require.Greater(t, tried, 80)
}
