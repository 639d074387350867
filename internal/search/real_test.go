package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMinimum(t *testing.T) {
	for _, want := range []float64{-1.7, 0, 0.3, 2} {
		at, value := Minimum(-2, 2, 60, func(x float64) float64 { return 3 + (x-want)*(x-want) })
		require.InDelta(t, want, at, 1e-6)
		require.InDelta(t, 3, value, 1e-12)
		at, _ = Minimum(-2, 4, 80, func(x float64) float64 { // nothing below want − 1
			if x < want-1 {
				return math.NaN()
			}
			return math.Abs(x - want)
		})
		require.InDelta(t, want, at, 1e-9)
	}
}

func TestRoot(t *testing.T) {
	for _, want := range []float64{-1.75, 0.1, 1.9} {
		for _, sign := range []float64{1, -1} {
			got := Root(-2, 2, 60, func(x float64) float64 { return sign * (x*x*x - want*want*want) })
			require.InDelta(t, want, got, 1e-14)
			require.GreaterOrEqual(t, sign*(got*got*got-want*want*want)*sign, 0.0, "the end towards hi")
		}
	}
}

func TestFloat(t *testing.T) {
	for _, want := range []float64{-3, -5e-324, 0, 5e-324, 0.1, 1e300} {
		require.Equal(t, want, Float(-10, math.MaxFloat64, func(x float64) bool { return x >= want }))
	}
	require.Equal(t, 7.0, Float(3, 7, func(float64) bool { return false }), "in any case hi")
}
