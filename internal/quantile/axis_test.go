package quantile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys invert values, ascend with them, and are as fine as promised.
func TestAxes(t *testing.T) {
	for name, a := range map[string]Axis{
		"asinh": AsinhAxis(1, 1000), "wide": AsinhAxis(0x1p-40, 0x1p20), "narrow": AsinhAxis(1, 1), "widest": AsinhAxis(0x1p-59, 1),
		"log": LogAxis(0x1p-10, 1e6, 10), "point": LogAxis(1, 1, 10), "uniform": UniformAxis(-5, 5), "positive": UniformAxis(0, 3),
	} {
		require.LessOrEqual(t, a.Keys, uint64(1)<<32, name)
		require.Positive(t, a.Keys)
		last := math.Inf(-1)
		for i := range 2000 {
			key := uint32(uint64(i) * (a.Keys - 1) / 1999)
			x := a.Value(key)
			require.True(t, x >= last && math.Abs(x) <= a.Max*(1+1e-9), "%s: %v after %v", name, x, last)
			require.InDelta(t, float64(key), float64(a.Key(x)), 1, "%s: key %d has value %v", name, key, x)
			last = x
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
			require.Less(t, uint64(a.Key(x)), a.Keys, "%s: %v", name, x)
		}
		require.Equal(t, a.Key(0), a.Key(math.NaN()))
	}
	a := AsinhAxis(1, 1e6)
	require.Zero(t, a.Value(a.Key(0)))
	for _, x := range []float64{1e-3, 0.7, 55, 1e4, 9e5, -3, -8e5} {
		require.InDelta(t, x, a.Value(a.Key(x)), 1.0/8)
	}
}
