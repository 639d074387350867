package audit

import (
	"math"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/edits"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

// laplaceSource adds Laplace noise of the scale to a side's number.
func laplaceSource(scale float64) source {
	r := rand.New(rand.NewPCG(3, 4))
	return func(side int, emit func([]float64)) {
		emit([]float64{float64(side) + scale*(r.ExpFloat64()-r.ExpFloat64()), r.Float64()})
	}
}

// The auditor finds half the noise and a hidden key that shows itself, and no fault in the right
// noise. The seeds are fixed, so nothing here fails by chance.
func TestAuditor(t *testing.T) {
	one := budget.PureDP(1, budget.Row(budget.AddRemove))
	v := audit(1, laplaceSource(1), epsilons, one.DeltaAt, 20_000)
	require.LessOrEqual(t, v.excess, 0.0)
	require.Greater(t, v.lost, 0.8)
	require.Less(t, v.lost, 1.0)
	v = audit(1, laplaceSource(0.5), epsilons, one.DeltaAt, 20_000)
	require.Greater(t, v.excess, 0.0)
	hidden := func(probability float64) source {
		r := rand.New(rand.NewPCG(5, 6))
		return func(side int, emit func([]float64)) {
			x := math.NaN()
			if side == 0 && r.Float64() < probability {
				x = 1
			}
			emit([]float64{x})
		}
	}
	both := budget.ApproxDP(1, 0.02, budget.Row(budget.AddRemove))
	require.LessOrEqual(t, audit(1, hidden(0.02), epsilons, both.DeltaAt, 20_000).excess, 0.0)
	require.Greater(t, audit(1, hidden(0.04), epsilons, both.DeltaAt, 20_000).excess, 0.0)
}

// No key is shown more often than by the optimal selection of partitions (Desfontaines, Voss,
// Gipson and Mandayam 2022), which shows a key of n users with probability π(n) and tells nothing
// else.
func TestPartitionSelection(t *testing.T) {
	rates, best := 0, 0.0
	for _, epsilon := range []float64{0.1, 0.3, 0.5, 1, 2, 3, 5, 8} {
		for _, delta := range []float64{0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12} {
			p := threshold.Params{Epsilon: epsilon, Delta: delta, MaxKeys: 1, Integers: true, Method: threshold.Laplace}
			plan, err := p.Plan()
			require.NoError(t, err)
			t0 := plan.Threshold
			d, err := noise.NewDiscreteLaplace(1 / epsilon)
			require.NoError(t, err)
			optimum := 0.0
			step := max(1, int(t0/6))
			for n := 1; n <= 8*step; n++ {
				optimum = min(math.Exp(epsilon)*optimum+delta, 1-math.Exp(-epsilon)*(1-optimum-delta), 1)
				if n%step != 0 {
					continue
				}
				shown := d.Survival(t0 - float64(n) - 1)
				require.LessOrEqual(t, shown, optimum*(1+1e-9), "ε = %g, δ = %g, %d users", epsilon, delta, n)
				best = max(best, shown/optimum)
				rates++
			}
		}
	}
	require.Equal(t, 512, rates)
	require.Greater(t, best, 0.9)
}

// Quantiles of the normal law and σ of the Gaussian mechanism as tables have them.
func TestTables(t *testing.T) {
	d, err := noise.NewGaussian(1)
	require.NoError(t, err)
	for p, z := range map[float64]float64{0.75: 0.6744897501960817, 0.9: 1.2815515655446004, 0.95: 1.6448536269514722, 0.975: 1.959963984540054, 0.99: 2.3263478740408408, 0.999: 3.090232306167813} {
		require.InEpsilon(t, z, d.Quantile(p), 1e-14)
	}
	// Google's cases for Gaussian noise have σ² = 11.736 for ε = ln 3, δ = 1e-5.
	sigma, err := noise.GaussianSigma(math.Log(3), 1e-5, 1)
	require.NoError(t, err)
	require.InEpsilon(t, 11.73597717285156, sigma*sigma, 1e-3)
}

// Every mechanism has a name of its own and a claim, and every flaw is of one and an edit of
// internal/audit/mutation: one that is not there would not be planted.
func TestLists(t *testing.T) {
	names := map[string]bool{}
	defer func(n int) { pilot = n }(pilot)
	pilot = 2
	for _, a := range mechanisms() {
		require.False(t, names[a.name], a.name)
		names[a.name] = true
		require.True(t, a.claim.Promises(), a.name)
		x := samples(a.make(), 0, 2)
		require.Len(t, x, 2, a.name)
	}
	planted := map[string]bool{}
	for _, e := range edits.All() {
		planted[path.Dir(e.File)+": "+e.Name] = true
	}
	flaws := map[string]bool{}
	for _, round := range rounds {
		for _, f := range round {
			require.True(t, names[f.mechanism], "%s: there is no mechanism %s", f.edit, f.mechanism)
			flaws[f.edit] = true
			require.True(t, planted[f.edit], "there is no edit %s", f.edit)
		}
	}
	require.GreaterOrEqual(t, len(flaws), 30)
}
