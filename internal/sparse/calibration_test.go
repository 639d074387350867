package sparse

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The table of the README: δ = 1e-6, real values under ℓ₁.
func TestThresholdTable(t *testing.T) {
	for _, row := range []struct{ epsilon, classic, linear, exponential float64 }{
		{0.1, 140.2, 118.2, 108.8}, {0.5, 29.6, 26.9, 25.4}, {1, 15.8, 14.1, 13.7}, {2, 8.9, 7.6, 7.5},
	} {
		p := Params{Epsilon: row.epsilon, Delta: 1e-6}
		require.InDelta(t, row.exponential, lawOf(t, p).Threshold(), 0.05)
		closed := math.Log(math.Expm1(row.epsilon)/(2e-6*-math.Expm1(-5))) / row.epsilon
		require.InEpsilon(t, closed, lawOf(t, p).Threshold(), 1e-4, "the closed form, but for the grid")
		p.Method = LinearRounding
		require.InDelta(t, row.linear, lawOf(t, p).Threshold(), 0.05)
		// Algorithm 9 as printed, ln(1/δ)/ε + 2
		require.InDelta(t, row.classic, 2-math.Log(1e-6)/row.epsilon, 0.05)
	}
	// Integers: the least integer T of the closed form for discrete noise.
	for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
		r := math.Round(5 / epsilon)
		closed := math.Log(math.Expm1(epsilon)/(1e-6*(1+math.Exp(-epsilon))*-math.Expm1(-epsilon*r))) / epsilon
		require.Equal(t, math.Ceil(closed), lawOf(t, Params{Epsilon: epsilon, Delta: 1e-6, Integers: true}).Threshold())
	}
	// Pure: 2·ln(d)/ε by default, ln(d/(2·false))/ε for a number of false keys.
	d := float64(1 << 40)
	require.InEpsilon(t, 2*math.Log(d), lawOf(t, Params{Epsilon: 1, Dim: 1 << 40}).Threshold(), 1e-4)
	require.InEpsilon(t, math.Log(d/6)/0.5, lawOf(t, Params{Epsilon: 0.5, Dim: 1 << 40, FalseKeys: 3}).Threshold(), 1e-4)
	require.InEpsilon(t, math.Log(d/3)/0.5, lawOf(t, Params{Epsilon: 0.5, Dim: 1 << 40, FalseKeys: 3, Signed: true}).Threshold(), 1e-4)
}

// A unit of the data is a unit: everything scales with Sensitivity and MaxValue, by powers of two
// exactly.
func TestScaling(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 0.7, Delta: 1e-8},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 2, Relation: budget.Replace},
		{Epsilon: 0.7, Dim: 1 << 50},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 7},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 7, Method: Gaussian},
	} {
		scaled := p
		if p.MaxKeys > 0 {
			scaled.MaxValue = 0x1p-20
		} else {
			scaled.Sensitivity = 0x1p-20
		}
		require.Equal(t, lawOf(t, p).Threshold()*0x1p-20, lawOf(t, scaled).Threshold(), "%+v", p)
		require.Equal(t, lawOf(t, p).StdDev()*0x1p-20, lawOf(t, scaled).StdDev())
		require.InEpsilon(t, lawOf(t, p).ErrorBound(10, 0.99)*0x1p-20, lawOf(t, scaled).ErrorBound(10, 0.99), 1e-12)
	}
}

