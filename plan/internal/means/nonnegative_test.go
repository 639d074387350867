package means

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Dense rows that are known to have no negative entry are released with 1.05 times the error of
// signed ones at most, over normal ones far from 0, skewed and heavy ones, and ties at 0: by the
// median of 24 runs, as both miss a scale now and then.
func TestNonNegativeIsNotWorse(t *testing.T) {
	dptest.NeedsLong(t)
	rng := rand.New(rand.NewPCG(40, 3))
	rare := func(share float64, f func() float64) func() float64 {
		return func() float64 {
			if rng.Float64() < share {
				return f()
			}
			return 0
		}
	}
	lognormal := func(sigma float64) func() float64 {
		return func() float64 { return math.Exp(sigma * rng.NormFloat64()) }
	}
	one := func() float64 { return 1 }
	sum, count := 0.0, 0.0 // of logarithms
	for _, law := range []struct {
		name string
		draw func() float64
	}{
		{"normal 100, 15", func() float64 { return 100 + 15*rng.NormFloat64() }}, {"uniform", rng.Float64}, {"exponential", rng.ExpFloat64}, {"lognormal .8", lognormal(.8)}, {"lognormal 1", lognormal(1)},
		{"Pareto 2", func() float64 { return 1 / math.Sqrt(1-rng.Float64()) }}, {"60 %", rare(.6, rng.ExpFloat64)}, {"40 %", rare(.4, rng.ExpFloat64)}, {"10 %", rare(.1, lognormal(1))}, {"Bernoulli .05", rare(.05, one)}, {"Bernoulli .7", rare(.7, one)},
	} {
		for _, relation := range []budget.Relation{budget.AddRemove, budget.Replace} {
			const n, d, runs = 10_000, 10, 24
			var errors [2][]float64
			for run := range runs {
				rows, truth := make([][]float64, n), make([]float64, d)
				for j := range rows {
					rows[j] = make([]float64, d)
					for i := range rows[j] {
						rows[j][i] = law.draw()
						truth[i] += rows[j][i] / n
					}
				}
				for i, nonNegative := range []bool{false, true} {
					m := dptest.OK(New(Params{Rho: .5, Dim: d, Max: 1e6, NonNegative: nonNegative, P: 2, Relation: relation}))(t)
					cryptotest.SetGlobalRandom(t, uint64(run))
					mean := dptest.OK(m.Release(context.Background(), rows))(t)
					square := 0.0
					for k := range d {
						square += math.Pow(mean.Values[k]-truth[k], 2)
					}
					errors[i] = append(errors[i], math.Sqrt(square))
				}
			}
			slices.Sort(errors[0])
			slices.Sort(errors[1])
			ratio := errors[1][runs/2] / errors[0][runs/2]
			t.Logf("%-15s %v: %.3f", law.name, relation, ratio)
			require.Less(t, ratio, 1.2, law.name)
			sum, count = sum+math.Log(ratio), count+1
		}
	}
	t.Logf("geometric mean %.3f", math.Exp(sum/count))
	require.Less(t, math.Exp(sum/count), 1.05)
}
