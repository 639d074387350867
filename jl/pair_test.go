package jl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What the accountant takes a release for: two rows and two columns of integers with discrete
// Laplace noise, the whole output law of all neighbours; half the noise breaks it.
func TestPairBoundsTheRelease(t *testing.T) {
	for _, p := range []Params{{Dim: 2, Rows: 1}, {Dim: 2, Rows: 2, Sparsity: 2}, {Dim: 2, Rows: 2, Transform: SRHT}} {
		p.Integers, p.Epsilon, p.Seed = true, 2.5, seed(1)
		b := dptest.OK(New(p))(t)
		zero := dptest.OK(b.Sibling())(t)
		once, twice := dptest.Memo(b.Guarantee().DeltaAt), dptest.Memo(b.Guarantee().Times(2).DeltaAt)
		broken := false
		for column := range 2 {
			o, _ := b.Sibling()
			o.Add(uint64(column), 1)
			x, y := integers(zero), integers(o)
			law := func(values []int64, scale float64) []float64 {
				d := dptest.OK(noise.NewDiscreteLaplace(scale))(t)
				all := []float64{1}
				for _, v := range values {
					var next []float64
					for k := int64(-18); k <= 18; k++ {
						for _, mass := range all {
							next = append(next, mass*d.Prob(float64(k-v)))
						}
					}
					all = next
				}
				return all
			}
			l := peek(b).noise
			dptest.Dominated(t, p.Transform.String(), law(x, (l.Steps())), law(y, (l.Steps())), once, twice, 1e-9)
			broken = broken || dptest.HockeyStickSlices(law(x, (l.Steps())/2), law(y, (l.Steps())/2), 1) > b.Guarantee().DeltaAt(1)+1e-3
		}
		require.True(t, broken, "half the noise")
	}
}

// Laplace and normal noise on reals: neighbours move the rows by no more than the pair says, in
// scales, and some pair of inputs by that.
func TestPairOfReals(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1}, {Epsilon: 1, Delta: 1e-3, Noise: Gaussian}, {Rho: 0.5}, {Epsilon: 2, Delta: 0.1, Noise: Gaussian, Change: L2(1), Sparsity: 2}} {
		p.Dim, p.Rows, p.Seed = 3, 4, seed(1)
		b := dptest.OK(New(p))(t)
		g, l := b.Guarantee(), peek(b).noise
		most := 0.0
		for column := range 3 {
			o, _ := b.Sibling()
			o.Add(uint64(column), 1)
			moved := 0.0
			for _, x := range integers(o) {
				moved = math.Hypot(moved, float64(x))
			}
			if Noise(l.Kind) == Laplace {
				moved = 0
				for _, x := range integers(o) {
					moved += math.Abs(float64(x))
				}
			}
			most = max(most, moved/(l.Steps()))
		}
		bound, plain := budget.Laplace(most, g.Unit()), budget.PureDP(p.Epsilon, g.Unit())
		if Noise(l.Kind) == Gaussian {
			bound, plain = budget.GDP(most, g.Unit()), budget.ApproxDP(p.Epsilon, p.Delta, g.Unit())
		}
		for _, epsilon := range []float64{0.1, 0.5, 1.5} {
			require.GreaterOrEqual(t, g.DeltaAt(epsilon), bound.DeltaAt(epsilon)*(1-1e-12))
			if p.Change.norm != l2 { // where no coordinate alone moves the rows most
				require.InDelta(t, g.DeltaAt(epsilon), bound.DeltaAt(epsilon), 1e-3)
			}
		}
		if p.Rho == 0 && p.Delta < 0.02 {
			require.Less(t, g.Times(10).EpsilonAt(0.2), plain.Times(10).EpsilonAt(0.2))
		}
	}
}
