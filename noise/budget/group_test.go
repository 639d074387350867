package budget

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// chain returns Pr[M(xᵢ) = 1] for a mechanism with one bit of output that is (ε, δ)-DP for the
// neighbours x₀, …, xₘ of a chain, and in which the probability grows from 0 as fast as it may.
func chain(t *testing.T, epsilon, delta float64, m int) []float64 {
	t.Helper()
	p := make([]float64, m+1)
	for i := range m {
		p[i+1] = math.Exp(epsilon)*p[i] + delta
		require.Less(t, p[i+1], 1.0)
	}
	for i := range m {
		a, b := []float64{p[i], 1 - p[i]}, []float64{p[i+1], 1 - p[i+1]}
		require.LessOrEqual(t, dptest.HockeyStickSlices(a, b, epsilon), delta+1e-15)
		require.LessOrEqual(t, dptest.HockeyStickSlices(b, a, epsilon), delta+1e-15)
	}
	return p
}

func TestGroupIsExact(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		m              int
	}{
		{0.1, 1e-6, 2}, {0.1, 1e-6, 10}, {1, 1e-9, 7}, {0.01, 1e-3, 50}, {2, 1e-12, 5}, {1e-9, 1e-5, 100}, {0, 1e-5, 100}, {0.5, 0.1, 3},
	} {
		p := chain(t, c.epsilon, c.delta, c.m)
		g := dptest.OK(ApproxDP(c.epsilon, c.delta, one).Group(c.m))(t)
		epsilon := g.asked.Epsilon // mε, rounded up
		require.InDelta(t, float64(c.m)*c.epsilon, epsilon, epsilon*0x1p-52)
		first, last := []float64{p[0], 1 - p[0]}, []float64{p[c.m], 1 - p[c.m]}
		exact := max(dptest.HockeyStickSlices(last, first, epsilon), dptest.HockeyStickSlices(first, last, epsilon))
		require.InEpsilon(t, exact, g.DeltaAt(epsilon), 1e-12, "%+v", c)
		require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact*(1-1e-14), "%+v", c)
		require.InEpsilon(t, 1+epsilon, 1+g.EpsilonAt(g.DeltaAt(epsilon)), 1e-14)
		if c.epsilon > 0 {
			require.Less(t, g.DeltaAt(epsilon), float64(c.m)*math.Exp(epsilon)*c.delta, "the lemma of the paper")
		}
		// The control: the chain breaks a guarantee for one step less.
		require.Greater(t, exact, dptest.OK(ApproxDP(c.epsilon, c.delta, one).Group(c.m-1))(t).DeltaAt(epsilon))
	}
}

// Several chains at once, not all alike: no bound of the group's guarantee is below the exact
// hockey-stick of the product.
func TestGroupOfAComposition(t *testing.T) {
	for _, m := range []int{2, 3, 6} {
		type release struct{ epsilon, delta float64 }
		for _, releases := range [][]release{
			{{0.3, 1e-3}, {0.1, 1e-4}}, {{0.05, 1e-3}, {0.05, 1e-3}, {0.05, 1e-3}, {0.05, 1e-3}}, {{0, 1e-2}, {0.5, 1e-4}, {0.1, 0}},
		} {
			var gs []Guarantee
			first, last := []float64{1}, []float64{1}
			for _, r := range releases {
				gs = append(gs, ApproxDP(r.epsilon, r.delta, rowed))
				p := chain(t, r.epsilon, r.delta, m)
				a, b := p[0], p[m]
				if r.delta == 0 { // randomized response, as far as a chain of it reaches
					a = 1 / (1 + math.Exp(float64(m)*r.epsilon))
					b = 1 - a
				}
				first, last = product(first, []float64{a, 1 - a}), product(last, []float64{b, 1 - b})
			}
			g := dptest.OK(dptest.OK(Compose(gs...))(t).Group(m))(t)
			for epsilon := 0.0; epsilon < 4; epsilon += 0.05 {
				exact := max(dptest.HockeyStickSlices(last, first, epsilon), dptest.HockeyStickSlices(first, last, epsilon))
				require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact-1e-14, "%v, m = %d, ε = %g", releases, m, epsilon)
			}
		}
	}
}

func product(p, q []float64) []float64 {
	var pq []float64
	for _, a := range p {
		for _, b := range q {
			pq = append(pq, a*b)
		}
	}
	return pq
}

