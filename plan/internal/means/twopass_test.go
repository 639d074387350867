package means

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// τ² is what it was made with, to its sampling error, 0 where passes agree, and 0 where no mean
// stands out from the noise. With relative errors of 0.1 in 400 means of 20 to 100 standard
// deviations each tells τ² to within its √2-fold and a little more for the noise, so the mean is
// within 10 %: six of these are 0.006.
func TestClippingVariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62)) // test data
	make4 := func(tau, least, most float64) (a, b, va, vb []float64) {
		for range 400 {
			theta := least + (most-least)*rng.Float64()
			a = append(a, theta*(1+tau*rng.NormFloat64())+rng.NormFloat64())
			b = append(b, theta+0.5*rng.NormFloat64())
			va, vb = append(va, 1), append(vb, 0.25)
		}
		return a, b, va, vb
	}
	require.InDelta(t, 0.01, clippingVariance(make4(0.1, 20, 100)), 0.006)
	require.Less(t, clippingVariance(make4(0, 20, 100)), 0.0002)
	require.Zero(t, clippingVariance(make4(1, 0, 0)))
	for _, x := range []float64{0, 5e-324, 1e-200, 1e200, math.MaxFloat64, math.Inf(1), math.NaN()} {
		got := clippingVariance([]float64{x, 1}, []float64{1, x}, []float64{1e-9, x}, []float64{1e-9, x})
		require.True(t, got >= 0 && got <= math.MaxFloat64, "%v: %v", x, got)
	}
}
