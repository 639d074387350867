package jl

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

var badFloats = []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e308}

func TestBadParams(t *testing.T) {
	good := Params{Dim: 100, Rows: 16, Epsilon: 1, Seed: seed(0)}
	dptest.OK(New(good))(t)
	verify := func(field string, change func(*Params)) {
		t.Helper()
		p := good
		change(&p)
		b, err := New(p)
		require.ErrorIs(t, err, ErrParams, "%+v", p)
		require.Nil(t, b)
		require.Contains(t, err.Error(), "jl: "+field+" = ", "names package, field and value")
		require.Contains(t, err.Error(), "want ", "says what is wanted")
		require.Equal(t, budget.Guarantee{}, p.Guarantee(), "%+v", p)
		_, err = p.Plan(1)
		require.Equal(t, field == "Rows" && p.Rows == 0, err == nil, "%+v", p)
		if err != nil {
			require.ErrorIs(t, err, ErrParams)
		}
		plan := planned(p)
		require.True(t, math.IsNaN(plan.DistanceStdErr(1, 1)) && math.IsNaN(plan.NormStdErr(1, 1)) && math.IsNaN(plan.DotStdErr(1, 1, 0, 0)))
	}
	for _, x := range append([]float64{0, math.Nextafter(check.MinEpsilon, 0), math.Nextafter(check.MaxEpsilon, 2e3)}, badFloats...) {
		verify("Epsilon", func(p *Params) { p.Epsilon = x })
	}
	for _, x := range append([]float64{1, math.Nextafter(check.MinDelta, 0)}, badFloats...) {
		verify("Delta", func(p *Params) { p.Delta = x })
	}
	for _, x := range badFloats {
		verify("Rho", func(p *Params) { p.Epsilon, p.Rho = 0, x })
		verify("Change", func(p *Params) { p.Change.size = x })
	}
	for _, k := range []int{0, -1, math.MinInt, math.MaxInt, maxRows + 1} {
		verify("Rows", func(p *Params) { p.Rows = k })
	}
	for _, s := range []int{-1, 3, 17, math.MaxInt, math.MinInt} {
		verify("Sparsity", func(p *Params) { p.Sparsity = s })
	}
	verify("Dim", func(p *Params) { p.Dim = 0 })
	verify("Dim", func(p *Params) { p.Dim, p.Transform = math.MaxUint64, SRHT })
	verify("Dim", func(p *Params) { p.Dim, p.Change = math.MaxUint64, L2(1) })
	verify("Rows", func(p *Params) { p.Transform, p.Rows = SRHT, 129 })
	verify("Rows", func(p *Params) { p.Transform, p.Dim, p.Rows = Normal, 1<<20, 1000 })
	verify("Rows", func(p *Params) { p.Transform, p.Rows, p.Change = Rademacher, 513, L2(1) })
	verify("Seed", func(p *Params) { p.Seed = [16]byte{} })
	verify("Transform", func(p *Params) { p.Transform = lastTransform + 1 })
	verify("Noise", func(p *Params) { p.Noise = lastNoise + 1 })
	verify("Noise", func(p *Params) { p.Noise = Gaussian })
	verify("Noise", func(p *Params) { p.Noise = DiscreteLaplace })
	verify("Noise", func(p *Params) { p.Epsilon, p.Rho, p.Noise = 0, 1, Laplace })
	verify("Change", func(p *Params) { p.Change.norm = l2 + 1 })
	verify("Sparsity", func(p *Params) { p.Transform, p.Sparsity = SRHT, 2 })
	verify("Input", func(p *Params) { p.Input = true })
	verify("Epsilon", func(p *Params) { p.Rho = 1 })
	verify("Delta", func(p *Params) { p.Epsilon, p.Rho, p.Delta = 0, 1, 0.1 })
	for _, x := range []float64{0.5, 1.5, 0x1p31} {
		verify("Change", func(p *Params) { p.Integers, p.Change.size = true, x })
	}
}

// The ends of the ranges work.
func TestParamsAtTheirLimits(t *testing.T) {
	for _, p := range []Params{
		{Dim: 1, Rows: 1, Epsilon: check.MinEpsilon}, {Dim: 1, Rows: 1, Epsilon: check.MaxEpsilon}, {Dim: math.MaxUint64, Rows: maxRows, Epsilon: 1},
		{Dim: math.MaxUint64, Rows: 16, Sparsity: 16, Epsilon: 1, Delta: check.MinDelta}, {Dim: 1, Rows: 1, Rho: check.MinRho}, {Dim: 1, Rows: 1,
			Rho: check.MaxRho},
		{Dim: 1, Rows: 1, Epsilon: 1, Change: L1(check.MinReal)}, {Dim: 1, Rows: 1, Epsilon: 1, Change: L1(check.MaxReal)}, {Dim: 5, Rows: 8,
			Epsilon: 1, Transform: SRHT},
		{Dim: 1, Rows: 1, Epsilon: 1, Transform: SRHT}, {Dim: 1, Rows: 1, Epsilon: 1, Transform: FJLT}, {Dim: 1, Rows: 1, Epsilon: 1,
			Transform: Normal},
		{Dim: 1, Rows: 1, Epsilon: 1, Integers: true, Change: L1(check.MaxInteger)}, {Dim: 1 << 16, Rows: 256, Epsilon: 1, Transform: SRHT},
		{Dim: 1, Rows: 1, Epsilon: 1, Delta: 1 - 0x1p-53},
	} {
		p.Seed = seed(0)
		b := dptest.OK(New(p))(t, "%+v", p)
		b.Add(p.Dim-1, 1)
		s := dptest.OK(b.Release())(t)
		require.False(t, math.IsNaN(s.SquaredNorm()))
		require.Positive(t, planned(p).Max)
	}
}

