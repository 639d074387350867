package dptest

import (
	"math"
	"slices"
	"testing"
)

// KSPValue is the Kolmogorov–Smirnov test of samples against a continuous distribution function.
// The asymptotic law is taken at (√n + 0.12 + 0.11/√n)·D (Stephens 1970), which is good to a few
// percent of the p-value from n = 100 on in the far tail and from n = 5 in the bulk. Samples
// rounded to a grid much finer than 1/√n in probability are as good as continuous; on a coarse grid
// use [ChiSquarePValue].
//
// NaN is returned for fewer than five samples, a NaN sample, and a cdf that decreases or leaves [0,
// 1].
func KSPValue(samples []float64, cdf func(float64) float64) float64 {
	if len(samples) < 5 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	n, last, distance := float64(len(sorted)), 0.0, 0.0
	for i, x := range sorted {
		f := cdf(x)
		if !(f >= last && f <= 1) || math.IsNaN(x) {
			return math.NaN()
		}
		distance = max(distance, f-float64(i)/n, float64(i+1)/n-f)
		last = f
	}
	root := math.Sqrt(n)
	return kolmogorovSurvival((root + 0.12 + 0.11/root) * distance)
}

// KS fails the test if the samples do not follow the distribution function; see [KSPValue].
func KS(t testing.TB, name string, samples []float64, cdf func(float64) float64, falseReject float64) {
	t.Helper()
	reject(t, name+": Kolmogorov–Smirnov", KSPValue(samples, cdf), falseReject)
}

// kolmogorovSurvival returns Pr[K > x] of the Kolmogorov distribution, by the series that converges
// fast at x: 2·Σ (−1)ʲ⁻¹·exp(−2j²x²), or by Jacobi's identity 1 − √(2π)/x·Σ exp(−(2j−1)²π²/(8x²)).
func kolmogorovSurvival(x float64) float64 {
	if x <= 0 {
		return 1
	}
	var sum float64
	if x < 1 {
		for j := 1.0; j <= 9; j += 2 {
			sum += math.Exp(-j * j * math.Pi * math.Pi / (8 * x * x))
		}
		return min(max(1-math.Sqrt(2*math.Pi)/x*sum, 0), 1)
	}
	for j, sign := 1.0, 2.0; j <= 5; j, sign = j+1, -sign {
		sum += sign * math.Exp(-2*j*j*x*x)
	}
	return min(max(sum, 0), 1)
}
