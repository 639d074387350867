package jl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// released returns a sketch of the vector v·e₁.
func releasedAt(t *testing.T, p Params, v float64) *Sketch {
	t.Helper()
	b, err := New(p)
	require.NoError(t, err)
	b.Add(1, v)
	s, err := b.Release()
	require.NoError(t, err)
	return s
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
		_, err := s.SquaredDistance(releasedAt(t, q, 1))
		require.ErrorIs(t, err, ErrMismatch)
		require.Contains(t, err.Error(), name)
	}
	q := p
	q.Sparsity = 1 // the default by name
	_, err := s.Dot(releasedAt(t, q, 1))
	require.NoError(t, err)
	q.Norm = L2
	_, err = s.Sum(releasedAt(t, q, 1))
	require.ErrorIs(t, err, ErrMismatch)
	for _, other := range []*Sketch{nil, {}} {
		_, err = s.SquaredDistance(other)
		require.ErrorIs(t, err, ErrMismatch)
	}
	var zero Sketch
	require.True(t, math.IsNaN(zero.SquaredNorm()) && math.IsNaN(zero.StdDev()) && math.IsNaN(zero.LikelySquaredNorm()) &&
		math.IsNaN(zero.Row(0)))
	require.Equal(t, budget.Guarantee{}, zero.Guarantee())
	require.NotEmpty(t, zero.String())
}

// A sum of sketches estimates the sum of the vectors with both noises: (30 + 40)² = 4900. Off by 8 standard deviations once in 10⁹ for
// these near-normal estimates.
func TestSum(t *testing.T) {
	p := Params{Dim: 64, Rows: 400, Epsilon: 4, Seed: seed(0)}
	a, b := releasedAt(t, p, 30), releasedAt(t, p, 40)
	s, err := a.Sum(b)
	require.NoError(t, err)
	require.Equal(t, 2, s.Terms())
	require.InDelta(t, 8, s.Guarantee().EpsilonAt(0), 1e-9)
	n := p.noiseOf(a.terms[0].law)
	sd := math.Sqrt(p.spread().distance(n.plus(n), 4900, 4900*4900))
	require.InDelta(t, 4900, s.SquaredNorm(), 8*sd)
	require.InEpsilon(t, math.Sqrt2*a.StdDev(), s.StdDev(), 1e-12)
	var d Sketch
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, d.UnmarshalBinary(data))
	require.Equal(t, s, &d)
}

// The intervals of Chebyshev hold with far more than their confidence, those of the likelihood about: of 400 each at 0.9, at least 330 hold
// but once in 10⁶ (binomial, from a coverage of 0.895).
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("TestHeavyCoordinates is the short one")
	}
	x, y, v := vectors(64)
	p := Params{Dim: 64, Rows: 64, Epsilon: 1}
	sure, likely, dots := 0, 0, 0
	for i := range 400 {
		p.Seed = seed(i)
		a, err := New(p)
		require.NoError(t, err)
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
		if lo, hi, _ = s.LikelySquaredDistanceInterval(o, 0.9); lo <= v.zz && v.zz <= hi {
			likely++
		}
		if lo, hi, _ = s.DotInterval(o, 0.9); lo <= v.xy && v.xy <= hi {
			dots++
		}
	}
	require.GreaterOrEqual(t, sure, 360)
	require.GreaterOrEqual(t, dots, 360)
	require.GreaterOrEqual(t, likely, 325)
}

// At a small distance the likelihood has about half the error of the unbiased estimate, and truncation less too.
func TestLikelihoodAtSmallDistances(t *testing.T) {
	p := Params{Dim: 64, Rows: 128, Epsilon: 1}
	unbiased, truncated, likely := 0.0, 0.0, 0.0
	for i := range 200 {
		p.Seed = seed(i)
		a, err := New(p)
		require.NoError(t, err)
		b, _ := a.Sibling()
		for j := range uint64(4) {
			a.Add(j, 1)
		}
		s, _ := a.Release()
		o, _ := b.Release()
		d, _ := s.SquaredDistance(o)
		unbiased += (d - 4) * (d - 4)
		d, _ = s.TruncatedSquaredDistance(o)
		truncated += (d - 4) * (d - 4)
		d, _ = s.LikelySquaredDistance(o)
		likely += (d - 4) * (d - 4)
	}
	require.LessOrEqual(t, truncated, unbiased)
	require.Less(t, math.Sqrt(likely/unbiased), 0.75)
}

// The plan's figures: k* = .189·Zε²/s, relative errors .86, .61, .19, .061, and a warning where Zε² is small.
func TestPlan(t *testing.T) {
	p := Params{Dim: 1000, Epsilon: 2, Seed: seed(0)}
	for z, want := range map[float64]float64{50: 0.86, 100: 0.61, 1000: 0.19, 10_000: 0.061} {
		plan, err := p.Plan(z / 4)
		require.NoError(t, err)
		require.InEpsilon(t, want, plan.RelativeError, 0.02)
		require.InDelta(t, 0.189*z, float64(plan.Params.Rows), 1+0.02*z*0.189)
		require.Equal(t, want > 0.5, plan.Warning() != "")
		require.NotEmpty(t, plan.String())
		require.InEpsilon(t, plan.StdDev*plan.StdDev, plan.Params.DistanceVariance(z/4, 0), 1e-9)
	}
	for _, z := range badFloats[:4] {
		_, err := p.Plan(z)
		require.ErrorIs(t, err, ErrParams)
	}
	p.Transform = Normal
	_, err := p.Plan(1)
	require.ErrorIs(t, err, ErrParams)
	// The paper's s = 8 and k = 256 at Zε² = 1000: a relative error above 1.
	p = Params{Dim: 1000, Rows: 256, Sparsity: 8, Epsilon: 1, Seed: seed(0)}
	require.Greater(t, math.Sqrt(p.DistanceVariance(1000, 0))/1000, 1.0)
	rows, sparsity, err := Distortion(0.1, 0.01)
	require.NoError(t, err)
	require.Zero(t, rows%sparsity)
	_, _, err = Distortion(0.6, 0.01)
	require.ErrorIs(t, err, ErrParams)
}
