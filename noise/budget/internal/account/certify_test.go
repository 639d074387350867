package account

import (
	"math"
	"testing"

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
	for _, mu := range []float64{0.5, 7.9, 8, 8.1, 12, 30, loss.MostSampledMu, loss.MostSampledMu + 1, 1000, 1e100} {
		for _, gamma := range []float64{0.001, 0.05, 0.7} {
			g, known := GDP(mu).Sample(gamma, true)
			require.True(t, known)
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
				if whole.Pair.Kinds.Sampled() {
					delete(at, 0)
					for _, points := range samplePointsOf {
						if n == 1 || points == 1<<11 || dptest.Long() {
							a, ok := whole.accountant(whole.Pair.Kinds.losses(points))
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
		}
	}
	escaping, _ := GDP(100).WithEscape(1e-3).Sample(0.25, true)
	require.InEpsilon(t, 0.25, escaping.DeltaAt(5), 1e-9, "not .25 and more for the escape")
}

func all(list ...Releases) Releases {
	var s Sum
	for _, r := range list {
		s.Add(r.Asked, r.Pair.PairSums, string(r.Pair.Kinds.Append(nil)))
	}
	return s.Releases()
}

// What is known of releases is known of a part of them, and of nothing else.
func TestBoundedBy(t *testing.T) {
	sample := func(fraction float64) Releases { s, _ := GDP(1).Sample(fraction, true); return s }
	s, other := sample(0.01), sample(0.02)
	keys := ApproxDP(1, 1e-9).WithKeys(loss.NewKeys(0.033, 1e-7, 5e-8, func(float64) float64 { return 1e-9 }))
	whole := all(s.Times(5), other, ApproxDP(0.1, 0), ZCDP(0.1), GDP(0.2), ApproxDP(0, 0).WithEscape(1e-9))
	for i, part := range []Releases{s, s.Times(5), other, ApproxDP(0.1, 0), ZCDP(0.1), GDP(0.2), ApproxDP(0, 0), whole, all(s.Times(4), other, ZCDP(0.05))} {
		require.True(t, part.BoundedBy(whole), "%d", i)
	}
	for i, no := range []Releases{
		s.Times(6), other.Times(2), ApproxDP(0.1, 0).Times(2), ApproxDP(0.05, 0), ZCDP(0.2), GDP(0.3), ApproxDP(0, 0).WithEscape(1e-8), sample(0.005), keys,
	} {
		require.False(t, no.BoundedBy(whole), "%d", i)
		require.False(t, whole.BoundedBy(no), "%d", i)
	}
	require.False(t, s.BoundedBy(Releases{}))
}

// What is no worse has the same noise, each of a lesser amount, and nothing else.
func TestNoWorse(t *testing.T) {
	require.False(t, Laplace(1).NoWorse(DiscreteLaplace(1, 30)))
	require.False(t, DiscreteLaplace(1, 30).NoWorse(Laplace(1)))
	some := all(Laplace(1), ApproxDP(0.5, 1e-9), DiscreteGaussian(3, 2), GDP(1))
	less := all(Laplace(0.9), ApproxDP(0.4, 1e-9), DiscreteGaussian(3, 2), GDP(1))
	require.True(t, some.NoWorse(some))
	require.True(t, less.NoWorse(some))
	require.False(t, some.NoWorse(less))
	for i, no := range []Releases{
		all(Laplace(1.1), ApproxDP(0.3, 1e-9), DiscreteGaussian(3, 2), GDP(1)), // a larger part
		all(DiscreteLaplace(1, 1), ApproxDP(0.5, 1e-9), DiscreteGaussian(3, 2), GDP(1)),
		all(Laplace(1), ApproxDP(0.5, 1e-9), DiscreteGaussian(4, 2), GDP(1)), // not known
		all(Laplace(1), ApproxDP(0.5, 2e-9), DiscreteGaussian(3, 2), GDP(1)),
		all(Laplace(1), ApproxDP(0.5, 1e-9), DiscreteGaussian(3, 2), GDP(1.1)),
	} {
		require.False(t, no.NoWorse(some), "%d", i)
	}
}
