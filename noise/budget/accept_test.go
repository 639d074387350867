package budget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// A thousand sampled steps, each with a Spend, take a fraction of a second, where each asked for
// the law of all steps before and one more: a tenth of a second and more for each. All that fit by
// the certified law are accepted, and what is accepted fits.
func TestSpendOfSampledSteps(t *testing.T) {
	const delta = 1e-6
	n := dptest.Full(1000, 300)
	for _, c := range []struct{ mu, gamma, epsilon float64 }{{1, 0.01, 2.2}, {0.5, 0.1, 9.3}, {1, 0.01, 30}} {
		step := dptest.OK(GDP(c.mu, one).Subsampled(c.gamma))(t)
		l := dptest.OK(NewLedger(c.epsilon, delta, one))(t)
		began := time.Now()
		for i := range n {
			require.NoError(t, l.Spend(step), "%d of %+v", i, c)
		}
		took := time.Since(began)
		t.Logf("%d steps of %+v: %v", n, c, took)
		require.Less(t, took, 20*time.Second, "a hundred times what it takes")
		require.LessOrEqual(t, l.Spent().EpsilonAt(delta), c.epsilon*(1+1e-3))
	}
	// Up to the end, where fewer points do not suffice: no more and no fewer than by the law
	// itself.
	step := dptest.OK(GDP(2, one).Subsampled(0.05))(t)
	l := dptest.OK(NewLedger(7, delta, one))(t)
	accepted := 0
	for accepted < 1000 && l.Spend(step) == nil { // a ledger that never refuses would take for ever
		accepted++
	}
	require.Less(t, accepted, 1000)
	require.LessOrEqual(t, step.Times(accepted).EpsilonAt(delta), 7*(1+1e-3))
	require.Greater(t, step.Times(accepted+1).EpsilonAt(delta), 7.0)
	require.False(t, l.Accepts(step))
	require.ErrorIs(t, l.Spend(step), ErrBudget)
	require.Error(t, l.Spend(dptest.OK(GDP(2.5, one).Subsampled(0.05))(t)), "another law is no part of what is known")
}