// The scale covers what rounding to the grid adds: rounding at random makes e^{1/b} − 1 of a step's
// share of ε, rounding users' values moves each of their totals by up to a step more.
func TestScaleCoversRounding(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 20} {
		for _, m := range []Method{ExponentialRounding, LinearRounding} {
			p := Params{Epsilon: epsilon, Delta: 1e-8, Sensitivity: 3, Method: m}
			c := dptest.OK(p.choose())(t)
			require.LessOrEqual(t, math.Expm1(1/c.scale)*3/c.step, epsilon)
			require.InEpsilon(t, epsilon, math.Expm1(1/c.scale)*3/c.step, 1e-12)
		}
		p := Params{Epsilon: epsilon, Delta: 1e-8, MaxKeys: 5, MaxValue: 0.7, Method: Laplace}
		for users, relation := range map[float64]budget.Relation{1: budget.AddRemove, 2: budget.Replace} {
			p.Relation = relation
			c := dptest.OK(p.choose())(t)
			keys := 5 * users
			require.GreaterOrEqual(t, c.scale*epsilon, min(keys*0.7/c.step+keys, keys*math.Ceil(0.7/c.step))*(1-1e-15))
		}
		p = Params{Epsilon: epsilon, Delta: 1e-8, MaxKeys: 5, MaxValue: 0.7, Sensitivity: 1, Method: Laplace}
		c := dptest.OK(p.choose())(t)
		require.GreaterOrEqual(t, c.scale*epsilon, (1/c.step+5)*(1-1e-15))
	}
}

// Extremes: every valid corner gives finite numbers, thresholds monotone in δ, ε and what a user
// can change.
func TestThresholdExtremes(t *testing.T) {
	for _, epsilon := range []float64{check.MinEpsilon, 1e-3, 1, 30, check.MaxEpsilon} {
		for _, base := range []Params{{}, {Integers: true}, {Signed: true, Sensitivity: 0x1p-200}, {Sensitivity: 0x1p200}} {
			for _, m := range []Method{ExponentialRounding, LinearRounding} {
				last := 0.0
				for _, delta := range []float64{1 - 0x1p-53, 0.9, 0.1, 1e-6, 1e-30, check.MinDelta} {
					p := base
					p.Epsilon, p.Delta, p.Method = epsilon, delta, m
					got := lawOf(t, p).Threshold()
					require.False(t, math.IsNaN(got) || math.IsInf(got, 0), "%+v", p)
					require.GreaterOrEqual(t, got, last, "%+v", p)
					require.GreaterOrEqual(t, lawOf(t, p).ErrorBound(100, 0.999), got)
					require.GreaterOrEqual(t, lawOf(t, p).StdDev(), 0.0)
					last = got
				}
			}
		}
		for _, dim := range []uint64{1, 2, math.MaxUint64} {
			p := Params{Epsilon: epsilon, Dim: dim}
			require.Greater(t, lawOf(t, p).Threshold(), 0.0)
			require.GreaterOrEqual(t, lawOf(t, p).ErrorBound(1, 0.9), lawOf(t, p).Threshold())
		}
	}
	require.True(t, math.IsNaN(lawOf(t, Params{Epsilon: 1, Delta: 1e-6}).ErrorBound(1, 1)))
	require.True(t, math.IsNaN(lawOf(t, Params{Epsilon: 1, Delta: 1e-6}).ErrorBound(-1, 0.5)))
}

// Replace is the change of two users, and Signed values can go from one side to the other.
func TestReplaceIsTwoUsers(t *testing.T) {
	for _, m := range []Method{ExponentialRounding, Laplace} {
		one := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, MaxValue: 2, Integers: true, Method: m}
		two := one
		two.Relation = budget.Replace
		c1, _ := one.choose()
		c2, _ := two.choose()
		require.Equal(t, 2*c1.scale, c2.scale, fmt.Sprint(m))
		require.Greater(t, lawOf(t, two).Threshold(), lawOf(t, one).Threshold())
	}
	// Of normal noise the unit is the most by which a value changes: twice MaxValue if Signed.
	one := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 6, Signed: true, Method: Gaussian}
	two := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, Signed: true, Method: Gaussian, Relation: budget.Replace}
	require.Equal(t, 2*lawOf(t, one).Threshold(), lawOf(t, two).Threshold())
	require.Equal(t, 2*lawOf(t, one).StdDev(), lawOf(t, two).StdDev())
}
