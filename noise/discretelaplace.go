package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// DiscreteLaplace is the two-sided geometric distribution on the integers, Pr[X = k] =
// tanh(1/(2b))·e^{−|k|/b}, b the scale. Noise of scale Δ₁/ε makes an integer release of ℓ₁
// sensitivity Δ₁ ε-differentially private (Ghosh, Roughgarden, Sundararajan, STOC 2009).
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero
// DiscreteLaplace, which [NewDiscreteLaplace] returns only with an error.
type DiscreteLaplace struct{ scale, shift float64 }

// NewDiscreteLaplace returns the discrete Laplace distribution of the given scale, in units of the
// integer grid. The error wraps [ErrParams] unless scale is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewDiscreteLaplace(scale float64) (DiscreteLaplace, error) {
	if err := checkDiscrete("scale", scale); err != nil {
		return DiscreteLaplace{}, err
	}
	return discreteLaplace(scale), nil
}

// discreteLaplace is the only way to make one: shift is ln(2/(1+q)) to within 2⁻⁴⁹, q = e^{−1/b},
// of which SampleInt makes use.
func discreteLaplace(scale float64) DiscreteLaplace {
	return DiscreteLaplace{scale, -math.Log1p(math.Expm1(-1/scale) / 2)}
}

// Scale returns b.
func (d DiscreteLaplace) Scale() float64 { return d.scale }

// valid reports whether d comes from [NewDiscreteLaplace].
func (d DiscreteLaplace) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d DiscreteLaplace) decay() float64 { return expNeg(divide(1, d.scale)) }

// atLeast returns Pr[X ≥ k] = e^{−k/b}/(1+q) for an integer k ≥ 1.
func (d DiscreteLaplace) atLeast(k float64) float64 {
	return expNeg(divide(k, d.scale)) / (1 + d.decay())
}

// above returns Pr[X > j] = e^{−j/b}·q/(1+q) for an integer j ≥ 0.
func (d DiscreteLaplace) above(j float64) float64 {
	q := d.decay()
	return expNeg(divide(j, d.scale)) * (q / (1 + q))
}

// CDF returns Pr[X ≤ x], in the lower tail to a relative error of 1e-15.
func (d DiscreteLaplace) CDF(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return d.atLeast(-j)
	}
	return 1 - d.above(j)
}

// Survival returns Pr[X > x], in the upper tail to a relative error of 1e-15.
func (d DiscreteLaplace) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return 1 - d.atLeast(-j)
	}
	return d.above(j)
}

// LogSurvival returns ln Pr[X > x] to a relative error of 1e-15, also where
// [DiscreteLaplace.Survival] underflows or rounds to 1.
func (d DiscreteLaplace) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	j := math.Floor(x)
	if j < 0 {
		return math.Log1p(-d.atLeast(-j))
	}
	return -(j+1)/d.scale - math.Log1p(d.decay())
}

// Quantile returns the least integer k with CDF(k) ≥ p: −Inf at 0, +Inf at 1, NaN outside [0, 1].
// Beyond 2⁵³ it is a float64 next to that integer.
func (d DiscreteLaplace) Quantile(p float64) float64 {
	if !d.valid() || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	// With n = −k, Pr[X ≤ k] = e^{−n/b}/(1+q) for n ≥ 1: a guess that is off by rounding only.
	tail := d.scale * (round.Log(min(p, 1-p)) + math.Log1p(d.decay()))
	if p <= 0.5 {
		return settleQuantile(math.Ceil(min(tail, 0)), p, d.CDF, d.Survival)
	}
	return settleQuantile(math.Ceil(max(-tail-1, 0)), p, d.CDF, d.Survival)
}

// settleQuantile returns the least integer k with Pr[X ≤ k] ≥ p, starting from a guess a few
// integers away. For p > ½ it compares Pr[X > k] with 1 − p, which is exact. It leaves a guess
// alone where float64 has no fractions any more.
func settleQuantile(guess, p float64, cdf, survival func(float64) float64) float64 {
	if math.Abs(guess) >= 1<<52 {
		return guess
	}
	reached := func(k float64) bool {
		if p > 0.5 {
			return survival(k) <= 1-p
		}
		return cdf(k) >= p
	}
	const steps = 64
	k := guess
	for i := 0; i < steps && !reached(k); i++ {
		k++
	}
	for i := 0; i < steps && reached(k-1); i++ {
		k--
	}
	return k + 0 // not −0
}

// Mean returns 0.
func (d DiscreteLaplace) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// Variance returns 2q/(1−q)² = 1/(2·sinh²(1/(2b))), a little below 2b².
func (d DiscreteLaplace) Variance() float64 {
	if !d.valid() {
		return math.NaN()
	}
	h := 1 / math.Sinh(0.5/d.scale)
	return h * h / 2
}

// MeanAbs returns E|X| = 2q/(1−q²) = 1/sinh(1/b), a little below b.
func (d DiscreteLaplace) MeanAbs() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 1 / math.Sinh(1/d.scale)
}

// Prob returns Pr[X = x], 0 unless x is an integer.
func (d DiscreteLaplace) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x != math.Floor(x) {
		return 0
	}
	return expNeg(divide(math.Abs(x), d.scale)) * math.Tanh(0.5/d.scale)
}

// LogProb returns ln Pr[X = x], −Inf unless x is an integer.
func (d DiscreteLaplace) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x != math.Floor(x) {
		return math.Inf(-1)
	}
	return -math.Abs(x)/d.scale + math.Log(math.Tanh(0.5/d.scale))
}