func TestGroupKnownValues(t *testing.T) {
	// Two steps of randomized response at ½ are less than one at 1.
	assert.Equal(t, DiscreteLaplace(1, 2, L1(2)).releases().Pair, dptest.OK(PureDP(0.5, at1).Group(2))(t).releases().Pair)
	assert.Equal(t, PureDP(1, L1(2)).String(), dptest.OK(PureDP(0.5, at1).Group(2))(t).String())
	assert.Less(t, dptest.OK(PureDP(0.5, at1).Group(2))(t).DeltaAt(0.5), 0.95*PureDP(1, L1(2)).DeltaAt(0.5))
	assert.Equal(t, ZCDP(4.5, L2(3)), dptest.OK(ZCDP(0.5, at2).Group(3))(t))
	g := dptest.OK(Compose(ApproxDP(0.5, 1e-6, at2), PureDP(0.25, at2), ZCDP(0.25, at2)))(t)
	assert.Equal(t, g, dptest.OK(g.Group(1))(t))
	assert.Equal(t, L2(4), dptest.OK(g.Group(4))(t).Unit())
	assert.Equal(t, 4.0, dptest.OK(g.Group(4))(t).asked.Rho)
	assert.Equal(t, 3.0, dptest.OK(g.Group(4))(t).asked.Epsilon)
	assert.InEpsilon(t, 2*math.Tanh(1)+math.Tanh(0.5), dptest.OK(g.Group(4))(t).asked.ResponseRho, 1e-14)
	// Many small releases still compose, as releases at mε.
	four := dptest.OK(PureDP(0.005, one).Times(400).Group(4))(t).EpsilonAt(1e-6)
	assert.Less(t, four, PureDP(0.02, one).Times(400).EpsilonAt(1e-6))
	assert.Greater(t, four, Laplace(0.02, one).Times(400).EpsilonAt(1e-6))
	// A Gaussian of sensitivity mΔ is a Gaussian of noise σ/m.
	assert.InEpsilon(t, ZCDP(9*0.1, at2).EpsilonAt(1e-6), dptest.OK(ZCDP(0.1, at2).Group(3))(t).EpsilonAt(1e-6), 1e-14)
}

// mε and m²ρ are never below the product, where the nearest float64 is, and for an m that no
// float64 holds.
func TestGroupRoundsUp(t *testing.T) {
	below := 0
	for m := 2; m < 500; m++ {
		for _, x := range []float64{0.1, 1.0 / 3, 0.7, 1e-5} {
			exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(x), big.NewRat(int64(m), 1))
			require.GreaterOrEqual(t, new(big.Rat).SetFloat64(dptest.OK(PureDP(x, at1).Group(m))(t).asked.Epsilon).Cmp(exact), 0, "%d·%v", m, x)
			if new(big.Rat).SetFloat64(float64(m)*x).Cmp(exact) < 0 {
				below++
			}
			exact.Mul(exact, big.NewRat(int64(m), 1))
			require.GreaterOrEqual(t, new(big.Rat).SetFloat64(dptest.OK(ZCDP(x, at1).Group(m))(t).asked.Rho).Cmp(exact), 0, "%d²·%v", m, x)
		}
	}
	require.Greater(t, below, 100, "rounding to the nearest is not enough")
}

func TestGroupVoidAndExtremes(t *testing.T) {
	void := []Guarantee{
		dptest.OK((Guarantee{}).Group(3))(t),
		dptest.OK(ApproxDP(1, 1e-6, at1).Group(20))(t), dptest.OK(ApproxDP(0, 0.5, at1).Group(2))(t), dptest.OK(ApproxDP(0, 0.01, at1).Group(100))(t), dptest.OK(ApproxDP(800, 5e-324, at1).Group(2))(t),
		dptest.OK(PureDP(1e300, at1).Group(1 << 30))(t), dptest.OK(ZCDP(1e300, at1).Group(1 << 30))(t), dptest.OK(ApproxDP(1, 5e-324, at1).Group(1 << 30))(t),
	}
	for i, g := range void[:5] {
		assert.Equal(t, Guarantee{}, g, i)
	}
	for _, g := range append(void, dptest.OK(PureDP(5e-324, at1).Group(2))(t), dptest.OK(ApproxDP(1e-300, 5e-324, at1).Group(7))(t), dptest.OK(ApproxDP(200, 1e-300, at1).Group(4))(t), dptest.OK(PureDP(1e200, at1).Group(1000))(t)) {
		for _, x := range []float64{0, 1e-300, 0.5, 1, math.Inf(1)} {
			assert.True(t, g.EpsilonAt(x) >= 0, g)
			assert.True(t, g.DeltaAt(x) >= 0 && g.DeltaAt(x) <= 1, g)
		}
	}
	assert.GreaterOrEqual(t, dptest.OK(PureDP(5e-324, at1).Group(2))(t).asked.Epsilon, 1e-323)
	assert.LessOrEqual(t, dptest.OK(PureDP(5e-324, at1).Group(2))(t).asked.Epsilon, 1.5e-323)
	// In the range where e^{(m−1)ε} is far out of that of float64: δ·e^{2·340}·(1 + …) with δ =
	// 1e-300.
	assert.InEpsilon(t, math.Exp(-300*math.Ln10+680), dptest.OK(ApproxDP(340, 1e-300, at1).Group(3))(t).asked.Delta, 1e-11)
	assert.InEpsilon(t, math.Exp(-300*math.Ln10+560), dptest.OK(ApproxDP(280, 1e-300, at1).Group(3))(t).asked.Delta, 1e-11)
	for _, m := range []int{0, -1, math.MinInt, 1<<30 + 1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(PureDP(1, at1).Group(m)), ErrParams)
	}
}

func ExampleGuarantee_Group() {
	perRecord := ApproxDP(0.125, 1e-9, one)
	perUser, err := perRecord.Group(4)
	if err != nil {
		panic(err)
	}
	fmt.Println(perUser.Unit())
	fmt.Printf("(%g, %.3g)-DP\n", 0.5, perUser.DeltaAt(0.5))
	// Output:
	// one user (at most 4 elements), added or removed
	// (0.5, 4.87e-09)-DP
}
