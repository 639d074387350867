package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestGeometricMoments(t *testing.T) {
	const n = 200_000
	var src Source
	for _, scale := range []float64{0.5, 3, 1000, 0x1p30} {
		d := dptest.OK(NewGeometric(scale))(t)
		samples := make([]float64, n)
		for i := range samples {
			samples[i] = float64(d.SampleInt(&src))
		}
		v := d.Variance()
		fourth := v * (9*v + 1) // the kurtosis is 9 + (1−q)²/q
		dptest.Moments(t, "Geometric", samples, d.Mean(), v, fourth, 1e-10)
	}
}

func TestGeometricEdges(t *testing.T) {
	var src Source
	tiny, _ := NewGeometric(0x1p-900)
	huge, _ := NewGeometric(0x1p50)
	for range 1000 {
		require.Zero(t, tiny.SampleInt(&src))
		require.GreaterOrEqual(t, huge.SampleInt(&src), int64(0))
	}
	require.EqualValues(t, 1, tiny.CDF(0))
	require.InEpsilon(t, 0x1p-50, huge.CDF(0), 1e-15)
	require.InEpsilon(t, 0x1p50-0.5, huge.Mean(), 1e-15)
	require.True(t, math.IsNaN(huge.Sample(&src, 1)), "2⁵⁰ is too wide for a float64 to hold exactly")
}
