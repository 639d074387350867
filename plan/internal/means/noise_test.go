package means

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// requireDeviation checks that normal values have the standard deviation, up to a relative slack.
// False reject: 1e-10 each way.
func requireDeviation(t *testing.T, name string, x []float64, sd, slack float64) {
	t.Helper()
	dptest.Alarm(t, 2e-10)
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	law := distuv.ChiSquared{K: float64(len(x) - 1)}
	require.Greater(t, squares/(sd*sd), law.Quantile(1e-10)*(1-slack), "%s: too little noise", name)
	require.Less(t, squares/(sd*sd), law.Quantile(1-1e-10)*(1+slack), "%s: too much noise", name)
}

// The number of rows, γ, sums and means have the noise that their budget asks for. Half of it would
// fail every one of these.
func TestEveryNumberHasItsNoise(t *testing.T) {
	const draws = 400
	ctx := context.Background()
	p := Params{Rho: 0.5, Dim: 2, Max: 1, Relation: budget.AddRemove, NonNegative: true, Method: Adaptive}.Resolved()
	x := &rows{bounds: bounds{dim: 2, most: 1}, dense: make([][]float64, 10000)}
	for j := range x.dense {
		x.dense[j] = []float64{0.1, 0}
	}
	var count, gamma, sum, bare []float64
	for range draws {
		r := newRun(ctx, p, x)
		count = append(count, r.n)
		r.n = 10000
		c := dptest.OK(r.clipAll(1))(t)
		left := r.budget.left()
		g, relative := r.noisyDivisor(c)
		require.InEpsilon(t, 1/math.Sqrt(2*r.spent.Divisor-2*p.Rho*countShare), relative*g, 1e-6)
		require.InEpsilon(t, p.Rho*gammaShare, left-r.budget.left(), 1e-9)
		gamma = append(gamma, g)
		noisy, _ := r.noisySums(c, 0.25)
		sum, bare = append(sum, noisy[0]), append(bare, noisy[1])
	}
	requireDeviation(t, "n", count, 1/math.Sqrt(2*p.Rho*countShare), 0)
	requireDeviation(t, "γ", gamma, 1/math.Sqrt(2*p.Rho*gammaShare), 0)
	requireDeviation(t, "sum", sum, 1/math.Sqrt(2*0.25), 1e-6)
	requireDeviation(t, "sum of zeros", bare, 1/math.Sqrt(2*0.25), 1e-6)

	wide := make([]float64, draws)
	for i := range wide {
		wide[i] = 0.1
	}
	q := Params{Rho: 1, Dim: draws, NonNegative: true, Method: Thesis, Relation: budget.Replace}.Resolved()
	r := newRun(ctx, q, &rows{bounds: bounds{dim: draws, most: 1}, dense: slices.Repeat([][]float64{wide}, 10000)})
	list := make([]int, draws)
	for i := range list {
		list[i] = i
	}
	spreads := dptest.OK(r.meanSpreads(list, 1e-5))(t)
	means := make([]float64, draws)
	for i, s := range spreads {
		means[i] = (1 - math.Sqrt(1-4*s*s)) / 2
	}
	// of 0.1 less than a third of them
	requireDeviation(t, "means", means, 1/math.Sqrt(2e-5)/10000, 0)
}

// Noise is added to sums before anything is rounded: from 2⁵³ on float64 numbers would move a sum
// by 1 first. The mean of 10,000 draws has a standard deviation of 0.08. Without noise there is no
// sum.
func TestNoiseIsAddedExactly(t *testing.T) {
	var s sampler
	law := dptest.OK(noise.NewGaussian(8))(t)
	mean := 0.0
	for range 10000 {
		mean += (s.addNoise(1<<53+1, law) - 1<<53) / 10000
	}
	require.InDelta(t, 1, mean, 0.5)
	require.True(t, math.IsNaN(s.addNoise(7, zcdpNoise(1, 0))))
}

