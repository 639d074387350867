package budget

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// The first release is randomized response at ½. On +½ another takes what a Ledger accepts then, on
// −½ everything is revealed with probability δ. A Ledger accepts either course; together they have
// 1.38·δ at ε = 1. A filter accepts one at most.
func TestAdaptiveAmountsNeedAFilter(t *testing.T) {
	for _, delta := range []float64{1e-2, 1e-3} {
		l := dptest.OK(NewLedger(1, delta, one))(t)
		require.NoError(t, l.Spend(PureDP(0.5, one)))
		b := l.greatest(l.locked(), math.MaxFloat64, func(x float64) account.Releases { return PureDP(x, one).releases() }, 1)
		second, all := PureDP(b, one), ApproxDP(0, delta, one)
		require.Greater(t, b, 0.5)
		require.True(t, l.Accepts(second))
		require.True(t, l.Accepts(all))

		// The whole, exactly: outcomes (first, second), and (−½, revealed).
		p := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
		up := func(x, y float64) float64 { return max(0, x-math.E*y) }
		whole := up(p(0.5)*p(b), p(-0.5)*p(-b)) + up(p(0.5)*p(-b), p(-0.5)*p(b)) + // after +½
			p(-0.5)*delta + up(p(-0.5)*(1-delta), p(0.5)*(1-delta)) // after −½
		require.InEpsilon(t, 1.3775*delta, whole, 3e-2, "δ = %g, b = %g", delta, b)

		for _, r := range []Rule{SumRule(), RhoRule(0), RhoRule(delta / 2), MuRule()} {
			f := dptest.OK(NewLedger(1, delta, one, r))(t)
			if f.Spend(PureDP(0.5, one)) == nil {
				require.False(t, f.Accepts(second) && f.Accepts(all), "%v", f)
			}
		}
	}
}

func TestFilterRules(t *testing.T) {
	// By sums: as basic composition, whatever the conversions say.
	f := dptest.OK(NewLedger(1, 1e-6, one, SumRule()))(t)
	require.Equal(t, 100, spendAll(t, f, PureDP(0.01, one)))
	require.ErrorIs(t, f.Spend(ZCDP(1e-9, one)), ErrBudget)
	require.NoError(t, f.Spend(ApproxDP(0, 1e-6, one)))
	require.ErrorIs(t, f.Spend(ApproxDP(0, 1e-12, one)), ErrBudget)
	require.Equal(t, "ε = 1 of 1 at δ = 1e-6, 101 releases, for one element, added or removed", f.String())

	// By ρ: all kinds, and what is accepted in whatever order converts to the budget.
	f = dptest.OK(NewLedger(1, 1e-6, one, RhoRule(1e-8)))(t)
	require.NoError(t, f.Spend(ApproxDP(0.1, 1e-8, one)))
	require.ErrorIs(t, f.Spend(ApproxDP(0, 1e-10, one)), ErrBudget)
	require.NoError(t, f.Spend(GDP(0.1, one)))
	left := f.Remaining()
	require.NoError(t, f.Spend(left))
	sums := f.Spent().asked
	rho := sums.Concentrated() + sums.ResponseRho
	require.LessOrEqual(t, loss.ConcentratedEpsilon(rho, -math.Log((1e-6-1e-8)/(1-1e-8))), 1+1e-12)
	require.Greater(t, loss.ConcentratedEpsilon(rho*(1+1e-9), -math.Log((1e-6-1e-8)/(1-1e-8))), 1.0)
	require.False(t, f.Accepts(PureDP(1e-3, one)))

	// By μ: exactly what one Gaussian release is calibrated to.
	sigma := dptest.OK(noise.GaussianSigma(7.12, 1e-6, 1))(t)
	f = dptest.OK(NewLedger(7.12, 1e-6, one, MuRule()))(t)
	require.InEpsilon(t, 1/sigma, f.Remaining().Mu(), 1e-9)
	one8 := dptest.OK(noise.GaussianSigma(1, 1e-8, 1))(t)
	require.Equal(t, 50, spendAll(t, f, GDP(1/one8, one)))
	require.ErrorIs(t, f.Spend(PureDP(1e-9, one)), ErrBudget)
	part := dptest.OK(dptest.OK(NewLedger(1, 1e-6, one, MuRule()))(t).Split(365, GDP(1, one)))(t)
	sigma = dptest.OK(noise.GaussianSigma(1, 1e-6, 1))(t)
	require.InEpsilon(t, 1/sigma/math.Sqrt(365), part.Mu(), 1e-9)

	for _, c := range []struct {
		delta float64
		r     Rule
	}{{1e-6, Rule{}}, {0, RhoRule(0)}, {0, MuRule()}, {1e-6, RhoRule(1e-6)}, {1e-6, RhoRule(-1)}, {1e-6, RhoRule(math.NaN())}} {
		require.ErrorIs(t, dptest.Err(NewLedger(1, c.delta, one, c.r)), ErrParams, "%+v", c)
	}
	require.ErrorIs(t, dptest.Err(NewLedger(1, 1e-6, one, SumRule(), MuRule())), ErrParams, "the best of two")
	require.ErrorIs(t, dptest.Err(NewLedger(math.NaN(), 1e-6, one, SumRule())), ErrParams)
}

