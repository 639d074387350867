package budget

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/noise"
)

func newRuled(t *testing.T, epsilon, delta float64, r Rule) *Ledger {
	t.Helper()
	l, err := NewLedger(epsilon, delta, one, r)
	require.NoError(t, err)
	return l
}

// The first release is randomized response at ½. On +½ another takes what a Ledger accepts then, on
// −½ everything is revealed with probability δ. A Ledger accepts either course; together they have
// 1.38·δ at ε = 1. A filter accepts one at most.
func TestAdaptiveAmountsNeedAFilter(t *testing.T) {
	for _, delta := range []float64{1e-2, 1e-3} {
		l := newLedger(t, 1, delta, one)
		require.NoError(t, l.Spend(PureDP(0.5, one)))
		b := l.greatest(l.spent(), math.MaxFloat64, func(x float64) Guarantee { return PureDP(x, one) }, 1)
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
			f := newRuled(t, 1, delta, r)
			if f.Spend(PureDP(0.5, one)) == nil {
				require.False(t, f.Accepts(second) && f.Accepts(all), "%v", f)
			}
		}
	}
}

func TestFilterRules(t *testing.T) {
	// By sums: as basic composition, whatever the conversions say.
	f := newRuled(t, 1, 1e-6, SumRule())
	require.Equal(t, 100, spendAll(t, f, PureDP(0.01, one)))
	require.ErrorIs(t, f.Spend(ZCDP(1e-9, one)), ErrBudget)
	require.NoError(t, f.Spend(ApproxDP(0, 1e-6, one)))
	require.ErrorIs(t, f.Spend(ApproxDP(0, 1e-12, one)), ErrBudget)
	require.Equal(t, "ε = 1 of 1 at δ = 1e-6, 101 releases, for one element, added or removed", f.String())

	// By ρ: all kinds, and what is accepted in whatever order converts to the budget.
	f = newRuled(t, 1, 1e-6, RhoRule(1e-8))
	require.NoError(t, f.Spend(ApproxDP(0.1, 1e-8, one)))
	require.ErrorIs(t, f.Spend(ApproxDP(0, 1e-10, one)), ErrBudget)
	require.NoError(t, f.Spend(GDP(0.1, one)))
	left := f.Remaining()
	require.NoError(t, f.Spend(left))
	sums := f.Spent().sums
	rho := sums.concentrated() + sums.responses
	require.LessOrEqual(t, zcdpEpsilon(rho, -math.Log((1e-6-1e-8)/(1-1e-8))), 1+1e-12)
	require.Greater(t, zcdpEpsilon(rho*(1+1e-9), -math.Log((1e-6-1e-8)/(1-1e-8))), 1.0)
	require.False(t, f.Accepts(PureDP(1e-3, one)))

	// By μ: exactly what one Gaussian release is calibrated to.
	sigma, err := noise.GaussianSigma(7.12, 1e-6, 1)
	require.NoError(t, err)
	f = newRuled(t, 7.12, 1e-6, MuRule())
	require.InEpsilon(t, 1/sigma, f.Remaining().Mu(), 1e-9)
	one8, err := noise.GaussianSigma(1, 1e-8, 1)
	require.NoError(t, err)
	require.Equal(t, 50, spendAll(t, f, GDP(1/one8, one)))
	require.ErrorIs(t, f.Spend(PureDP(1e-9, one)), ErrBudget)
	part, err := newRuled(t, 1, 1e-6, MuRule()).Split(365, GDP(1, one))
	require.NoError(t, err)
	sigma, err = noise.GaussianSigma(1, 1e-6, 1)
	require.NoError(t, err)
	require.InEpsilon(t, 1/sigma/math.Sqrt(365), part.Mu(), 1e-9)

	for _, c := range []struct {
		delta float64
		r     Rule
	}{{1e-6, Rule{}}, {0, RhoRule(0)}, {0, MuRule()}, {1e-6, RhoRule(1e-6)}, {1e-6, RhoRule(-1)}, {1e-6, RhoRule(math.NaN())}} {
		_, err := NewLedger(1, c.delta, one, c.r)
		require.ErrorIs(t, err, ErrParams, "%+v", c)
	}
	_, err = NewLedger(1, 1e-6, one, SumRule(), MuRule())
	require.ErrorIs(t, err, ErrParams, "the best of two")
	_, err = NewLedger(math.NaN(), 1e-6, one, SumRule())
	require.ErrorIs(t, err, ErrParams)
}
