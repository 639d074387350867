package dptest

import (
	"math"
	"testing"
)

// MomentsPValues tests the mean and the variance of samples by their normal limits. mean, variance
// and fourth = E[(X−mean)⁴] are those of the claimed law. With n samples the sample mean has
// standard error √(variance/n), and the mean of (X−mean)² has √((fourth−variance²)/n).
//
// The normal limit holds at 1e-6 if n is large against the eighth moment: n ≥ 1e5 is enough for
// normal and Laplace laws, in which the p-value of the variance is then right within a factor of
// two. Both are NaN for no samples, a sample that is not finite, and moments that no law has
// (variance ≤ 0, fourth ≤ variance²).
func MomentsPValues(samples []float64, mean, variance, fourth float64) (forMean, forVariance float64) {
	if len(samples) == 0 || !(variance > 0) || !(fourth > variance*variance) {
		return math.NaN(), math.NaN()
	}
	var first, second sum
	for _, x := range samples {
		d := x - mean
		first.add(d)
		second.add(d*d - variance)
	}
	n := float64(len(samples))
	return normalPValue(first.value() / math.Sqrt(n*variance)),
		normalPValue(second.value() / math.Sqrt(n*(fourth-variance*variance)))
}

// Moments fails the test if the mean or the variance of the samples is off; see [MomentsPValues].
// falseReject is for both together.
func Moments(t testing.TB, name string, samples []float64, mean, variance, fourth, falseReject float64) {
	t.Helper()
	forMean, forVariance := MomentsPValues(samples, mean, variance, fourth)
	reject(t, name+": mean", forMean, falseReject/2)
	reject(t, name+": variance", forVariance, falseReject/2)
}

// normalPValue returns the probability that |Z| ≥ |z| for a standard normal Z; NaN for an infinite
// z, which only infinite samples give.
func normalPValue(z float64) float64 {
	if math.IsInf(z, 0) {
		return math.NaN()
	}
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}

// sum adds floats with Neumaier's compensation: the error is about one rounding of the result plus
// n·2⁻¹⁰⁶ of the sum of magnitudes.
type sum struct{ s, c float64 }

func (a *sum) add(x float64) {
	t := a.s + x
	if math.Abs(a.s) >= math.Abs(x) {
		a.c += (a.s - t) + x
	} else {
		a.c += (x - t) + a.s
	}
	a.s = t
}

func (a *sum) value() float64 { return a.s + a.c }
