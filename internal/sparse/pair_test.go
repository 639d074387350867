package sparse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What the accountant takes a release for is nowhere below the exact divergence of the output laws,
// for all vectors of two coordinates under the stated relation, and for two releases of one
// coordinate. A lower threshold and half the noise break it.
func TestPairBoundsTheRelease(t *testing.T) {
	const epsilon, delta = 1.0, 1e-3
	type check struct {
		name string
		p    Params
		c    calibration
		in   instance
	}
	var list []check
	add := func(name string, p Params, c calibration, in instance) {
		in.c, in.delta = c, delta
		list = append(list, check{name, p, c, in})
	}
	for _, p := range []Params{
		{Method: Laplace, Sensitivity: 2}, {Method: Laplace, MaxKeys: 2, MaxValue: 2}, {Method: PureLaplace, Dim: 2, Sensitivity: 2, FalseKeys: 0.1},
	} {
		p.Epsilon, p.Delta, p.Integers = epsilon, delta, true
		c := dptest.OK(p.choose())(t)
		relation := within(2, 2, 3, false)
		if p.MaxKeys > 0 {
			relation = within(4, 2, 2, false)
		}
		add(c.method.String(), p, c, instance{values: around(c, 1, false), neighbours: relation})
	}
	for _, signed := range []bool{false, true} {
		sigma, tau, ok := calibrateGaussian(2, 0, !signed, epsilon, delta)
		require.True(t, ok)
		p := Params{Epsilon: epsilon, Delta: delta, MaxKeys: 2, MaxValue: 2, Method: Gaussian, Signed: signed}
		c := normalOnGrid(Gaussian, 2, 0, sigma, tau, 0)
		values := []int64{0, 1, 2, 3, c.threshold + 1, c.threshold + 3}
		if signed {
			values = append(values, -1, -2, -c.threshold)
		}
		add("Gaussian", p, c, instance{values: values, signed: signed, neighbours: within(4, 2, 2, !signed)})
	}
	for _, x := range list {
		g := Law{x.p, x.c}.Guarantee()
		require.Equal(t, epsilon, g.Epsilon(), x.name)
		for _, at := range []float64{0, 0.4, 1, 1.3} {
			x.in.epsilon = at
			require.LessOrEqual(t, x.in.worst(x.c, 2), g.DeltaAt(at)*(1+1e-9)+1e-13, "%s at %g", x.name, at)
		}
		x.in.epsilon = 0.4
		half := x.c
		half.scale /= 2
		require.Greater(t, x.in.worst(half, 2), g.DeltaAt(0.4), "%s: half the noise", x.name)
		once, two := dptest.Memo(g.DeltaAt), dptest.Memo(g.Times(2).DeltaAt)
		for _, v := range x.in.values {
			for _, w := range x.in.values {
				if v < w && x.in.neighbours([]int64{v}, []int64{w}) {
					dptest.Dominated(t, x.name, x.in.coordinate(v, x.c), x.in.coordinate(w, x.c), once, two, 1e-12)
				}
			}
		}
	}
	// u keys on one side only, v on the other, j on both, in real numbers.
	const sigma, tau = 1.5, 4.0
	for u := range 4 {
		for v := range 4 {
			for j := range 4 {
				changed := float64(j + max(u, v))
				if changed == 0 {
					continue
				}
				shown := -math.Expm1(changed * math.Log1p(-tail(tau/sigma)))
				g := budget.GDP(math.Sqrt(changed)/sigma, budget.L2(1)).WithEscape(shown)
				for _, at := range []float64{0, 0.5, 1.5, 3} {
					require.LessOrEqual(t, divergenceOf(u, v, j, at, sigma, tau), g.DeltaAt(at)+1e-9, "%d, %d, %d at %g", u, v, j, at)
				}
			}
		}
	}
	// What it is for: fifty releases of normal noise, by hundred keys of a user.
	g := lawOf(t, Params{Epsilon: 0.5, Delta: 1e-9, MaxKeys: 100, Method: Gaussian}).Guarantee()
	require.True(t, g.Promises())
	require.Less(t, g.Times(50).EpsilonAt(1e-6), 4.5)
}
