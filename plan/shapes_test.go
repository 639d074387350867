package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// heavyTails returns sparse rows of Pareto values, of tail index 2, in columns by Zipf's law, of
// which the values also differ in scale: a shape that no constant of this package was chosen with.
func heavyTails(rng *rand.Rand, n, d int) (Sparse, []float64) {
	s, mean := Sparse{Offsets: []int{0}}, make([]float64, d)
	for range n {
		seen := map[uint32]bool{}
		for len(seen) < 12 {
			seen[uint32(math.Exp(rng.Float64()*math.Log(float64(d)+1)))-1] = true
		}
		for i := range seen {
			v := min(0.01*math.Exp(float64(i%7)/3)/math.Sqrt(1-rng.Float64()), 1)
			s.Indices, s.Values = append(s.Indices, i), append(s.Values, v)
			mean[i] += v / float64(n)
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return s.canonical(d), mean
}

func l1(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i] - b[i])
	}
	return sum
}

// On data that the defaults were not chosen with they are better than no scaling, and much better
// than the plain mechanism. Errors are sums over 1500 coordinates, with standard deviations of some
// percent.
func TestDefaultsOnAFreshShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32)) // test data
	const d = 1500
	x, mean := heavyTails(rng, 6000, d)
	for _, rho := range []float64{0.1, 1} {
		p := Params{Rho: rho, Dim: d, NonNegative: true}
		unscaled, plain := p, p
		unscaled.Steps.Scaling, plain.Method = Unscaled, Plain
		m := releaseSparse(t, p, x)
		e, s := l1(m.Values(), mean), l1(m.Shrunk(1), mean)
		clamped := m.Values()
		for i, v := range clamped {
			clamped[i] = max(v, 0)
		}
		c := l1(clamped, mean)
		u := l1(releaseSparse(t, unscaled, x).Values(), mean)
		g := l1(releaseSparse(t, plain, x).Values(), mean)
		t.Logf("ρ = %v: %.3f, unscaled %.3f, plain %.3f, no less than 0 %.3f, shrunken %.3f", rho, e, u, g, c, s)
		require.Less(t, e, 0.95*u)
		require.Less(t, e, 0.1*g)
		require.Less(t, s, c, "better than 0 for what is below it")
	}
}
