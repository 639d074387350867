package means

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// The margin is where the model of limit.go has the least error, and a is the exponent with which
// the lognormal tail falls at C: both by numbers.
func TestMarginIsTheBestOfItsModel(t *testing.T) {
	// of a lognormal law with median 1
	tail := func(x, sigma float64) float64 { return math.Erfc(math.Log(x)/sigma/math.Sqrt2) / 2 }
	for _, d := range []int{1, 4, 16} {
		for _, sigma := range []float64{0.3, 0.8, 1.2, 1.6} {
			for _, rho := range []float64{0.05, 0.5, 4} {
				p := Params{Rho: rho, Dim: d, Max: 1e6, Method: Adaptive, Relation: budget.Replace}.Resolved()
				const n = 20_000.0
				k := p.depth(n, only).rows
				limit := math.Exp(sigma * math.Sqrt2 * math.Erfinv(1-2*k/n))
				require.InEpsilon(t, k/n, tail(limit, sigma), 1e-9)
				const h = 1e-5
				a := max((tail(limit*(1-h), sigma)-tail(limit*(1+h), sigma))/(2*h*tail(limit, sigma)), 2)
				lost := 0.7 * k / ((a - 1) * 2 * math.Sqrt(float64(d)/(2*rho)) * math.Cbrt(float64(d)))
				best, least := 1.0, math.Inf(1)
				for g := 1.0; g <= 2; g += 1e-4 {
					if e := math.Hypot(lost*math.Pow(g, 1-a), g); e < least {
						best, least = g, e
					}
				}
				const typical = 7 // M₁: C is in proportion
				require.InDelta(t, best, p.marginFor(typical*limit, typical, k, n, p.noiseRows()), 2e-4, "d = %d, σ = %v, ρ = %v", d, sigma, rho)
			}
		}
	}
}

// Heavier tails have larger margins, from 1 to 2 whatever was released, and 1 where the model does
// not hold.
func TestMarginFollowsTheTail(t *testing.T) {
	p := Params{Rho: 0.5, Dim: 1, Max: 1e6, Method: Adaptive, Relation: budget.Replace}.Resolved()
	last := 1.0
	for x := 1.0; x < 1e6; x *= 1.1 {
		g := p.marginFor(x, 1, 11, 20_000, p.noiseRows())
		require.GreaterOrEqual(t, g, last)
		last = g
	}
	require.Greater(t, last, 1.9)
	twice := p
	twice.Method = TwoPass
	require.Equal(t, 1.0, twice.marginFor(100, 1, 11, 20_000, twice.noiseRows()), "the first pass knows no means")
	odd := []float64{0, 1e-300, 1, 1e300, math.Inf(1), math.NaN()}
	for _, limit := range odd {
		for _, typical := range odd {
			for _, k := range []float64{0, 0.2, 1, 1e9} {
				for _, n := range []float64{0, 1, 1e10} {
					g := p.marginFor(limit, typical, k, n, p.noiseRows())
					require.True(t, g >= 1 && g <= 2, "%v %v %v %v: %v", limit, typical, k, n, g)
				}
			}
		}
	}
}

// The margin that was used stands in what is released. Only Adaptive and TwoPass choose
// one, for the depth that is their own.
func TestMarginIsReleased(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(57, 58)) // test data
	heavy, _ := columnOf(rng, 5000, func(rng *rand.Rand) float64 { return math.Exp(1.5 * rng.NormFloat64()) })
	light, _ := columnOf(rng, 5000, (*rand.Rand).Float64)
	p := Params{Rho: 0.5, Dim: 1, Max: 1000, Resolution: 0.01, Relation: budget.Replace}
	require.Greater(t, release(t, p, heavy).Params.Margin, 1.5)
	require.Less(t, release(t, p, light).Params.Margin, 1.2)
	for _, change := range []func(*Params){
		func(p *Params) { p.Symmetric = true },
		func(p *Params) { p.Steps.Clip = 0.99 },
		func(p *Params) { p.Steps.Base, p.Method = quantile.Uniform, Adaptive },
		func(p *Params) { p.Method = Thesis },
		func(p *Params) { p.Method = InstanceOptimal },
		func(p *Params) { p.Method = Plain },
		func(p *Params) { p.Margin = 1 },
	} {
		q := p
		change(&q)
		require.Equal(t, 1.0, release(t, q, heavy).Params.Margin, "%+v", q)
	}
	twice := p
	twice.NonNegative, twice.Method = true, TwoPass
	require.Greater(t, release(t, twice, heavy).Params.Margin, 1.5)
	require.Less(t, release(t, twice, slices.Repeat([][]float64{{1}, {0.9}, {0.8}}, 2000)).Params.Margin, 1.2)
	p.Margin = 3
	require.Equal(t, 3.0, release(t, p, heavy).Params.Margin)
	p.Margin, p.Relation = 0, budget.AddRemove
	m := release(t, p, heavy)
	require.Greater(t, m.Params.Margin, 1.5)
	require.Empty(t, m.Wrong(true, false))
}
