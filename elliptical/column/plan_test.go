package column

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// By (ε, δ) the noise is that of the analytic Gaussian mechanism, the least there is, and rounded
// to whole steps; quantiles spend the most ρ of which the accountant says that it is kept.
func TestDelta(t *testing.T) {
	for _, epsilon := range []float64{0x1p-20, 0.1, 1, 5, 100, 1000} {
		for _, delta := range []float64{1e-300, 1e-9, 1e-3, 0.4, 0.99} {
			p := Params{Epsilon: epsilon, Delta: delta, Max: 1}.normal()
			b, err := New(p)
			if err != nil {
				require.ErrorIs(t, err, ErrParams)
				require.Less(t, epsilon*epsilon/-math.Log(delta), 0x1p-50, "%v, %v", epsilon, delta)
				continue
			}
			kept := func(share float64) bool { return budget.ZCDP(p.rho()*share, unit).DeltaAt(epsilon) <= delta }
			require.True(t, kept(1), "%v, %v", epsilon, delta)
			require.False(t, kept(1.001), "%v, %v", epsilon, delta)
			g := b.Guarantee()
			require.LessOrEqual(t, g.DeltaAt(epsilon), delta*(1+1e-9))
			for i, n := range held(b).law.noises {
				reach := math.Ldexp(float64(held(b).law.at[i].reach), -int(n.shift))
				least := dptest.OK(noise.GaussianSigma(epsilon, delta, 1))(t)
				require.InEpsilon(t, least*reach, n.Scale, 0x1p-16)
				require.GreaterOrEqual(t, n.Scale, least*reach*(1-1e-15))
				require.LessOrEqual(t, n.Scale, 0x1p46)
				require.Equal(t, calibrated.Gaussian, n.Kind)
			}
		}
	}
	// At (1, 1e-6) less than by ρ.
	sigma := dptest.OK(noise.GaussianSigma(1, 1e-6, 1))(t)
	p := Params{Epsilon: 1, Delta: 1e-6, Max: 1}.normal()
	require.InDelta(t, 0.94, sigma*math.Sqrt(2*p.rho()), 0.03)
}

// A Plan has the standard errors of releases for the worst values, and no other has more.
func TestPlan(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Min: -3, Max: 5}, {Rho: 0.5, Max: 100}, {Epsilon: 1, Max: 100, Want: Mean}, {Epsilon: 1, Delta: 1e-6, Max: 1}, {Epsilon: 1, Want: Count},
		{Epsilon: 1, Min: -3, Max: 5, Want: Sum}, {Epsilon: 1, Max: 4, Relation: budget.Replace}, {Rho: 1, Max: 4, Relation: budget.Replace, Want: Sum},
	} {
		plan := dptest.OK(p.Plan())(t)
		require.Equal(t, p.normal(), plan.Params)
		require.NotContains(t, plan.String(), "NaN")
		const n = 100_000
		largest := map[Statistic]float64{}
		// of values at the upper end, the others at the lower or between
		for _, share := range []float64{0, 0.1, 0.3, 0.5, 0.7, 1} {
			for _, at := range []float64{p.Min, (p.Min + p.Max) / 2} {
				rows := make([]float64, n)
				for i := range rows {
					if rows[i] = at; float64(i) < share*n {
						rows[i] = p.Max
					}
				}
				s := released(t, p, rows...)
				data := dptest.OK(s.MarshalBinary())(t)
				require.Len(t, data, plan.Bytes)
				for of := Count; of <= StdDev; of++ {
					require.Equal(t, s.has(of), !math.IsNaN(plan.StdErr(of, n)), "%v of %+v", of, p)
					if s.has(of) && !math.IsInf(s.StdErr(of), 0) && (of != StdDev || share == 0.5 && at == p.Min) {
						largest[of] = max(largest[of], s.StdErr(of))
					}
				}
			}
		}
		for of, most := range largest {
			require.LessOrEqual(t, most, plan.StdErr(of, n)*1.01, "%v of %+v", of, p)
			require.GreaterOrEqual(t, most, plan.StdErr(of, n)*0.8, "%v of %+v", of, p)
		}
		require.True(t, math.IsNaN(plan.StdErr(0, 5)) && math.IsNaN(plan.StdErr(Mean, -1)) && math.IsNaN(plan.StdErr(Mean, math.NaN())))
	}
	require.ErrorIs(t, dptest.Err(Params{Epsilon: 1, Max: -1}.Plan()), ErrParams)
	require.True(t, math.IsNaN(Plan{}.StdErr(Count, 1)))
}
