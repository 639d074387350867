package budget

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// What many releases cost, with the exact values where there are closed forms (sums of binomials,
// Gaussian noise), and as other accountants have it elsewhere.
func TestAccountant(t *testing.T) {
	gaussian := func(mu, delta float64) float64 {
		return account.GaussianEpsilon(mu*mu, delta)
	}
	sigma := dptest.OK(noise.GaussianSigma(1, 1e-8, 1))(t)
	laplaceless := PureDP(0.1, one)
	for _, c := range []struct {
		name          string
		g             Guarantee
		delta         float64
		truth, excess float64
	}{
		{"50 Gaussian of (1, 1e-8)", GDP(1/sigma, one).Times(50), 1e-6, gaussian(math.Sqrt(50)/sigma, 1e-6), 1e-6},
		{"30 pure", laplaceless.Times(30), 1e-6, 2.345887693, 1e-8},
		{"365 pure", laplaceless.Times(365), 1e-6, 10.31386461, 1e-8},
		{"365 pure at 1e-30", laplaceless.Times(365), 1e-30, 22.48769446, 1e-8},
		{"50 approximate", ApproxDP(0.2, 1e-9, one).Times(50), 1e-6, 6.907321917, 1e-7},
		{"3 approximate", ApproxDP(1, 1e-8, one).Times(3), 1e-6, 2.999998, 1e-6},
		{"10⁴ approximate", ApproxDP(0.01, 1e-12, one).Times(10_000), 1e-6, 4.887668140, 1.4e-3},
		{"10⁶ pure", PureDP(0.001, one).Times(1_000_000), 1e-6, 4.886543763, 2.6e-3},
		{"100 approximate and Gaussian", dptest.OK(Compose(ApproxDP(0.05, 1e-9, one).Times(100), GDP(0.5, one)))(t), 1e-6, 3.3070, 7e-4},
		{"100 approximate and zCDP", dptest.OK(Compose(ApproxDP(0.05, 1e-9, one).Times(100), ZCDP(0.125, one)))(t), 1e-6, 3.4925, 7e-4},
	} {
		begin := time.Now()
		got := c.g.EpsilonAt(c.delta)
		t.Logf("%-30s %.7g in %v", c.name, got, time.Since(begin))
		require.GreaterOrEqual(t, got, c.truth*(1-1e-6), c.name)
		require.LessOrEqual(t, got, c.truth*(1+c.excess), c.name)
		require.LessOrEqual(t, c.g.DeltaAt(got*(1+1e-12)), c.delta*(1+1e-9), c.name)
	}
	if !testing.Short() { // half a second; the truth as other accountants have it, rounded down
		sample := dptest.OK(GDP(1, one).Subsampled(0.01))(t)
		got := sample.Times(1000).EpsilonAt(1e-6)
		t.Logf("%-30s %.7g", "1,000 samples of 1 %", got)
		require.GreaterOrEqual(t, got, 2.1245)
		require.LessOrEqual(t, got, 2.1245*1.0038)
	}

	var many []Guarantee
	for i := range 1000 {
		many = append(many, ApproxDP(0.01+0.09*float64(i)/999, 1e-10, one))
	}
	rand.Shuffle(len(many), func(i, j int) { many[i], many[j] = many[j], many[i] })
	g := dptest.OK(Compose(many...))(t)
	begin := time.Now()
	got := g.EpsilonAt(1e-6)
	t.Logf("%-30s %.7g in %v", "1,000 different", got, time.Since(begin))
	require.InEpsilon(t, 10.489, got, 1e-3)
}