// Whatever the shares, there is a budget for the sum, and the result is finite: also where a step
// is done twice.
func TestSharesLeaveASum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	dense, sparse := randomSparse(rng, 60, 5)
	for _, rho := range []float64{MinRho, 1, check.MaxRho} {
		if rho == 1 && !dptest.Long() || testing.Short() && rho != MinRho {
			continue
		}
		least := max(leastBudget/rho, 0x1p-20)
		for _, s := range []Shares{{}, {Clip: 0.5}, {Clip: 0.99}, {Clip: 0.49, Scale: 0.5}, {Scale: 0.99}, {Centre: 0.99}, {Divisor: 0.99}, {least, least, least, least}} {
			for _, method := range []Method{Adaptive, TwoPass, Thesis, Plain, InstanceOptimal} {
				for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
					p := Params{Rho: rho, Dim: 5, Max: 1, Shares: s, Method: method, NonNegative: method == TwoPass, Relation: relation}
					name := fmt.Sprintf("%+v", p)
					m := release(t, p, dense)
					checkFinite(t, name, m, rho)
					checkFinite(t, name, releaseSparse(t, p, sparse), rho)
				}
			}
		}
	}
}

func checkFinite(t *testing.T, name string, m *Mean, rho float64) {
	t.Helper()
	require.Empty(t, m.Wrong(m.Centres != nil, m.Lower != nil))
	s := m.Spent
	require.GreaterOrEqual(t, s.Sum, rho*(1-mostShares)/4, name)
	require.LessOrEqual(t, s.Centre+s.Scale+s.Clip+s.Divisor+s.Sum, rho*(1+1e-12), name)
	for i := range m.Params.Dim {
		require.True(t, math.Abs(m.Values[i]) <= math.MaxFloat64 && m.Errors[i] > 0 && m.Errors[i] <= math.MaxFloat64, "%s: %v ± %v", name, m.Values[i], m.Errors[i])
	}
}

// Entries below 0 count as 0 if rows are said to have none: the sensitivity √2·C rests on it.
func TestNegativeEntriesCountAsZero(t *testing.T) {
	p := Params{Rho: 1000, Dim: 3, NonNegative: true, Relation: budget.Replace}
	row := []float64{-1, 0.5, math.Inf(-1)}
	m := release(t, p, slices.Repeat([][]float64{row}, 1000))
	s := Sparse{Offsets: []int{0}}
	for range 1000 {
		s.Indices, s.Values = append(s.Indices, 0, 1, 2), append(s.Values, row...)
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	for _, m := range []*Mean{m, releaseSparse(t, p, s)} {
		require.InDeltaSlice(t, []float64{0, 0.5, 0}, m.Values, 0.05)
	}
}

// Under AddRemove a sparse row may lose its entries: ranks change as if it were replaced, and where
// it stood it adds nothing to any sum.
func TestSparseRowsMayLoseTheirEntries(t *testing.T) {
	s := Sparse{Offsets: []int{0, 2, 2}, Indices: []uint32{0, 1}}
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		p := Params{Rho: 1, Dim: 2, Rows: 2, NonNegative: true, Relation: relation}.Resolved()
		r := newRun(context.Background(), p, &rows{bounds: bounds{dim: 2, most: 1}, sparse: &s})
		require.Equal(t, map[budget.Relation]quantile.Change{budget.Replace: quantile.Replaced, budget.AddRemove: quantile.Either}[relation], r.ranks())
		r.shapeBy([]float64{2, 2}, 0.01) // full columns
		_, y := (&shaped{shaping: newShaping(r.x, r.centre, r.factor)}).row(1)
		require.Equal(t, relation == budget.AddRemove, len(y) == 0, "only under Replace columns are complemented")
		dense := newRun(context.Background(), p, &rows{bounds: bounds{dim: 2, most: 1}, dense: [][]float64{nil}})
		require.Equal(t, map[budget.Relation]quantile.Change{budget.Replace: quantile.Either, budget.AddRemove: quantile.Added}[relation], dense.ranks(), "NaN is not in a column")
	}
}
