package dptest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEpsilonLowerBound(t *testing.T) {
	// 0.75 against 0.25 is ε = ln 3 = 1.0986.
	bound := EpsilonLowerBound(750_000, 1_000_000, 250_000, 1_000_000, 0, 1-1e-6)
	require.Less(t, bound, math.Log(3))
	require.Greater(t, bound, math.Log(3)-0.02)
	// δ is taken off first: ln((0.75 − 0.5)/0.25) = 0.
	require.Zero(t, EpsilonLowerBound(750_000, 1_000_000, 250_000, 1_000_000, 0.5, 0.99))
	require.Zero(t, EpsilonLowerBound(10, 1_000_000, 10, 1_000_000, 0.5, 0.99), "p below δ")
	require.Zero(t, EpsilonLowerBound(0, 0, 0, 0, 0, 0.99), "no data")
	require.Zero(t, EpsilonLowerBound(9, 10, 0, 10, math.NaN(), 0.99))

	Audit(t, "true claim", 750_000, 1_000_000, 250_000, 1_000_000, math.Log(3), 0, 1e-6)
	require.True(t, fails(func(t testing.TB) {
		Audit(t, "halved noise", 900_000, 1_000_000, 100_000, 1_000_000, math.Log(3), 0, 1e-6)
	}))
	require.True(t, fails(func(t testing.TB) { Audit(t, "no data", 0, 0, 0, 0, 1, 0, 1e-6) }))
	require.True(t, fails(func(t testing.TB) { Audit(t, "NaN", 1, 2, 1, 2, math.NaN(), 0, 1e-6) }))
}

// discreteLaplace returns the law of x + noise with ratio e^(−ε/scale), cut at ±400.
func discreteLaplace(x int, epsilon float64) map[int]float64 {
	law, norm := map[int]float64{}, math.Tanh(epsilon/2)
	for k := -400; k <= 400; k++ {
		law[x+k] = norm * math.Exp(-epsilon*math.Abs(float64(k)))
	}
	return law
}

func TestHockeyStick(t *testing.T) {
	p, q := map[string]float64{"a": 0.5, "b": 0.5}, map[string]float64{"a": 0.25, "c": 0.75}
	require.InDelta(t, 0.75, HockeyStick(p, q, 0), 0x1p-51) // (0.5 − 0.25) + 0.5
	require.InDelta(t, 0.5, HockeyStick(p, q, math.Log(2)), 0x1p-51)
	require.InDelta(t, 0.75, HockeyStick(q, p, 5), 0x1p-51, "a key that p lacks has probability 0")
	require.Equal(t, 0.5, HockeyStick(p, q, 5000), "e^ε overflows")
	require.Equal(t, 0.5, HockeyStick(p, q, math.Inf(1)))
	require.True(t, math.IsNaN(HockeyStick(p, q, -1)))
	require.True(t, math.IsNaN(HockeyStick(map[int]float64{1: -1}, nil, 1)))
	require.True(t, math.IsNaN(HockeyStickSlices([]float64{0.1}, []float64{math.NaN()}, 1)))
	require.InDelta(t, 0.7, HockeyStickSlices([]float64{0.3, 0.7}, []float64{1}, 1), 0x1p-51)
	require.Zero(t, HockeyStickSlices([]float64{1}, []float64{0.3, 0.7}, 2))
	// Small divergences keep their relative accuracy: only keys with a positive term matter.
	require.InEpsilon(t, 1e-30, HockeyStickSlices([]float64{1, 1e-30}, []float64{1, 0}, 0.1), 1e-15)
}

func TestApproxDP(t *testing.T) {
	p, q := discreteLaplace(0, 0.5), discreteLaplace(1, 0.5)
	slack := 1e-15 * 801 // the masses are right to a few ulp; the tails cut off are below e⁻²⁰⁰
	ApproxDP(t, "discrete Laplace", p, q, 0.5, 0, slack)
	require.True(t, fails(func(t testing.TB) { ApproxDP(t, "ε too small", p, q, 0.499, 0, slack) }))
	require.True(t, fails(func(t testing.TB) {
		ApproxDP(t, "swapped", map[int]float64{1: 1}, map[int]float64{1: 0.5, 2: 0.5}, 0.1, 0.4, 0)
	}))
	// The Gaussian-like boundary: δ exactly at the divergence passes, just below fails.
	delta := HockeyStick(p, q, 0.4)
	ApproxDP(t, "tight δ", p, q, 0.4, delta, slack)
	require.True(t, fails(func(t testing.TB) { ApproxDP(t, "δ too small", p, q, 0.4, delta-1e-6, slack) }))
	delete(p, 0)
	require.True(t, fails(func(t testing.TB) { ApproxDP(t, "lost mass", p, q, 10, 1, slack) }))
}
