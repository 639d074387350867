package jl

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// released returns a sketch of the vector v·e₁.
func releasedAt(t *testing.T, p Params, v float64) *Sketch {
	t.Helper()
	b := dptest.OK(New(p))(t)
	b.Add(1, v)
	return dptest.OK(b.Release())(t)
}

func TestMismatch(t *testing.T) {
	p := Params{Dim: 64, Rows: 16, Epsilon: 1, Seed: seed(0)}
	s := releasedAt(t, p, 1)
	for name, change := range map[string]func(*Params){
		"Seed": func(p *Params) { p.Seed = seed(1) }, "Dim": func(p *Params) { p.Dim++ }, "Rows": func(p *Params) { p.Rows = 8 },
		"Sparsity": func(p *Params) { p.Sparsity = 2 }, "Transform": func(p *Params) { p.Transform = SRHT },
	} {
		q := p
		change(&q)
		dptest.Refused(t, dptest.Err(s.SquaredDistance(releasedAt(t, q, 1))), ErrMismatch, name)
	}
	q := p
	q.Sparsity = 1 // the default by name
	dptest.OK(s.Dot(releasedAt(t, q, 1)))(t)
	q.Change = L2(1)
	require.ErrorIs(t, dptest.Err(s.Sum(releasedAt(t, q, 1))), ErrMismatch)
	for _, pair := range [][2]*Sketch{{s, nil}, {s, {}}, {{}, s}, {{}, {}}} {
		dptest.Refused(t, dptest.Err(pair[0].SquaredDistance(pair[1])), ErrMismatch, "neither released nor decoded")
	}
	var zero Sketch
	require.True(t, math.IsNaN(zero.SquaredNorm()) && math.IsNaN(zero.stdDev()) && math.IsNaN(zero.Row(0)))
	require.Equal(t, budget.Guarantee{}, zero.Guarantee())
	require.NotEmpty(t, zero.String())
}

// A sketch is not compared with itself, nor with a copy, what decodes from it, or a sum that it is
// in: the noise would not be independent: the distance was once −4k/ε², that is what two
// independent noises would have added, taken from 0. Two releases of one vector are independent.
func TestSketchAndItself(t *testing.T) {
	p := Params{Dim: 64, Rows: 160, Epsilon: 1, Seed: seed(0)}
	s, other := releasedAt(t, p, 1), releasedAt(t, p, 1)
	data := dptest.OK(s.MarshalBinary())(t)
	var decoded Sketch
	require.NoError(t, decoded.UnmarshalBinary(data))
	shallow := *s
	sum := dptest.OK(s.Sum(other))(t)
	for _, same := range []*Sketch{s, &shallow, &decoded, sum} {
		for _, pair := range [][2]*Sketch{{s, same}, {same, s}} {
			a, b := pair[0], pair[1]
			refused := func(x float64, err error) {
				t.Helper()
				require.ErrorIs(t, err, ErrMismatch)
				require.NotContains(t, err.Error(), "differs")
				require.False(t, x > 0 || x < 0, "no number with the error: %v", x)
			}
			refused(a.SquaredDistance(b))
			refused(a.Dot(b))
			refused(a.Cosine(b))
			for _, interval := range []func(*Sketch, float64) (float64, float64, error){
				a.SquaredDistanceInterval, a.DotInterval} {
				lo, _, err := interval(b, 0.5)
				refused(lo, err)
			}
			require.ErrorIs(t, dptest.Err(a.Sum(b)), ErrMismatch)
		}
	}
	dptest.OK(s.SquaredDistance(other))(t)
	third := releasedAt(t, p, 1)
	dptest.OK(sum.SquaredDistance(third))(t)
}

