package arete

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/stretchr/testify/require"
)

// staircase is the least E|X| of all ε-DP noise, at Δ = 1.
func staircase(epsilon float64) float64 { return 1 / (2 * math.Sinh(epsilon/2)) }

// discreteStaircase is the least E|X| of all ε-DP noise on the integers (Geng and Viswanath, 2014):
// masses 1 for k < r, e^{−ε} for r ≤ k < Δ, and e^{−ε} of that for each further Δ, for the best r.
func discreteStaircase(epsilon float64, delta int) float64 {
	least := math.Inf(1)
	for r := 1; r <= delta; r++ {
		mass, mean := 1.0, 0.0
		for k := 1; k < 60*delta; k++ {
			f := math.Exp(-epsilon * float64(k/delta))
			if k%delta >= r {
				f *= math.Exp(-epsilon)
			}
			mass += 2 * f
			mean += 2 * f * float64(k)
		}
		least = min(least, mean/mass)
	}
	return least
}

func TestBestReachesTheFigures(t *testing.T) {
	for _, c := range []struct{ epsilon, ratio float64 }{
		{2, 1.176}, {2.5, 1.249}, {3, 1.234}, {4, 1.211}, {5, 1.188}, {6, 1.173}, {7, 1.161}, {8, 1.151}, {10, 1.140}, {12, 1.135}, {14, 1.133}, {16, 1.133},
	} {
		l, err := Best(c.epsilon, 1)
		require.NoError(t, err)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, loss, c.epsilon)
		require.LessOrEqual(t, l.MeanAbs()*l.Step()/staircase(c.epsilon), c.ratio, "ε = %v", c.epsilon)
	}
}

// Whatever ε, the noise is at most that of Laplace, certified, and hardly grows with ε.
func TestBestAtManyEpsilons(t *testing.T) {
	last := math.Inf(1)
	for epsilon := 0.01; epsilon < 15; epsilon *= 1.07 {
		l, err := Best(epsilon, 3)
		require.NoError(t, err)
		_, ok := l.Certify()
		require.True(t, ok, "ε = %v", epsilon)
		mean := l.MeanAbs() * l.Step()
		require.LessOrEqual(t, mean, 3/epsilon)
		require.Less(t, mean, last)
		last = mean
	}
	for _, law := range []Law{Jump, DiscreteArete} {
		at, err := Params{Epsilon: 15.9, Law: law}.Lattice()
		require.NoError(t, err)
		ok := false
		_, ok = at.Certify()
		require.True(t, ok)
	}
}

// Integers: Δ = 1 is the optimum, and for Δ = 5 the jump law is next to it.
func TestBestIntegerReachesTheFigures(t *testing.T) {
	for _, c := range []struct {
		delta   int64
		epsilon float64
		ratio   float64
	}{
		{1, 0.5, 1.0001}, {1, 4, 1.0001}, {1, 30, 1.0001},
		{2, 2, 1.22}, {2, 3, 1.09}, {2, 4, 1.035}, {2, 6, 1.012}, {3, 3, 1.122}, {3, 4, 1.048}, {5, 3, 1.18}, {5, 4, 1.08}, {5, 6, 1.02}, {5, 8, 1.02},
		{10, 3, 1.24}, {10, 4, 1.262}, {10, 6, 1.022}, {10, 8, 1.01}, {100, 6, 1.20},
	} {
		l, err := Params{Epsilon: c.epsilon, Sensitivity: float64(c.delta), Integers: true}.Lattice()
		require.NoError(t, err)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, loss, c.epsilon)
		require.Equal(t, c.delta, l.Steps(), "the lattice is the integers")
		mean := l.MeanAbs()
		require.LessOrEqual(t, mean/discreteStaircase(c.epsilon, int(c.delta)), c.ratio, "ε = %v, Δ = %v", c.epsilon, c.delta)
		require.LessOrEqual(t, mean, 1/math.Sinh(c.epsilon/float64(c.delta))*(1+1e-12), "at most Laplace")
	}
	// The optimum itself is right at Δ = 1, and below Laplace noise.
	require.InEpsilon(t, 1/math.Sinh(3), discreteStaircase(3, 1), 1e-9)
}

// Large integer sensitivities: the noise is on a coarser lattice, the release an integer.
func TestLargeIntegerSensitivities(t *testing.T) {
	for _, delta := range []float64{1000, 5e5, limits.MaxInteger} {
		for _, epsilon := range []float64{limits.MinEpsilon, 1, 4, 8} {
			m, err := New(Params{Epsilon: epsilon, Sensitivity: delta, Integers: true})
			require.NoError(t, err)
			for range 20 {
				x, err := m.Release(12345)
				require.NoError(t, err)
				require.Equal(t, math.Trunc(x), x)
			}
			if epsilon >= 1 {
				require.LessOrEqual(t, m.Params().MeanAbs(), delta/epsilon)
			}
		}
	}
}

// The documented table of ratios.
func TestTableOfRatios(t *testing.T) {
	text := map[string][]float64{
		"Best":    {1.175, 1.247, 1.233, 1.210, 1.187, 1.172, 1.160, 1.150, 1.139, 1.134, 1.132, 1.132, 1.133},
		"Arete":   {0, 0, 0, 1.774, 2.160, 2.492, 2.738, 2.914, 3.122, 3.220, 3.264, 3.283, 3.295},
		"Laplace": {1.175, 1.282, 1.420, 1.813, 2.420, 3.340, 4.727, 6.822, 14.84, 33.62, 78.33, 186.3, 1101},
	}
	for i, epsilon := range []float64{2, 2.5, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20} {
		l, err := Best(epsilon, 1)
		require.NoError(t, err)
		require.InEpsilon(t, text["Best"][i], l.MeanAbs()*l.Step()/staircase(epsilon), 1e-3, "ε = %v", epsilon)
		if epsilon >= leastArete {
			d, err := Calibrate(epsilon, 1)
			require.NoError(t, err)
			require.InEpsilon(t, text["Arete"][i], d.MeanAbs()/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
		}
		require.InEpsilon(t, text["Laplace"][i], 1/epsilon/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
	}
}
