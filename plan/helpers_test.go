package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// gaussian returns n rows of normal coordinates around mean, and their mean.
func gaussian(rng *rand.Rand, n int, mean float64, sds []float64) ([][]float64, []float64) {
	x, sum := make([][]float64, n), make([]float64, len(sds))
	for j := range x {
		x[j] = make([]float64, len(sds))
		for i, sd := range sds {
			x[j][i] = mean + sd*rng.NormFloat64()
			sum[i] += x[j][i] / float64(n)
		}
	}
	return x, sum
}

// powers returns (d/i)^exponent for i = 1, …, d.
func powers(d int, exponent float64) []float64 {
	out := make([]float64, d)
	for i := range out {
		out[i] = math.Pow(float64(d)/float64(i+1), exponent)
	}
	return out
}

// l2 returns the distance.
func l2(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// releaseSparse makes a release of sparse rows.
func releaseSparse(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}

// unscaled is releaseSparse with equal scales.
func unscaled(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	m = dptest.OK(m.WithScales(constant(p.Dim, 1)))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}
