package quantile

import (
	"math"
	"math/rand/v2"
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

// Where a batch of values is far from 0 the keys of Asinh are made without a square root, and are
// the same as with it, and as those of values alone.
func TestKeysOfABatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	x, keys := make([]float64, 16), make([]uint32, 16)
	for _, a := range []Axis{AsinhAxis(0x1p-100, 1), AsinhAxis(1, 0x1p26), AsinhAxis(1, 0x1p28), LogAxis(1, 1e6, 10), UniformAxis(-5, 5)} {
		for range 2000 {
			least := 60*rng.Float64() - 30
			for at := range x {
				x[at] = a.Unit * math.Ldexp(math.Copysign(1+rng.Float64(), rng.Float64()-0.5), 26+int(least+4*rng.Float64()))
			}
			a.KeyAll(keys, x)
			for at, v := range x {
				require.Equal(t, a.Key(v), keys[at])
				if s := min(math.Abs(v), a.Max) / a.Unit; a.Base == Asinh {
					s += math.Sqrt(s*s + 1)
					require.EqualValues(t, math.Float64bits(s)>>(52-a.bits)-offset<<a.bits, max(keys[at], 2*a.zero-keys[at])-a.zero)
				}
			}
		}
	}
}