// Sketches for other distances of neighbours are not added: at a Sensitivity of 1000 and of 1 the
// sum was once called 2-DP, and would be 1001-DP for a change by 1000.
func TestSumOfOtherSensitivities(t *testing.T) {
	p := Params{Dim: 64, Rows: 16, Epsilon: 1, Seed: seed(0), Integers: true}
	a := releasedAt(t, p, 1)
	p.Change.size = 1000
	b := releasedAt(t, p, 1)
	require.Equal(t, a.step, b.step)
	for name, other := range map[string]*Sketch{"Change": b, "L2": releasedAt(t, p, 1), "OneCoordinate": releasedAt(t, p, 1), "Integers": releasedAt(t, p, 1)} {
		switch name {
		case "L2":
			other.params.Change = L2(1)
		case "OneCoordinate":
			other.params.Change = OneCoordinate(1)
		case "Integers":
			other.params.Integers, other.params.Change.size = false, 1
		}
		dptest.Refused(t, dptest.Err(a.Sum(other)), ErrMismatch, name, name)
	}
	p.Change.size = 1 // the default by name
	sum := dptest.OK(a.Sum(releasedAt(t, p, 1)))(t)
	require.True(t, sum.Guarantee().Equal(a.Guarantee().Times(2)), "%v", sum.Guarantee())
}

// A sum of sketches estimates the sum of the vectors with both noises: (30 + 40)² = 4900. Off by 8
// standard deviations once in 10⁹ for these near-normal estimates.
func TestSum(t *testing.T) {
	p := Params{Dim: 64, Rows: 400, Epsilon: 4, Seed: seed(0)}
	a, b := releasedAt(t, p, 30), releasedAt(t, p, 40)
	s := dptest.OK(a.Sum(b))(t)
	require.Equal(t, 2, s.Terms())
	require.InDelta(t, 8, s.Guarantee().EpsilonAt(0), 1e-9)
	n := p.noiseOf(a.terms[0].noise, false)
	sd := math.Sqrt(p.spread().distance(n.plus(n), 4900, 4900*4900))
	dptest.Alarm(t, 1e-9)
	require.InDelta(t, 4900, s.SquaredNorm(), 8*sd)
	require.InEpsilon(t, math.Sqrt2*a.stdDev(), s.stdDev(), 1e-12)
	var d Sketch
	data := dptest.OK(s.MarshalBinary())(t)
	require.NoError(t, d.UnmarshalBinary(data))
	require.Equal(t, s, &d)
}

// The intervals of Chebyshev hold with far more than their confidence.
func TestCoverage(t *testing.T) {
	x, y, v := vectors(64)
	p := Params{Dim: 64, Rows: 64, Epsilon: 1}
	sure, dots := 0, 0
	for i := range 400 {
		p.Seed = seed(i)
		a := dptest.OK(New(p))(t)
		b, _ := a.Sibling()
		a.AddDense(x)
		b.AddDense(y)
		s, _ := a.Release()
		o, _ := b.Release()
		lo, hi, err := s.SquaredDistanceInterval(o, 0.9)
		require.NoError(t, err)
		if lo <= v.zz && v.zz <= hi {
			sure++
		}
		if lo, hi, _ = s.DotInterval(o, 0.9); lo <= v.xy && v.xy <= hi {
			dots++
		}
	}
	dptest.Alarm(t, 1e-9)
	require.GreaterOrEqual(t, sure, 360)
	require.GreaterOrEqual(t, dots, 360)
}

// The plan's figures: k* = .189·Zε²/s, relative errors .86, .61, .19, .061, and a warning where Zε²
// is small.
func TestPlan(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	p := Params{Dim: 1000, Epsilon: 2, Seed: seed(0)}
	for z, want := range map[float64]float64{50: 0.86, 100: 0.61, 1000: 0.19, 10_000: 0.061} {
		plan := dptest.OK(p.Plan(z / 4))(t)
		require.InEpsilon(t, want, plan.RelativeError, 0.02)
		require.InDelta(t, 0.189*z, float64(plan.Params.Rows), 1+0.02*z*0.189)
		require.Equal(t, want > 0.5, plan.Warning() != "")
		require.NotEmpty(t, plan.String())
		require.InEpsilon(t, plan.StdErr, plan.DistanceStdErr(z/4, 0), 1e-9)
	}
	for _, z := range badFloats[:4] {
		require.ErrorIs(t, dptest.Err(p.Plan(z)), ErrParams)
	}
	// Under L2 the plan is that of the matrix, and about the best of all numbers of rows.
	for _, q := range []Params{{}, {Transform: SRHT}, {Transform: Rademacher}, {Sparsity: 4}, {Noise: Laplace}} {
		if testing.Short() && q.Sparsity != 4 {
			continue
		}
		q.Dim, q.Epsilon, q.Delta, q.Change, q.Seed = 300, 1, 1e-6, L2(1), seed(0)
		plan := dptest.OK(q.Plan(3e4))(t)
		require.InEpsilon(t, plan.StdErr*plan.StdErr, square(plan.DistanceStdErr(3e4, 0)), 1e-9)
		if q.Transform == SJLT && q.Noise == AutoNoise && q.Sparsity == 0 && plan.Params.Rows >= 64 {
			require.Equal(t, 8, plan.Params.Sparsity)
		}
		q = plan.Params
		for _, k := range []int{16, 32, 64, 128, 256, 512} {
			if q.Rows = k; k <= 300 || q.Transform != SRHT {
				require.Greater(t, planned(q).DistanceStdErr(3e4, 0), 0.95*plan.StdErr, "%v, %d rows", plan, k)
			}
		}
	}
	p.Transform = Normal
	require.ErrorIs(t, dptest.Err(p.Plan(1)), ErrParams)
	// The paper's s = 8 and k = 256 at Zε² = 1000: a relative error above 1.
	p = Params{Dim: 1000, Rows: 256, Sparsity: 8, Epsilon: 1, Seed: seed(0)}
	require.Greater(t, planned(p).DistanceStdErr(1000, 0)/1000, 1.0)
}

