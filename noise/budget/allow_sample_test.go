package budget

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// binned returns the laws of a Poisson sample of N(μ, 1) and of N(0, 1), told up to cells of a
// line: their divergences are at most those of the laws themselves, and near them.
func binned(mu, gamma float64, cells int) (with, without []float64) {
	upper := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	from, to := -9.0, mu+9
	at := func(i int) float64 {
		switch i {
		case 0:
			return math.Inf(-1)
		case cells:
			return math.Inf(1)
		}
		return from + (to-from)*float64(i)/float64(cells)
	}
	between := func(a, b, m float64) float64 {
		if a-m < 0 {
			return upper(m-b) - upper(m-a)
		}
		return upper(a-m) - upper(b-m)
	}
	for i := range cells {
		q := between(at(i), at(i+1), 0)
		without = append(without, q)
		with = append(with, (1-gamma)*q+gamma*between(at(i), at(i+1), mu))
	}
	return with, without
}

// squared returns the law of two independent draws.
func squared(p []float64) (all []float64) {
	for _, x := range p {
		for _, y := range p {
			all = append(all, x*y)
		}
	}
	return all
}

// A Poisson sample of Gaussian noise of any μ: one and two releases are nowhere below the exact
// divergence in either direction, on as many points as Spend may take, and near it on the most; and
// where μ is large they are what an escape of γ costs.
func TestSubsampledGaussianOfAnyMu(t *testing.T) {
	unit := Row(AddRemove)
	for _, mu := range []float64{0.5, 7.9, 8, 8.1, 12, 30, loss.MostSampledMu, loss.MostSampledMu + 1, 1000, 1e100} {
		for _, gamma := range []float64{0.001, 0.05, 0.7} {
			g := dptest.OK(GDP(mu, unit).Subsampled(gamma))(t)
			require.Equal(t, mu, g.Mu(), "what was asked for")
			cells := 250
			if mu > 1000 {
				cells = 2
			}
			p, q := binned(min(mu, 1e3), gamma, cells)
			for n := 1; n <= 2; n++ {
				if n == 2 {
					p, q = squared(p), squared(q)
				}
				whole := g.Times(n)
				at := map[int]func(epsilon float64) float64{0: whole.DeltaAt}
				if whole.pair.kinds.sampled() {
					delete(at, 0)
					for _, points := range samplePointsOf {
						if n == 1 || points == 1<<11 || dptest.Long() {
							a, ok := whole.account(whole.pair.kinds.measureOn(points))
							require.True(t, ok)
							at[points] = a.at
						}
					}
				}
				for _, epsilon := range []float64{0, 0.01, 0.5, 2, 10, 40} {
					exact := max(dptest.HockeyStickSlices(p, q, epsilon), dptest.HockeyStickSlices(q, p, epsilon))
					for points, at := range at {
						here := at(epsilon)
						require.GreaterOrEqual(t, here, exact*(1-1e-9)-1e-15, "μ %g, γ %g, %d at %g on %d", mu, gamma, n, epsilon, points)
						near := exact*1.03 + 2e-3*gamma
						switch {
						case points == 0:
							near = max(near, float64(n)*gamma) // escapes, which add up
						case points < samplePoints:
							near = exact*1.2 + 0.05*gamma
						}
						require.LessOrEqual(t, here, min(near, 1), "μ %g, γ %g, %d at %g on %d", mu, gamma, n, epsilon, points)
					}
				}
			}
			data := dptest.OK(g.MarshalBinary())(t)
			again := new(Guarantee)
			require.NoError(t, again.UnmarshalBinary(data))
			require.True(t, again.Equal(g))
		}
	}
	escaping := dptest.OK(GDP(100, unit).WithEscape(1e-3).Subsampled(0.25))(t)
	require.InEpsilon(t, 0.25, escaping.DeltaAt(5), 1e-9, "not .25 and more for the escape")
	_, err := GDP(1, Row(Replace)).Subsampled(0.1)
	require.ErrorIs(t, err, ErrParams)
	require.ErrorContains(t, err, "without replacement")
	_, err = dptest.OK(Compose(GDP(1, unit), ZCDP(1, unit)))(t).Subsampled(0.1)
	require.ErrorContains(t, err, "without others")
}

// A thousand sampled steps, each with a Spend, take a fraction of a second, where each asked for
// the law of all steps before and one more: a tenth of a second and more for each. All that fit by
// the certified law are accepted, and what is accepted fits.
func TestSpendOfSampledSteps(t *testing.T) {
	const n, delta = 1000, 1e-6
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

// What is known of releases is known of a part of them, and of nothing else.
func TestPartOf(t *testing.T) {
	s := dptest.OK(GDP(1, one).Subsampled(0.01))(t)
	other := dptest.OK(GDP(1, one).Subsampled(0.02))(t)
	all := dptest.OK(Compose(s.Times(5), other, PureDP(0.1, one), ZCDP(0.1, one), GDP(0.2, one), PureDP(0, one).WithEscape(1e-9)))(t)
	for _, part := range []Guarantee{s, s.Times(5), other, PureDP(0.1, one), ZCDP(0.1, one), GDP(0.2, one), PureDP(0, one), all, dptest.OK(Compose(s.Times(4), other, ZCDP(0.05, one)))(t)} {
		require.True(t, part.partOf(all), "%v", part)
	}
	for _, no := range []Guarantee{
		{}, s.Times(6), other.Times(2), PureDP(0.1, one).Times(2), PureDP(0.05, one), ZCDP(0.2, one), GDP(0.3, one), PureDP(0, one).WithEscape(1e-8),
		PureDP(0.1, rowed), dptest.OK(GDP(1, one).Subsampled(0.005))(t), withKeys(one),
	} {
		require.False(t, no.partOf(all), "%v", no)
		require.False(t, all.partOf(no) && no.Promises())
	}
	require.False(t, s.partOf(Guarantee{}))
}
