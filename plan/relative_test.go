package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// Epsilon and Delta stand for the largest ρ that the accountant lets be (ε, δ)-DP, and no more: the
// Guarantee of what is released has the ε at the δ, and a hundredth more ρ has not.
func TestEpsilonAndDelta(t *testing.T) {
	for _, epsilon := range []float64{0x1p-10, 0.1, 1, 8, 1000} {
		for _, delta := range []float64{1e-300, 1e-12, 1e-6, 0.01, 0.9} {
			p := Params{Epsilon: epsilon, Delta: delta, Dim: 3, Max: 100}
			m, err := New(p)
			if err != nil {
				require.ErrorIs(t, err, ErrParams)
				require.True(t, epsilon < 0.01 && delta < 1e-200, "ε = %v, δ = %v: %v", epsilon, delta, err)
				require.False(t, p.Guarantee().Promises())
				continue
			}
			g := m.Guarantee()
			require.LessOrEqual(t, g.EpsilonAt(delta), epsilon*(1+0x1p-40), "δ = %v", delta)
			require.LessOrEqual(t, g.DeltaAt(epsilon), delta)
			require.Greater(t, budget.ZCDP(g.Rho()*1.01, g.Unit()).DeltaAt(epsilon), delta)
		}
	}
}

// A release by ε and δ is the one of its ρ: it spends that and no more, encodes, and its Params say
// ε and δ again.
func TestEpsilonIsRho(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	// test data
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(3, 4)), 3000, 0, []float64{1, 1e4, 1e-3})
	of := Params{Epsilon: 1, Delta: 1e-6, Dim: 3, Max: 1e6, Relative: true}
	out := dptest.OK(dptest.OK(New(of))(t).Release(t.Context(), x))(t)
	s := out.Spent()
	require.LessOrEqual(t, s.Centre+s.Scale+s.Clip+s.Divisor+s.Sum, out.Guarantee().Rho())
	require.Equal(t, []float64{1, 1e-6, 0}, []float64{out.Params().Epsilon, out.Params().Delta, out.Params().Rho})
	require.True(t, out.Params().Relative)
	again, _ := dptest.RoundTrip(t, out)
	require.Equal(t, out, again)
	require.Equal(t, out.Guarantee(), again.Guarantee())

	of.Rho, of.Epsilon, of.Delta = out.Guarantee().Rho(), 0, 0
	cryptotest.SetGlobalRandom(t, 1)
	same := dptest.OK(dptest.OK(New(of))(t).Release(t.Context(), x))(t)
	require.Equal(t, same.Values(), out.Values())

	data := dptest.OK(out.MarshalBinary())(t)
	for at := range 3 { // Rho, Epsilon, Delta
		wrong := slices.Clone(data)
		wrong[30+8*at+7] ^= 0x40
		require.ErrorIs(t, new(Mean).UnmarshalBinary(wrong), ErrFormat)
	}
}

// Relative errors go with given scales, and with two passes over sparse rows, too.
func TestRelativeOtherWays(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 2)
	// test data
	scales := []float64{1, 1e6, 1e-4}
	x, mean := dptest.NormalRows(rand.New(rand.NewPCG(5, 6)), 3000, 0, scales)
	m := dptest.OK(New(Params{Rho: 0.5, Dim: 3, Max: 1e8, Relative: true}))(t)
	m = dptest.OK(m.WithScales(scales))(t)
	out := dptest.OK(m.Release(t.Context(), x))(t)
	for i, s := range scales {
		require.InEpsilon(t, out.StdDev(0), out.StdDev(i)/s, 0.2)
		require.InDelta(t, mean[i], out.Estimate(i), 6*out.StdDev(i))
		require.Less(t, out.StdDev(i), 0.01*s)
	}
	sparse, rng := Sparse{Offsets: []int{0}}, rand.New(rand.NewPCG(7, 8)) // test data
	for range 20_000 {
		for i, q := range []float64{0.5, 0.1, 0.02} {
			if rng.Float64() < q {
				sparse.Indices = append(sparse.Indices, uint32(i))
			}
		}
		sparse.Offsets = append(sparse.Offsets, len(sparse.Indices))
	}
	noise := func(relative bool) float64 {
		out := releaseSparse(t, Params{Rho: 0.5, Dim: 3, NonNegative: true, Relative: relative}, sparse)
		require.Equal(t, TwoPass, out.Params().Method)
		return out.StdDev(2) / out.StdDev(0)
	}
	require.Less(t, noise(true), 0.95*noise(false), "the first pass is the same")
	require.False(t, math.IsNaN(noise(true)))
}
