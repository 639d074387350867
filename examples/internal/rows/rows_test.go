package rows

import (
	"context"
	"github.com/dpsketch/dpsketch/noise/budget"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/plan"
	"github.com/stretchr/testify/require"
)

// The generated rows are what their names say. The seed is fixed, so the tolerances of about six
// standard errors hold in all runs or in none.
func TestGenerated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	sum, squares := [2]float64{}, [2]float64{}
	const n = 10_000
	for _, row := range Gaussian(rng, n, 10, []float64{1, 5}).Dense {
		for i, x := range row {
			sum[i], squares[i] = sum[i]+x, squares[i]+(x-10)*(x-10)
		}
	}
	for i, sd := range []float64{1, 5} {
		require.InDelta(t, 10, sum[i]/n, 6*sd/math.Sqrt(n))
		require.InDelta(t, sd*sd, squares[i]/n, 6*sd*sd*math.Sqrt(2.0/n))
	}
	binary := Bits(rng, n, 4, 0.25)
	require.Equal(t, []float64{0.5, 0.01, 0.01, 0.01}, binary.Truth)
	for i, mean := range binary.Mean() {
		require.InDelta(t, binary.Truth[i], mean, 6*math.Sqrt(binary.Truth[i]*(1-binary.Truth[i])/n))
	}
	// a row has ⌊X⌋ + 1 ones for an X of mean 20, which is 20.5 on average
	zipf := Zipf(rng, 1000, 5000, 20_000)
	require.Equal(t, 1000, zipf.Sparse.Rows())
	require.InDelta(t, 20_500, len(zipf.Sparse.Indices), 6*20*math.Sqrt(1000))
	most, last := 0, 0
	for _, i := range zipf.Sparse.Indices {
		switch {
		case i < 100:
			most++
		case i >= 4900:
			last++
		}
	}
	require.Greater(t, most, 20*last) // the shares are as ln 11 to ln(5009/4909)
}

func TestPowers(t *testing.T) {
	require.Equal(t, []float64{4, 2, 4. / 3, 1}, Powers(4, 2))
	require.Equal(t, []float64{1, 1}, Powers(2, 0))
}

func TestVerses(t *testing.T) {
	v := Verses()
	require.Equal(t, 31102, v.Sparse.Rows())
	require.Len(t, v.Sparse.Indices, 616271)
	sum := 0.0
	for _, q := range v.Truth {
		sum += q
	}
	require.InEpsilon(t, 616271./31102, sum, 1e-9)
}

// Dense and sparse rows go where they belong, and bad parameters come back.
func TestRelease(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dense := Gaussian(rng, 100, 3, []float64{1, 1})
	m, err := dense.Release(context.Background(), plan.Params{Rho: 1e6, Dim: 2, Max: 10, Resolution: 1, Relation: budget.Replace}, plan.New)
	require.NoError(t, err)
	require.Less(t, Distance(m.Values(), dense.Mean(), 2), 0.5)
	sparse := Bits(rng, 100, 2, 1)
	m, err = sparse.Release(context.Background(), plan.Params{Rho: 1e6, Dim: 2, NonNegative: true, Relation: budget.Replace}, plan.New)
	require.NoError(t, err)
	require.Less(t, Distance(m.Values(), sparse.Mean(), 1), 0.5)
	_, err = sparse.Release(context.Background(), plan.Params{}, plan.New)
	require.ErrorIs(t, err, plan.ErrParams)
}
