package jl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/stretchr/testify/require"
)

// AddDense leaves the sums that Add of each coordinate does, for integers and whatever else is
// given for one, on grids with and without all integers.
func TestDenseIntegersAreThoseOfAdd(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	x := make([]float64, 300)
	for i := range x {
		x[i] = math.Round(1000 * random.NormFloat64())
	}
	x[3], x[70], x[71], x[150], x[200] = math.NaN(), 0.5, -1.5, 1e300, 1<<41
	for _, p := range []Params{
		{Epsilon: 1}, {Epsilon: 1, Sparsity: 8}, {Epsilon: 1e-6, Sparsity: 4, Noise: Laplace}, {Rho: 0.5, Sparsity: 8}, {Rho: 1e-17, Sparsity: 8},
		{Rho: 0.5, Sparsity: 8, Norm: L2},
	} {
		p.Dim, p.Rows, p.Integers, p.Seed = 300, 64, true, seed(3)
		dense := dptest.OK(New(p))(t)
		single := dptest.OK(dense.Sibling())(t)
		for range 3 {
			dense.AddDense(x)
			for i, v := range x {
				single.Add(uint64(i), v)
			}
		}
		a, b := private.Enter(dense.secret), private.Enter(single.secret)
		require.Equal(t, sums(b), sums(a), "%+v", p)
	}
}
