package account

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/loss"
)

// releasesAt is n releases at ε.
func releasesAt(n uint64, epsilon float64) Kind {
	x := Response(epsilon)
	x.Count = n
	return x
}

// Too many different kinds are rounded up, and what would take long has no losses.
func TestTooManyKinds(t *testing.T) {
	// What would take minutes is left to the sums: bytes may say anything.
	slow := make([]Kind, MostKinds)
	for i := range slow {
		slow[i] = releasesAt(MostCount, 1e-9*float64(i+1))
	}
	require.False(t, makeKinds(slow).losses(samplePoints).known())

	// Too many kinds are rounded up.
	rng := rand.New(rand.NewPCG(4, 20))
	var entries []Kind
	sum := 0.0
	for range 3 * MostKinds {
		x := math.Exp(-12 * rng.Float64())
		entries = append(entries, releasesAt(1, x))
		sum += x
	}
	k := makeKinds(entries)
	require.LessOrEqual(t, len(k), MostKinds)
	require.Greater(t, len(k), MostKinds/8)
	rounded := 0.0
	for _, x := range k {
		rounded += float64(x.Count) * x.Size
	}
	require.GreaterOrEqual(t, rounded, sum)
	require.InEpsilon(t, sum, rounded, 1e-2)
	for _, x := range []float64{5e-324, 1e-310, 0.1, 1, math.Nextafter(2, 0), 1e300} {
		for _, digits := range []int{20, 3, 0} {
			up := digitsUp(x, digits)
			require.GreaterOrEqual(t, up, x)
			require.LessOrEqual(t, up, max(2*x, 0x1p-1022))
		}
	}
}

// Gaussian noise by powers: on the lattice, not in closed form.
func TestGaussianByPowers(t *testing.T) {
	for _, c := range []struct {
		n             uint64
		mu, delta, up float64
	}{{50, 0.178, 1e-6, 1.0015}, {1000, 0.05, 1e-9, 1.002}} {
		law := loss.Gaussian(c.mu, loss.Points).Power(c.n, loss.Points)
		got := accountant{losses: losses{law, law}}.epsilonAt(c.delta, 100)
		truth := GaussianEpsilon(float64(c.n)*c.mu*c.mu, c.delta)
		require.GreaterOrEqual(t, got, truth)
		require.LessOrEqual(t, got, truth*c.up)
	}
}
