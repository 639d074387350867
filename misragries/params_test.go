package misragries

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestBadParams(t *testing.T) {
	good := Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	dptest.OK(New[string](good))(t)
	verify := func(field string, p Params) {
		t.Helper()
		b, err := New[uint64](p)
		require.ErrorIs(t, err, ErrParams, "%+v", p)
		require.Nil(t, b)
		require.Contains(t, err.Error(), "misragries: "+field+" = ", "names package, field and value")
		require.Contains(t, err.Error(), "want ", "says what is wanted")
		require.ErrorIs(t, dptest.Err(p.Plan(1)), ErrParams)
		require.Zero(t, p.Guarantee())
	}
	for _, k := range []int{-1, math.MinInt, math.MaxInt, maxCounters + 1} {
		verify("Counters", Params{Counters: k, Epsilon: 1, Delta: 1e-6})
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e308, math.Nextafter(check.MinEpsilon, 0), math.Nextafter(check.MaxEpsilon, 2e3)} {
		verify("Epsilon", Params{Counters: 16, Epsilon: epsilon, Delta: 1e-6})
	}
	for _, delta := range []float64{0, 5e-324, math.Nextafter(check.MinDelta, 0), 1, -1e-9, math.NaN(), math.Inf(1), math.Inf(-1), 1e308} {
		verify("Delta", Params{Counters: 16, Epsilon: 1, Delta: delta})
	}
}

// The ends of the ranges work, and no memory is taken ahead of the data.
func TestParamsAtTheirLimits(t *testing.T) {
	for _, p := range []Params{
		{Counters: 1, Epsilon: check.MinEpsilon, Delta: check.MinDelta}, {Counters: 1, Epsilon: check.MaxEpsilon, Delta: 1 - 0x1p-53},
		{Counters: maxCounters, Epsilon: check.MinEpsilon, Delta: 1e-9}, {Counters: maxCounters, Epsilon: check.MaxEpsilon, Delta: check.MinDelta},
	} {
		b := dptest.OK(New[string](p))(t)
		for range 100 {
			b.Add(strings.Repeat("x", 10))
		}
		h := dptest.OK(b.Release())(t)
		lo, hi := h.Interval("x", 0.99)
		require.LessOrEqual(t, lo, hi)
		p.Method = KeptZeros
		require.Equal(t, p, h.Params())
	}
}

// The noise is never below 1/ε.
func TestNoiseScaleIsRoundedUp(t *testing.T) {
	for i := range 10_000 {
		epsilon := math.Ldexp(1+float64(i)/9973, i%39-30)
		scale := sharedNoise(Params{Counters: 4, Epsilon: epsilon, Delta: 0.1}).Scale()
		require.GreaterOrEqual(t, math.FMA(scale, epsilon, -1), 0.0) // the sign of the exact error
		require.LessOrEqual(t, scale*epsilon, 1+0x1p-51)
	}
}

// What the Params promise is what the release says it kept.
func TestGuaranteeOfParams(t *testing.T) {
	require.Equal(t, budget.Guarantee{}, Params{}.Guarantee())
	require.Equal(t, budget.Guarantee{}, Params{Counters: 4, Epsilon: math.NaN(), Delta: 1e-6}.Guarantee())
	require.Equal(t, budget.PureDP(2, budget.Element(budget.AddRemove)), Params{Counters: 4, Epsilon: 2, Dim: 100}.Guarantee())
	require.Equal(t, budget.ApproxDP(2, 1e-6, budget.UserElements(3, budget.AddRemove)), Params{Counters: 4, Epsilon: 2, Delta: 1e-6, MaxElements: 3}.Guarantee())
	for m := Auto; m <= lastMethod; m++ {
		for _, p := range []Params{
			{Counters: 4, Epsilon: 1, Delta: 1e-6, Method: m}, {Counters: 4, Epsilon: 1, Delta: 1e-6, Dim: 100, Method: m}, {Counters: 4, Epsilon: 1, Dim: 100, Method: m},
		} {
			b, err := New[int](p)
			if err != nil {
				continue // no release under these Params
			}
			h := dptest.OK(b.Release())(t)
			require.Equal(t, h.Guarantee(), p.Guarantee(), "%+v", p)
		}
	}
}