// MixedRule: exact against the accountant's composition, more pure releases than RhoRule takes
// beside Gaussian ones; what is beyond the share of μ² counts as ρ; and an adaptive adversary,
// whose amounts depend on results, by quadrature.
func TestMixedRule(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	for _, share := range []float64{0.2, 0.5, 0.9} {
		f := dptest.OK(NewLedger(1, 1e-6, one, MixedRule(share, 0)))(t)
		whole := dptest.OK(Compose(GDP(math.Sqrt(f.filter.muSquares), one), ZCDP(f.filter.rho, one)))(t)
		require.LessOrEqual(t, whole.EpsilonAt(1e-6), 1+1e-9)
		require.Greater(t, whole.EpsilonAt(1e-6), 1-1e-6)
		require.InEpsilon(t, share/(1-share), f.filter.muSquares/2/f.filter.rho, 1e-9)
		require.Greater(t, f.filter.muSquares/2+f.filter.rho, dptest.OK(NewLedger(1, 1e-6, one, RhoRule(0)))(t).filter.rho)

		byRho := dptest.OK(NewLedger(1, 1e-6, one, RhoRule(0)))(t)
		gaussian := GDP(math.Sqrt(f.filter.muSquares*(1-1e-12)), one)
		require.NoError(t, f.Spend(gaussian))
		require.NoError(t, byRho.Spend(gaussian))
		more, less := spendAll(t, f, PureDP(0.004, one)), spendAll(t, byRho, PureDP(0.004, one))
		t.Logf("share %v: %d pure releases beside the noise, %d by RhoRule", share, more, less)
		require.Greater(t, more, less)
		require.LessOrEqual(t, f.Epsilon(), 1.0)
		require.Greater(t, f.Epsilon(), 0.98)
		require.ErrorIs(t, f.Spend(GDP(0.02, one)), ErrBudget)
	}
	f := dptest.OK(NewLedger(1, 1e-6, one, MixedRule(0.5, 1e-8)))(t)
	require.NoError(t, f.Spend(GDP(math.Sqrt(f.filter.muSquares+f.filter.rho), one)), "half of ρ is left")
	require.InEpsilon(t, f.filter.rho/2, account.ResponseRho(f.Remaining().Epsilon()), 1e-6)
	require.ErrorIs(t, f.Spend(ApproxDP(0, 2e-8, one)), ErrBudget)
	require.NoError(t, f.Spend(ApproxDP(0, 1e-8, one)))

	for _, r := range []Rule{MixedRule(0, 0), MixedRule(1, 0), MixedRule(math.NaN(), 0), MixedRule(0.5, 1e-6), MixedRule(0.5, -1)} {
		require.ErrorIs(t, dptest.Err(NewLedger(1, 1e-6, one, r)), ErrParams, "%+v", r)
	}

	// A Gaussian release of μ₁, then randomized response if it showed little, else all the rest of
	// μ²; the exact divergence, by quadrature, within δ; with half of the budget it is not.
	const epsilon, delta = 1.0, 1e-2
	f = dptest.OK(NewLedger(epsilon, delta, one, MixedRule(0.5, 0)))(t)
	muSquares := f.filter.muSquares
	response := f.greatest(f.locked(), 10, func(x float64) account.Releases { return account.ApproxDP(x, 0) }, 1)
	attack := func(scale float64) (worst float64) {
		for _, part := range []float64{0.2, 0.6} {
			mu, rest := math.Sqrt(muSquares*part)*scale, math.Sqrt(muSquares*(1-part))*scale
			e := response * scale
			for _, cut := range []float64{-1, 0, 1, 2} {
				sum := 0.0
				const step = 1e-3
				for z := -8.0; z < 9; z += step {
					p, q := math.Exp(-(z-mu)*(z-mu)/2)/math.Sqrt(2*math.Pi), math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
					loss := epsilon - math.Log(p/q)
					after := account.GaussianDelta(rest*rest, loss)
					if z < cut { // after which all of μ² is still there
						a := 1 / (1 + math.Exp(-e))
						after = a*account.GaussianDelta(rest*rest, loss-e) + (1-a)*account.GaussianDelta(rest*rest, loss+e)
					}
					sum += step * p * after
				}
				worst = max(worst, sum)
			}
		}
		return worst
	}
	require.LessOrEqual(t, attack(1), delta)
	require.Greater(t, attack(1.3), delta, "more than the rule allows")
}
