package means

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

func TestRotationIsOrthogonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1)) // test data
	var src noise.Source
	for _, d := range []int{1, 2, 3, 64, 65, 1000} {
		r := newRotation(&src, d)
		x, y := make([]float64, r.size()), make([]float64, r.size())
		for i := range d {
			x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		product, norm := 0.0, squaredNorm(x)
		for i := range x {
			product += x[i] * y[i]
		}
		before := append([]float64(nil), x...)
		r.apply(x)
		r.apply(y)
		after := 0.0
		for i := range x {
			after += x[i] * y[i]
		}
		require.InDelta(t, product, after, 1e-10)
		require.InDelta(t, norm, squaredNorm(x), 1e-10)
		r.invert(x)
		require.InDeltaSlice(t, before, x, 1e-12)
	}
}

// iomeRun returns a run of the mechanism over the rows.
func iomeRun(t *testing.T, p Params, x *rows) *run {
	require.NoError(t, p.Validate())
	p = p.Resolved()
	x.dim, x.most, x.least = p.Dim, p.Max, -p.Max
	if p.NonNegative {
		x.least = 0
	}
	return newRun(context.Background(), p, x)
}

// One row decides about one key in every column, and no other: the quantiles' neighbours are those
// of the rows. Sparse rows have the keys of dense ones, however many columns are made at a time and
// by how many goroutines.
func TestRotatedKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2)) // test data
	const n, d = 40, 33
	dense, sparse := make([][]float64, n), Sparse{Offsets: []int{0}}
	for j := range dense {
		dense[j] = make([]float64, d)
		for i := range d {
			if rng.IntN(4) == 0 {
				dense[j][i] = rng.NormFloat64()
				sparse.Indices = append(sparse.Indices, uint32(i))
				sparse.Values = append(sparse.Values, dense[j][i])
			}
		}
		sparse.Offsets = append(sparse.Offsets, len(sparse.Indices))
	}
	p := Params{Rho: 1, Dim: d, Max: 4, Workers: 3, Relation: budget.Replace}
	a := quantile.UniformAxis(-iomeReach*p.Max, iomeReach*p.Max)
	r := iomeRun(t, p, &rows{dense: dense})
	rotate := newRotation(&r.samplers[0].Src, d)
	keys := dptest.OK(r.rotatedKeys(rotate, a, 0, 64))(t)
	again := dptest.OK(iomeRun(t, p, &rows{sparse: &sparse}).rotatedKeys(rotate, a, 0, 64))(t)
	require.Equal(t, keys, again)
	part := dptest.OK(r.rotatedKeys(rotate, a, 10, 20))(t)
	require.Equal(t, keys[10*n:20*n], part)

	other := append([][]float64(nil), dense...)
	other[7] = []float64{1e300, math.NaN(), math.Inf(-1)}
	changed := dptest.OK(iomeRun(t, p, &rows{dense: other}).rotatedKeys(rotate, a, 0, 64))(t)
	for at := range keys {
		if at%n != 7 {
			require.Equal(t, keys[at], changed[at])
		}
	}
}

// gaussianRows returns n rows of N(centre, 1) coordinates, and their mean.
func gaussianRows(rng *rand.Rand, centre float64, n, d int) (x [][]float64, mean []float64) {
	mean = make([]float64, d)
	for range n {
		row := make([]float64, d)
		for i := range row {
			row[i] = centre + rng.NormFloat64()
			mean[i] += row[i] / float64(n)
		}
		x = append(x, row)
	}
	return x, mean
}

// distance returns ‖x − y‖₂; y = nil is 0.
func distance(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		sum += v * v
	}
	return math.Sqrt(sum)
}

// The whole mechanism on Gaussian data: it spends its budget and no more, its noise is the one it
// states, and its error that of C ≈ √d.
func TestInstanceOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3)) // test data
	const n, d = 2000, 64
	x, mean := gaussianRows(rng, 10, n, d)
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		r := iomeRun(t, Params{Rho: 1, Dim: d, Max: 50, Relation: relation, Workers: 2, Steps: Steps{Clip: 0.875}}, &rows{dense: x})
		m := dptest.OK(r.instanceOptimal())(t)
		spent := m.Spent.Centre + m.Spent.Clip + m.Spent.Divisor + m.Spent.Sum
		require.LessOrEqual(t, r.budget.spent, 1.0)
		require.InDelta(t, 1, spent, 1e-9)
		require.InDelta(t, 0.25, m.Spent.Centre, 1e-9)
		// Norms are 8 ± .7, and 250 rows are above C, seven standard deviations of the noise of a
		// step of the search.
		require.InDelta(t, 8.8, m.Limit, 0.8)
		noiseError := m.noiseNorm(2)
		sensitivity := 2.0
		if relation == budget.AddRemove {
			sensitivity = 1
		}
		// n may be noisy
		require.InEpsilon(t, sensitivity*m.Limit/n*math.Sqrt(d/(2*m.Spent.Sum)), noiseError, 0.05)
		// The noise has 64 coordinates: its norm is more than twice the expected with a probability
		// below 1e-10; clipping adds at most as much.
		dptest.Alarm(t, 1e-10)
		require.Less(t, distance(m.Values, mean), 3*noiseError)
	}
}

// Degenerate rows give a result.
func TestInstanceOptimalDegenerate(t *testing.T) {
	for _, x := range []*rows{
		{dense: nil}, {dense: [][]float64{{1, 2, 3}}}, {dense: [][]float64{{}, {math.NaN(), math.Inf(1), -1e300}, nil}},
		{sparse: &Sparse{Offsets: []int{0}}}, {sparse: &Sparse{Offsets: []int{0, 0, 0}}},
	} {
		for _, p := range []Params{{Rho: 1, Dim: 3, Max: 5, Relation: budget.Replace}, {Rho: MinRho, Dim: 1, Max: maxMax, Relation: budget.AddRemove}, {Rho: check.MaxRho, Dim: 3, NonNegative: true, Relation: budget.Replace}} {
			y := *x
			m := dptest.OK(iomeRun(t, p, &y).instanceOptimal())(t)
			require.Len(t, m.Values, p.Dim)
			for _, v := range m.Values {
				require.False(t, math.IsNaN(v))
			}
		}
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	r := iomeRun(t, Params{Rho: 1, Dim: 3, Max: 5, Relation: budget.Replace}, &rows{dense: [][]float64{{1, 2, 3}}})
	r.ctx = stopped
	require.ErrorIs(t, dptest.Err(r.instanceOptimal()), context.Canceled)
}
