package misragries

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestBadParams(t *testing.T) {
	dptest.Params(t, "misragries", Params{Counters: 16, Epsilon: 1, Delta: 1e-6}, map[string][]any{
		"Counters":    {-1, math.MinInt, math.MaxInt, maxCounters + 1},
		"Epsilon":     {0, -1, 5e-324, 1e308, math.Nextafter(check.MinEpsilon, 0), math.Nextafter(check.MaxEpsilon, 2e3)},
		"Delta":       {0, 5e-324, math.Nextafter(check.MinDelta, 0), 1, -1e-9, 1e308},
		"MaxElements": {-1, maxElements + 1, math.MaxInt},
		"Method":      {255},
	}, map[string]func(Params) error{
		"New": func(p Params) error {
			b, err := New[uint64](p)
			require.Equal(t, err == nil, p.Guarantee().Promises())
			require.Equal(t, err != nil, b == nil)
			return err
		},
		"Plan":           func(p Params) error { return dptest.Err(p.Plan(1)) },
		"FromMisraGries": func(p Params) error { return dptest.Err(FromMisraGries(p, map[int]int64{1: 2})) },
		"NewSum":         func(p Params) error { return dptest.Err(NewSum[int](p)) },
	})
}

// What the Params promise; releases promise the same: see TestGuaranteeNamesTheUnit.
func TestGuaranteeOfParams(t *testing.T) {
	require.Equal(t, budget.Guarantee{}, Params{}.Guarantee())
	require.Equal(t, budget.Guarantee{}, Params{Counters: 4, Epsilon: math.NaN(), Delta: 1e-6}.Guarantee())
	require.Equal(t, budget.PureDP(2, budget.Element(budget.AddRemove)), Params{Counters: 4, Epsilon: 2, Dim: 100}.Guarantee())
	require.Equal(t, budget.ApproxDP(2, 1e-6, budget.UserElements(3, budget.AddRemove)), Params{Counters: 4, Epsilon: 2, Delta: 1e-6, MaxElements: 3}.Guarantee())
}