// The table in the documentation.
func TestTableOfPlans(t *testing.T) {
	rows := []int{16, 64, 256, 512}
	for _, c := range []struct {
		p    Params
		z    float64
		want [4]float64
	}{
		{Params{Epsilon: 1}, 1e4, [4]float64{0.36, 0.18, 0.098, 0.076}},
		{Params{Epsilon: 1, Delta: 1e-6, Noise: Gaussian}, 1e4, [4]float64{0.37, 0.22, 0.17, 0.18}},
		{Params{Epsilon: 1, Change: L2(1)}, 1e6, [4]float64{0.38, 0.23, 0.20, 0.22}},
		{Params{Epsilon: 1, Delta: 1e-6, Change: L2(1), Noise: Gaussian}, 1e6, [4]float64{0.37, 0.19, 0.098, 0.071}},
		{Params{Epsilon: 1, Delta: 1e-6, Change: L2(1), Noise: Gaussian, Sparsity: 8}, 1e6, [4]float64{0.37, 0.19, 0.096, 0.069}},
		{Params{Epsilon: 1, Delta: 1e-6, Change: L2(1), Noise: Gaussian, Transform: SRHT}, 1e6, [4]float64{0.36, 0.18, 0.080, 0.047}},
	} {
		for i, k := range rows {
			c.p.Dim, c.p.Rows, c.p.Seed = 1024, k, seed(6)
			require.InEpsilon(t, c.want[i], planned(c.p).DistanceStdErr(c.z, 0)/c.z, 0.03, "%+v", c.p)
		}
	}
}

// What the documentation says of the transforms' noise: more entries a column are free for Gaussian
// noise, and an FJLT has less Laplace noise than an SRHT from 256 rows on, but more
// Gaussian noise.
func TestNoiseOfTransforms(t *testing.T) {
	ratio := func(a, b Params) float64 {
		for _, p := range []*Params{&a, &b} {
			p.Dim, p.Seed = 1024, seed(1)
		}
		return planned(a).StdDev / planned(b).StdDev
	}
	require.InDelta(t, 1, ratio(Params{Rows: 256, Rho: 1, Sparsity: 8}, Params{Rows: 256, Rho: 1}), 1e-4)
	require.InDelta(t, math.Sqrt(8), ratio(Params{Rows: 256, Epsilon: 1, Sparsity: 8}, Params{Rows: 256, Epsilon: 1}), 1e-2)
	require.Less(t, ratio(Params{Rows: 256, Rho: 1, Sparsity: 8, Change: L2(1)}, Params{Rows: 256, Rho: 1, Change: L2(1)}), 1.0)
	for _, k := range []int{256, 512} {
		require.Less(t, ratio(Params{Rows: k, Epsilon: 1, Transform: FJLT}, Params{Rows: k, Epsilon: 1, Transform: SRHT}), 0.95)
		require.Greater(t, ratio(Params{Rows: k, Rho: 1, Transform: FJLT}, Params{Rows: k, Rho: 1, Transform: SRHT}), 1.0)
	}
}