// New takes Gaussian noise for δ > 0, and a Plan chooses by the variance: with s = 1 Laplace noise
// wins at every length iff σε ≥ 7^{1/4}, that is at ε = 1 for δ ≤ 0.021; at a length Z it wins
// where Zε²/k > (56 − 8g²)/(8g − 16).
func TestChoiceOfNoise(t *testing.T) {
	p := Params{Dim: 100, Rows: 50, Epsilon: 1, Seed: seed(0)}
	for delta, want := range map[float64]Noise{1e-9: Laplace, 0.0014: Laplace, 0.02: Laplace, 0.023: Gaussian, 0.2: Gaussian} {
		p.Delta = delta
		b := dptest.OK(New(p))(t)
		require.Equal(t, Gaussian, Noise(peek(b).noise.Kind))
		b = dptest.OK(New(planned(p).Params))(t)
		require.Equal(t, want, Noise(peek(b).noise.Kind), "δ = %v", delta)
		s, _ := b.Release()
		require.Equal(t, want, s.Params().Noise)
		require.Equal(t, want == Laplace, s.Guarantee() == budget.Laplace(1, budget.L1(1)))
	}
	p.Delta = 0.03
	sigma := dptest.OK(noise.GaussianSigma(1, 0.03, 1))(t)
	g := sigma * sigma
	edge := float64(p.Rows) * (56 - 8*g*g) / (8*g - 16)
	for share, want := range map[float64]Noise{0.98: Gaussian, 1.02: Laplace} {
		plan := dptest.OK(p.Plan(share * edge))(t)
		require.Equal(t, want, plan.Params.Noise, "g = %v", g)
		require.Equal(t, p.Rows, plan.Params.Rows)
	}
	p = Params{Dim: 100, Rows: 50, Epsilon: 1, Seed: seed(0), Integers: true}
	b, _ := New(p)
	require.Equal(t, DiscreteLaplace, Noise(peek(b).noise.Kind))
}

// Where no vectors have the norms there is no variance; where some have, it is not negative,
// rounding included.
func TestVarianceOfImpossibleNorms(t *testing.T) {
	for _, transform := range []Transform{SJLT, SRHT, FJLT, Rademacher, Normal} {
		p := Params{Transform: transform, Dim: 8, Rows: 4, Seed: seed(1), Epsilon: 1024}
		for _, bad := range [][2]float64{{0, 1}, {2, 4.1}, {1e-3, 1}, {1, math.Inf(1)}, {-1, 0}, {1, -1}, {math.NaN(), 0}, {1, math.NaN()}} {
			require.True(t, math.IsNaN(planned(p).DistanceStdErr(bad[0], bad[1])), "%v %v", transform, bad)
			require.True(t, math.IsNaN(planned(p).NormStdErr(bad[0], bad[1])), "%v %v", transform, bad)
		}
		for _, bad := range [][4]float64{{1, 1, 1.1, 0}, {0, 1, 1, 0}, {1, 1, 0, 0.6}, {4, 9, 6, 36.1}, {1, 1, math.NaN(), 0}, {1, 1, 0, math.Inf(1)}} {
			require.True(t, math.IsNaN(planned(p).DotStdErr(bad[0], bad[1], bad[2], bad[3])), "%v %v", transform, bad)
		}
		for _, scale := range []float64{1e-200, 1e-100, 1, 1e60, 1e74} {
			// one coordinate: the largest ‖x‖₄⁴ and Σx²y²
			z := scale * scale / 3
			require.GreaterOrEqual(t, planned(p).DistanceStdErr(z, z*z), 0.0)
			require.GreaterOrEqual(t, planned(p).NormStdErr(z, z*z), 0.0)
			require.GreaterOrEqual(t, planned(p).DotStdErr(z, z, -z, z*z), 0.0)
			require.GreaterOrEqual(t, planned(p).DotStdErr(2*z, 2*z, 0, 2*z*z), 0.0)
		}
	}
}

// A Change in a file of JSON is read as it was written, and nothing else is one: what became L1(1)
// by mistake would have too little noise.
func TestChangeAsText(t *testing.T) {
	for text, want := range map[string]Change{"L1(0.25)": L1(0.25), "L2(1000)": L2(1000), "OneCoordinate(3)": OneCoordinate(3), "L1(1)": L1(1), "L1(0)": {}} {
		var got struct{ Change Change }
		encoded := dptest.OK(json.Marshal(Params{Change: want}))(t)
		require.NoError(t, json.Unmarshal(encoded, &got))
		require.Equal(t, want, got.Change, text)
	}
	require.Equal(t, "L1(1)", Change{}.String())
	for _, text := range []string{"", "L1", "L1(", "L1()", "L1(1", "L3(1)", "L2(x)", "(1)", "L1(1))"} {
		got := L2(7)
		require.ErrorIs(t, got.UnmarshalText([]byte(text)), ErrParams, text)
		require.Equal(t, L2(7), got)
	}
}