// Randomized response beside Gaussian noise: δ is a sum over binomials of Gaussian profiles. No
// answer is below it.
func TestMixturesAreNeverBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 20))
	for range 150 {
		n, each, mu, leak := 1+rng.IntN(20), math.Exp(-4*rng.Float64()), math.Exp(-4*rng.Float64()), 1e-4*rng.Float64()
		single := 0.7 * each // another kind
		g := dptest.OK(Compose(ApproxDP(each, leak, one).Times(n), PureDP(single, one), GDP(mu, one)))(t)
		concentrated := dptest.OK(Compose(ApproxDP(each, leak, one).Times(n), PureDP(single, one), ZCDP(mu*mu/2, one)))(t)
		for range 6 {
			epsilon := (float64(n)*each + single + 3*mu) * rng.Float64()
			exact := 0.0
			p := 1 / (1 + math.Exp(-each))
			for j := 0; j <= n; j++ {
				a, _ := math.Lgamma(float64(n + 1))
				b, _ := math.Lgamma(float64(j + 1))
				c, _ := math.Lgamma(float64(n - j + 1))
				weight := math.Exp(a-b-c) * math.Pow(p, float64(n-j)) * math.Pow(1-p, float64(j))
				for _, sign := range []float64{1, -1} {
					rest := epsilon - float64(n-2*j)*each - sign*single
					delta := dptest.OK(noise.GaussianDelta(1, rest, mu))(t)
					exact += weight / (1 + math.Exp(-sign*single)) * delta
				}
			}
			hidden := math.Pow(1-leak, float64(n))
			exact = 1 - hidden + hidden*exact
			require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact*(1-1e-10))
			require.GreaterOrEqual(t, concentrated.DeltaAt(epsilon), exact*(1-1e-10))
			require.InDelta(t, exact, g.DeltaAt(epsilon), 1e-3)
		}
	}
}

func kindsOf(g Guarantee) account.Kinds { return g.releases().Pair.Kinds }

// Releases in any order and grouping are the same multiset.
func TestKinds(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	a, b, c := PureDP(0.5, one), ApproxDP(0.25, 1e-9, one), PureDP(0.5, one)
	left, right := dptest.OK(Compose(dptest.OK(Compose(a, b))(t), c))(t), dptest.OK(Compose(c, dptest.OK(Compose(a, b))(t)))(t)
	require.True(t, left.Equal(right))
	of := func(n uint64, epsilon float64) account.Kind {
		x := account.Response(epsilon)
		x.Count = n
		return x
	}
	require.Equal(t, account.Kinds{of(1, 0.25), of(2, 0.5)}, kindsOf(left))
	require.Equal(t, account.Kinds{of(3, 0.25), of(6, 0.5)}, kindsOf(left.Times(3)))
	require.Equal(t, account.Kinds{of(1, 0.5), of(2, 1)}, kindsOf(dptest.OK(left.Group(2))(t)))
	require.Empty(t, kindsOf(dptest.OK(Compose(ZCDP(1, one), GDP(1, one), ApproxDP(0, 0.5, one)))(t)))

	// Too many releases of a kind, and what they are composed with: the sums remain.
	lots := PureDP(1e-15, one).Times(1 << 30).Times(1 << 11)
	require.True(t, lots.Promises())
	require.Empty(t, kindsOf(lots))
	require.Empty(t, kindsOf(dptest.OK(Compose(lots, a))(t)))
	require.Greater(t, dptest.OK(Compose(lots, a))(t).EpsilonAt(1e-6), 0.5)
	l := dptest.OK(NewLedger(1, 1e-6, one))(t)
	require.NoError(t, l.Spend(lots))
	require.NoError(t, l.Spend(b))
	require.Empty(t, kindsOf(l.Spent()))
}

// The conversion that starts where the last one ended is the conversion.
func TestConcentratedProfile(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 20))
	for _, rho := range []float64{0x1p-500, 1e-12, 1e-3, 0.125, 3, 1e4, 0x1p450} {
		profile := loss.ConcentratedProfile(rho)
		at := []float64{}
		for i := range 200 {
			at = append(at, rho+(float64(i)/10-5)*math.Sqrt(rho))
		}
		for range 100 {
			at = append(at, math.Exp(20*rng.Float64()-10)*(2*rng.Float64()-1))
		}
		for _, epsilon := range append(at, 0, math.Inf(1), 1e300, -1e300) {
			got := profile(epsilon)
			want := loss.ExpUp(loss.ConcentratedLogDelta(rho, math.Abs(epsilon)))
			if epsilon < 0 {
				want = min(1, -math.Expm1(epsilon)+math.Exp(epsilon)*want)
			}
			require.InDelta(t, want, got, 1e-9*want+1e-290, "ρ %g at %g", rho, epsilon)
		}
	}
}
