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

func group(t *testing.T, g Guarantee, m int) Guarantee {
	t.Helper()
	return dptest.OK(g.Group(m))(t)
}

func TestGroupIsExact(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		m              int
	}{
		{0.1, 1e-6, 2}, {0.1, 1e-6, 10}, {1, 1e-9, 7}, {0.01, 1e-3, 50}, {2, 1e-12, 5}, {1e-9, 1e-5, 100}, {0, 1e-5, 100}, {0.5, 0.1, 3},
	} {
		p := chain(t, c.epsilon, c.delta, c.m)
		g := group(t, ApproxDP(c.epsilon, c.delta, one), c.m)
		epsilon := g.epsilon // mε, rounded up
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
		require.Greater(t, exact, group(t, ApproxDP(c.epsilon, c.delta, one), c.m-1).DeltaAt(epsilon))
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
			g := group(t, compose(t, gs...), m)
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
	assert.Equal(t, DiscreteLaplace(1, 2, L1(2)).pair, group(t, PureDP(0.5, at1), 2).pair)
	assert.Equal(t, PureDP(1, L1(2)).sums.String(), group(t, PureDP(0.5, at1), 2).sums.String())
	assert.Less(t, group(t, PureDP(0.5, at1), 2).DeltaAt(0.5), 0.95*PureDP(1, L1(2)).DeltaAt(0.5))
	assert.Equal(t, ZCDP(4.5, L2(3)), group(t, ZCDP(0.5, at2), 3))
	g := compose(t, ApproxDP(0.5, 1e-6, at2), PureDP(0.25, at2), ZCDP(0.25, at2))
	assert.Equal(t, g, group(t, g, 1))
	assert.Equal(t, L2(4), group(t, g, 4).Unit())
	assert.Equal(t, 4.0, group(t, g, 4).rho)
	assert.Equal(t, 3.0, group(t, g, 4).epsilon)
	assert.InEpsilon(t, 2*math.Tanh(1)+math.Tanh(0.5), group(t, g, 4).responses, 1e-14)
	// Many small releases still compose, as releases at mε.
	many := make([]Guarantee, 400)
	for i := range many {
		many[i] = PureDP(0.005, one)
	}
	assert.Less(t, group(t, compose(t, many...), 4).EpsilonAt(1e-6), PureDP(0.02, one).Times(400).EpsilonAt(1e-6))
	assert.Greater(t, group(t, compose(t, many...), 4).EpsilonAt(1e-6), Laplace(0.02, one).Times(400).EpsilonAt(1e-6))
	assert.Less(t, group(t, compose(t, many...), 4).EpsilonAt(1e-6), ZCDP(16*400*0.005*0.005/2, one).EpsilonAt(1e-6))
	// A Gaussian of sensitivity mΔ is a Gaussian of noise σ/m.
	assert.InEpsilon(t, ZCDP(9*0.1, at2).EpsilonAt(1e-6), group(t, ZCDP(0.1, at2), 3).EpsilonAt(1e-6), 1e-14)
}

// mε and m²ρ are never below the product, where the nearest float64 is, and for an m that no
// float64 holds.
func TestGroupRoundsUp(t *testing.T) {
	below := 0
	for m := 2; m < 500; m++ {
		for _, x := range []float64{0.1, 1.0 / 3, 0.7, 1e-5} {
			exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(x), big.NewRat(int64(m), 1))
			require.GreaterOrEqual(t, new(big.Rat).SetFloat64(group(t, PureDP(x, at1), m).epsilon).Cmp(exact), 0, "%d·%v", m, x)
			if new(big.Rat).SetFloat64(float64(m)*x).Cmp(exact) < 0 {
				below++
			}
			exact.Mul(exact, big.NewRat(int64(m), 1))
			require.GreaterOrEqual(t, new(big.Rat).SetFloat64(group(t, ZCDP(x, at1), m).rho).Cmp(exact), 0, "%d²·%v", m, x)
		}
	}
	require.Greater(t, below, 100, "rounding to the nearest is not enough")
}

func TestGroupVoidAndExtremes(t *testing.T) {
	void := []Guarantee{
		group(t, Guarantee{}, 3),
		group(t, ApproxDP(1, 1e-6, at1), 20), group(t, ApproxDP(0, 0.5, at1), 2), group(t, ApproxDP(0, 0.01, at1), 100), group(t, ApproxDP(800, 5e-324, at1), 2),
		group(t, PureDP(1e300, at1), 1<<30), group(t, ZCDP(1e300, at1), 1<<30), group(t, ApproxDP(1, 5e-324, at1), 1<<30),
	}
	for i, g := range void[:5] {
		assert.Equal(t, Guarantee{}, g, i)
	}
	for _, g := range append(void, group(t, PureDP(5e-324, at1), 2), group(t, ApproxDP(1e-300, 5e-324, at1), 7), group(t, ApproxDP(200, 1e-300, at1), 4), group(t, PureDP(1e200, at1), 1000)) {
		for _, x := range []float64{0, 1e-300, 0.5, 1, math.Inf(1)} {
			assert.True(t, g.EpsilonAt(x) >= 0, g)
			assert.True(t, g.DeltaAt(x) >= 0 && g.DeltaAt(x) <= 1, g)
		}
	}
	assert.GreaterOrEqual(t, group(t, PureDP(5e-324, at1), 2).epsilon, 1e-323)
	assert.LessOrEqual(t, group(t, PureDP(5e-324, at1), 2).epsilon, 1.5e-323)
	// In the range where e^{(m−1)ε} is far out of that of float64: δ·e^{2·340}·(1 + …) with δ =
	// 1e-300.
	assert.InEpsilon(t, math.Exp(-300*math.Ln10+680), group(t, ApproxDP(340, 1e-300, at1), 3).delta, 1e-11)
	assert.InEpsilon(t, math.Exp(-300*math.Ln10+560), group(t, ApproxDP(280, 1e-300, at1), 3).delta, 1e-11)
	for _, m := range []int{0, -1, math.MinInt, 1<<30 + 1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(PureDP(1, at1).Group(m)), ErrParams)
	}
}

func TestGroupGrows(t *testing.T) {
	g := compose(t, ApproxDP(0.01, 1e-9, one), ZCDP(0.0001, one))
	last := 0.0
	for m := 1; m < 60; m++ {
		epsilon := group(t, g, m).EpsilonAt(1e-5)
		require.Greater(t, epsilon, last)
		last = epsilon
	}
	// In two steps it is at least as much as in one.
	require.GreaterOrEqual(t, group(t, group(t, g, 2), 3).delta, group(t, g, 6).delta*(1-1e-14))
}

func ExampleGuarantee_Group() {
	perRecord := ApproxDP(0.125, 1e-9, one)
	perUser, err := perRecord.Group(4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(perUser.Unit())
	fmt.Printf("(%g, %.3g)-DP\n", 0.5, perUser.DeltaAt(0.5))
	// Output:
	// one user (at most 4 keys), added or removed
	// (0.5, 4.87e-09)-DP
}
