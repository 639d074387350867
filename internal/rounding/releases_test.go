package rounding

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/loss"
)

// composed returns the bound on δ of releases that compose by these keys, and nothing else.
func composed(k loss.Keys, epsilon float64) float64 {
	mu := math.Sqrt(k.MuSquares()) * (1 + 1e-12)
	return k.Delta(epsilon, func(epsilon float64) float64 { return gap(epsilon, mu) })
}

// Thresholds of n releases that share ε and δ: those of the theorem, found by another program; the
// noise alone takes half of δ. More would be too many.
func TestForReleases(t *testing.T) {
	const s = 1 << 20
	u := Users{Unit: s, MaxKeys: 100}
	for _, c := range []struct{ n, epsilon, delta, sigma, threshold float64 }{
		{7, 1, 1e-6, 11.5491, 61.83}, {30, 1, 1e-6, 23.9092, 128.75}, {365, 1, 1e-6, 83.3963, 456.3}, {30, 2, 1e-6, 12.59, 69.53}, {7, 1, 1e-9, 14.842, 95.48},
	} {
		if testing.Short() && c.n != 30 {
			continue
		}
		k, ok := ForReleases(0, c.sigma*s, c.n, c.epsilon, c.delta, u)
		require.True(t, ok)
		require.InEpsilon(t, c.threshold, float64(k.Second.Threshold)/s, 3e-3)
		keys := k.Second.Keys(u)
		require.LessOrEqual(t, composed(keys.Times(c.n), c.epsilon), c.delta)
		require.Greater(t, composed(keys.Times(c.n), c.epsilon), 0.999*c.delta)
		require.Greater(t, composed(keys.Times(c.n+1), c.epsilon), c.delta)
	}
	// Two passes are two releases, and what is beside them is there once.
	u.Beside = 0.0002
	k, ok := ForReleases(75*s, 28*s, 30, 1, 1e-6, u)
	require.True(t, ok)
	keys := k.Keys(u)
	require.InEpsilon(t, 1./(75*75)+1./(28*28)+0.0002, keys.MuSquares(), 1e-9)
	require.LessOrEqual(t, composed(keys.Times(30), 1), 1e-6)
	first := u
	first.Beside = 0
	require.Equal(t, keys, k.First.Keys(first).Plus(k.Second.Keys(u)))
	_, ok = ForReleases(20*s, 20*s, 30, 1, 1e-6, u)
	require.False(t, ok)
}

// The formulas of a kernel that rounds, at one κ by hand, and of one that does not.
func TestKeysOfAKernel(t *testing.T) {
	const s = 1 << 20
	k := Quadratic{24 * s, 7 * s, 130*s + s/2}
	u := Users{Unit: s, MaxKeys: 50, Beside: 0.001}
	keys := k.Keys(u)
	eta := tail((123 + 0.5 - 0.5/s) / 24)
	require.InEpsilon(t, 1./(24*24)+0.001, keys[0], 1e-9)
	require.InEpsilon(t, -50*math.Log1p(-eta), keys[1], 1e-6)
	slope := math.Exp(-122.5*122.5/(2*24*24))/(math.Sqrt(2*math.Pi)*24) + 2*eta/7
	require.InEpsilon(t, slope*math.Sqrt(50)/(1-tail(122.5/24)), keys[2], 1e-6)
	for i := range 16 {
		kappa, h := math.Exp(loss.LogKappa(i)), 1.0
		c0 := max(1, 123.5-math.Sqrt(123.5*123.5-2*24*24*loss.LogKappa(i)))
		for c := 0.; c <= c0; c += c0 / 4000 {
			h = max(h, tail((123.5-c)/24)/eta/((1+c/7)*(1+c/7)))
		}
		want := 1.0 // no bound
		if kappa > h {
			want = min(eta/49*h*kappa/(kappa-h), 1)
		}
		// h is a bound from blocks, up to some 1e-3 above
		require.InEpsilon(t, want, keys[3+i], 1e-2+1e-2/math.Abs(kappa-h), "κ = %v", kappa)
		require.GreaterOrEqual(t, keys[3+i], want*(1-1e-6))
	}
	u.Replace = true
	require.InEpsilon(t, 2./(24*24)+0.001, k.Keys(u)[0], 1e-9)

	plain := Quadratic{24 * s, 1, 150 * s}
	keys = plain.Keys(Users{Unit: s, MaxKeys: 50})
	hidden := 0.0
	for l := 1.; l <= 50; l++ {
		hidden = max(hidden, -l*math.Log1p(-tail((150-0.5/s-1/math.Sqrt(l))/24)))
	}
	require.Equal(t, []float64{0, 0}, keys[1:3])
	require.InEpsilon(t, -math.Expm1(-hidden), keys[3], 1e-6)
	require.InEpsilon(t, hidden, plain.Keys(u)[2], 1e-2)
}
