package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// DiscreteLaplace is the two-sided geometric distribution on the integers, Pr[X = k] =
// tanh(1/(2b))·e^{−|k|/b}, b the scale. Noise of scale Δ₁/ε makes an integer release of ℓ₁
// sensitivity Δ₁ ε-differentially private (Ghosh, Roughgarden, Sundararajan, STOC 2009).
//
// With q = e^{−1/b} the variance is 2q/(1−q)² = 1/(2·sinh²(1/(2b))), a little below 2b², and E|X| =
// 2q/(1−q²) = 1/sinh(1/b), a little below b. In the tails CDF, Survival and LogSurvival have a
// relative error of 1e-15.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero
// DiscreteLaplace, which [NewDiscreteLaplace] returns only with an error.
type DiscreteLaplace struct{ integer[twoSidedFormulas] }

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
	return DiscreteLaplace{integer[twoSidedFormulas]{twoSidedFormulas{scale, -math.Log1p(math.Expm1(-1/scale) / 2)}}}
}

// Scale returns b.
func (d DiscreteLaplace) Scale() float64 { return d.law.scale }

// twoSidedFormulas are those of a DiscreteLaplace.
type twoSidedFormulas struct{ scale, shift float64 }

func (d twoSidedFormulas) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d twoSidedFormulas) decay() float64 { return expNeg(divide(1, d.scale)) }

// atLeast returns Pr[X ≥ k] = e^{−k/b}/(1+q) for an integer k ≥ 1.
func (d twoSidedFormulas) atLeast(k float64) float64 {
	return expNeg(divide(k, d.scale)) / (1 + d.decay())
}

// over returns Pr[X > j] = e^{−j/b}·q/(1+q) for an integer j ≥ 0.
func (d twoSidedFormulas) over(j float64) float64 {
	q := d.decay()
	return expNeg(divide(j, d.scale)) * (q / (1 + q))
}

func (d twoSidedFormulas) atMost(j float64) float64 {
	if j < 0 {
		return d.atLeast(-j)
	}
	return 1 - d.over(j)
}

func (d twoSidedFormulas) above(j float64) float64 {
	if j < 0 {
		return 1 - d.atLeast(-j)
	}
	return d.over(j)
}

func (d twoSidedFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return math.Log1p(-d.atLeast(-j))
	}
	return -(j+1)/d.scale - math.Log1p(d.decay())
}

func (d twoSidedFormulas) quantile(p float64) float64 {
	// With n = −k, Pr[X ≤ k] = e^{−n/b}/(1+q) for n ≥ 1: a guess that is off by rounding only.
	tail := d.scale * (round.Log(min(p, 1-p)) + math.Log1p(d.decay()))
	if p <= 0.5 {
		return settleQuantile(math.Ceil(min(tail, 0)), p, d)
	}
	return settleQuantile(math.Ceil(max(-tail-1, 0)), p, d)
}

// settleQuantile returns the least integer k with Pr[X ≤ k] ≥ p, starting from a guess a few
// integers away. For p > ½ it compares Pr[X > k] with 1 − p, which is exact. It leaves a guess
// alone where float64 has no fractions any more.
func settleQuantile[L integerLaw](guess, p float64, d L) float64 {
	if math.Abs(guess) >= 1<<52 {
		return guess
	}
	reached := func(k float64) bool {
		if p > 0.5 {
			return d.above(k) <= 1-p
		}
		return d.atMost(k) >= p
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

func (d twoSidedFormulas) mean() float64 { return 0 }

func (d twoSidedFormulas) variance() float64 {
	h := 1 / math.Sinh(0.5/d.scale)
	return h * h / 2
}

func (d twoSidedFormulas) meanAbs() float64 { return 1 / math.Sinh(1/d.scale) }

func (d twoSidedFormulas) mass(j float64) float64 {
	return expNeg(divide(math.Abs(j), d.scale)) * math.Tanh(0.5/d.scale)
}

func (d twoSidedFormulas) logMass(j float64) float64 {
	return -math.Abs(j)/d.scale + math.Log(math.Tanh(0.5/d.scale))
}
