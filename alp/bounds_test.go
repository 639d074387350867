package alp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The thesis's bounds on the error of the paper's unary code with its estimator
// ([Projection.Argmax]), in units of Δ/ε: α is the width of a column, collision is k/s, the
// probability that another entry lies in the same cell of a column.

// flipRate returns p = 1/(γ + 2), the probability of Lemma 2.10 that a bit above the entry shows a
// one, γ = (α+2)/(1+α·k/s) − 2. NaN unless γ > 0.
func flipRate(alpha, collision float64) float64 {
	gamma := (alpha+2)/(1+alpha*collision) - 2
	if !(alpha > 0 && collision >= 0 && gamma > 0) {
		return math.NaN()
	}
	return 1 / (gamma + 2)
}

// errorBound returns the bound of Lemmas 2.7 and 2.10 on the expected error, (½ + (4α+4)/α² +
// (4γ+4)/γ²)·α. The paper observes about half of it. NaN where it does not hold: it needs collision
// < ½.
func errorBound(alpha, collision float64) float64 {
	p := flipRate(alpha, collision)
	gamma := 1/p - 2
	return (0.5 + (4*alpha+4)/(alpha*alpha) + (4*gamma+4)/(gamma*gamma)) * alpha
}

// tailBound returns the bound of Lemmas 2.14 and 2.18 on the probability that the error is at least
// tau ≥ α: 2·(4(p−p²))^{τ/(2α)−½}/(√π·(1−2p)). 1 where that is more or tau < α, NaN as for
// errorBound.
func tailBound(alpha, collision, tau float64) float64 {
	p := flipRate(alpha, collision)
	if math.IsNaN(p) || math.IsNaN(tau) {
		return math.NaN()
	}
	if tau < alpha {
		return 1
	}
	return min(2*math.Pow(4*p*(1-p), tau/(2*alpha)-0.5)/(math.SqrtPi*(1-2*p)), 1)
}

// errorQuantile returns the bound of the same lemmas on the error that is exceeded with probability
// at most beta: (1 + 2·ln(2/(β√π(1−2p)))/ln(1/(4p−4p²)))·α. Lemma 2.18 is printed with 4p − p² in
// the denominator, which contradicts Lemma 2.13, of which it is a consequence, and its own tail.
// NaN as for errorBound, and unless beta is in (0, 1).
func errorQuantile(alpha, collision, beta float64) float64 {
	p := flipRate(alpha, collision)
	if !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	return (1 + 2*math.Log(2/(beta*math.SqrtPi*(1-2*p)))/-math.Log(4*p*(1-p))) * alpha
}

// histogramErrorBound returns the bound of Lemma 2.32 on the expected error of Algorithm 10, unary
// codes of one step, in steps: for integers of which one key changes by 1. Lemma 2.31 is the case
// collision = 0. NaN where it does not hold.
func histogramErrorBound(epsilon, collision float64) float64 {
	e := math.Expm1(epsilon)
	gamma := (e+2)/(1+e*collision) - 2
	if !(epsilon > 0 && collision >= 0 && gamma > 0) {
		return math.NaN()
	}
	return 4*(e+1)/(e*e) + (4*gamma+4)/(gamma*gamma)
}

// multiplicativeBound returns the base B of Lemma 2.29 for logarithmic columns of width α, and its
// bound on E[max(x̃/x, x/x̃)]: B = (4(p−p²))^{−ε/(4α)} and (2−4p)/((4p−4p²)^{1/4} −
// (4p−4p²)^{3/4}). NaN as for errorBound.
func multiplicativeBound(epsilon, alpha, collision float64) (base, bound float64) {
	p := flipRate(alpha, collision)
	q := 4 * p * (1 - p)
	return math.Pow(q, -epsilon/(4*alpha)), (2 - 4*p) / (math.Pow(q, 0.25) - math.Pow(q, 0.75))
}

func TestBounds(t *testing.T) {
	// Section 2.9: at α = 3 and collisions of 0.1, with probability 0.9 the error is below
	// 75.33.
	require.InDelta(t, 75.33, errorQuantile(3, 0.1, 0.1), 0.01)
	// With the printed denominator of Lemma 2.18, ln(1/(4p − p²)), p = 1.3/5, it would be
	// negative or far larger.
	p := 1.3 / 5
	require.Greater(t, math.Abs((1+2*math.Log(2/(0.1*math.SqrtPi*(1-2*p)))/-math.Log(4*p-p*p))*3-75.33), 10.0)
	// A quantile is where the tail has that probability, an α off.
	for _, beta := range []float64{0.5, 0.1, 1e-6} {
		require.InEpsilon(t, beta, tailBound(3, 0.1, errorQuantile(3, 0.1, beta)), 1e-9)
	}
	// Lemmas 2.7 and 2.10 without collisions: γ = α.
	require.InDelta(t, (0.5+2*(4*3+4)/9.0)*3, errorBound(3, 0), 1e-12)
	// Lemma 2.31 is Lemma 2.32 without collisions.
	require.InDelta(t, 8*math.E/math.Pow(math.E-1, 2), histogramErrorBound(1, 0), 1e-12)
	// Section 2.6: without collisions the multiplicative bound is least near α = 20.26, about
	// 4.83; at α = 3.07, 1/ln B is about 26.89/ε.
	_, bound := multiplicativeBound(1, 20.26, 0)
	require.InDelta(t, 4.83, bound, 0.01)
	base, _ := multiplicativeBound(1, 3.07, 0)
	require.InDelta(t, 26.89, 1/math.Log(base), 0.05)
	for _, x := range []float64{errorBound(3, 0.5), errorBound(-1, 0), errorBound(math.NaN(), 0), tailBound(3, 0.1, math.NaN()), errorQuantile(3, 0.1, 1), errorQuantile(3, 0.6, 0.1),
		histogramErrorBound(0, 0), histogramErrorBound(1, 0.7)} {
		require.True(t, math.IsNaN(x))
	}
	require.Equal(t, 1.0, tailBound(3, 0.1, 1))
}
