package quantile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of weights is short however small the budget is, and falls as far as a longer one.
func TestWeightsAreFew(t *testing.T) {
	for _, rho := range []float64{1e-20, 1e-12, 1e-6, 1} {
		w := NewWeights(rho, 0.5, Replaced, 1<<30)
		require.Less(t, len(w.table), 1<<17)
		c := math.Sqrt(2 * rho)
		if s := int64(20 / c); s < 1<<30 {
			require.InDelta(t, float64(s)*c, math.Log(topWeight)-math.Log(float64(w.At(s))), 0.05)
		}
		for s := int64(1); s < 1<<32; s = s*5/4 + 1 {
			a, b := w.At(s-1), w.At(s)
			require.True(t, b <= a && b > 0)
			require.LessOrEqual(t, float64(a-b), float64(a)*-math.Expm1(-c)*(1+1e-12), "s = %d", s)
		}
	}
}

// Reach inverts Need, and the exponent of the weights is what need asked for.
func TestNeed(t *testing.T) {
	for _, ch := range []Change{Replaced, Added, Either} {
		for _, q := range []float64{0.5, 0.75} {
			rho := Need(20, q, 1000, ch)
			require.InEpsilon(t, 20, Reach(rho, q, 1000, ch), 1e-12)
			w := NewWeights(rho, q, ch, 1000)
			far := w.Score(w.Target(1000), 1000, 1000)
			if q < 0.6 {
				require.InEpsilon(t, 20, math.Log(float64(topWeight))-math.Log(float64(w.At(far))), 0.01)
			}
		}
	}
	require.InEpsilon(t, 2048*17.7*17.7/(2*4000*4000*0.25), 2048*Need(17.7, 0.5, 4000, Replaced), 1e-12, "ρ_c = dL²/(2n²min(q,1−q)²)")
}
