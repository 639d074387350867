package alp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	// Section 2.9: at α = 3 and collisions of 0.1, with probability 0.9 the error is below 75.33.
	require.InDelta(t, 75.33, ErrorQuantile(3, 0.1, 0.1), 0.01)
	// With the printed denominator of Lemma 2.18, ln(1/(4p − p²)), p = 1.3/5, it would be negative or far larger.
	p := 1.3 / 5
	require.Greater(t, math.Abs((1+2*math.Log(2/(0.1*math.SqrtPi*(1-2*p)))/-math.Log(4*p-p*p))*3-75.33), 10.0)
	// A quantile is where the tail has that probability, an α off.
	for _, beta := range []float64{0.5, 0.1, 1e-6} {
		require.InEpsilon(t, beta, TailBound(3, 0.1, ErrorQuantile(3, 0.1, beta)), 1e-9)
	}
	// Lemmas 2.7 and 2.10 without collisions: γ = α.
	require.InDelta(t, (0.5+2*(4*3+4)/9.0)*3, ErrorBound(3, 0), 1e-12)
	// Lemma 2.31 is Lemma 2.32 without collisions.
	require.InDelta(t, 8*math.E/math.Pow(math.E-1, 2), HistogramErrorBound(1, 0), 1e-12)
	// Section 2.6: without collisions the multiplicative bound is least near α = 20.26, about 4.83; at α = 3.07, 1/ln B is about 26.89/ε.
	_, bound := MultiplicativeBound(1, 20.26, 0)
	require.InDelta(t, 4.83, bound, 0.01)
	base, _ := MultiplicativeBound(1, 3.07, 0)
	require.InDelta(t, 26.89, 1/math.Log(base), 0.05)
	for _, x := range []float64{ErrorBound(3, 0.5), ErrorBound(-1, 0), ErrorBound(math.NaN(), 0), TailBound(3, 0.1, math.NaN()), ErrorQuantile(3, 0.1, 1), ErrorQuantile(3, 0.6, 0.1),
		HistogramErrorBound(0, 0), HistogramErrorBound(1, 0.7)} {
		require.True(t, math.IsNaN(x))
	}
	require.Equal(t, 1.0, TailBound(3, 0.1, 1))
}

// For narrow columns p is next to ½, and 4p − 4p² next to 1: the quantile is that of Lemma 2.14 still, about (4/α)·ln(4/(β√π·α))·2, and never negative.
func TestErrorQuantileOfNarrowColumns(t *testing.T) {
	for _, alpha := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		want := 8 / alpha * math.Log(4/(0.1*math.SqrtPi*alpha))
		require.InEpsilon(t, want, ErrorQuantile(alpha, 0, 0.1), 4*alpha+1e-3)
	}
	for _, alpha := range []float64{5e-324, 1e-300, 1e-17, 1e-15, 1e9, 1e300} {
		require.False(t, ErrorQuantile(alpha, 0, 0.1) < 0, alpha)
	}
}
