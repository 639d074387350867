package noise

import "math"

// Geometric is the distribution on the integers k ≥ 0 with Pr[X ≥ k] = e^{−k/b}, b the scale: Pr[X
// = k] = (1−q)·q^k with q = e^{−1/b}. It is the exponential distribution of mean b rounded down,
// and memoryless: X − k given X ≥ k has the same law.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Geometric,
// which [NewGeometric] returns only with an error.
type Geometric struct{ scale float64 }

// NewGeometric returns the geometric distribution of the given scale. The error wraps [ErrParams]
// unless scale is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewGeometric(scale float64) (Geometric, error) {
	if err := checkDiscrete("scale", scale); err != nil {
		return Geometric{}, err
	}
	return Geometric{scale}, nil
}

// Scale returns b.
func (d Geometric) Scale() float64 { return d.scale }

// valid reports whether d comes from [NewGeometric].
func (d Geometric) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d Geometric) decay() float64 { return expNeg(divide(1, d.scale)) }

// zero returns Pr[X = 0] = 1 − q.
func (d Geometric) zero() float64 { return -math.Expm1(-1 / d.scale) }

// CDF returns Pr[X ≤ x] to a relative error of 1e-15.
func (d Geometric) CDF(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 {
		return 0
	}
	return -math.Expm1(-(math.Floor(x) + 1) / d.scale)
}

// Survival returns Pr[X > x] to a relative error of 1e-15.
func (d Geometric) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 {
		return 1
	}
	return expNeg(divide(math.Floor(x), d.scale)) * d.decay() // ⌊x⌋ + 1 may not be a float64
}

// LogSurvival returns ln Pr[X > x] to a relative error of 1e-15, also where [Geometric.Survival]
// underflows.
func (d Geometric) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 {
		return 0
	}
	return -(math.Floor(x) + 1) / d.scale
}

// Quantile returns the least integer k ≥ 0 with CDF(k) ≥ p: 0 at 0, +Inf at 1, NaN outside [0, 1].
// Beyond 2⁵³ it is a float64 next to that integer.
func (d Geometric) Quantile(p float64) float64 {
	if !d.valid() || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	if p == 0 {
		return 0
	}
	// e^{−(k+1)/b} ≤ 1 − p: a guess that is off by rounding only.
	guess := math.Ceil(-d.scale*math.Log1p(-p)) - 1
	return settleQuantile(max(guess, 0), p, d.CDF, d.Survival)
}

// Mean returns q/(1−q), a little above b − ½.
func (d Geometric) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return d.decay() / d.zero()
}

// Variance returns q/(1−q)² = 1/(4·sinh²(1/(2b))), a little below b².
func (d Geometric) Variance() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return d.decay() / d.zero() / d.zero()
}

// MeanAbs returns E|X|, which is the mean.
func (d Geometric) MeanAbs() float64 { return d.Mean() }

// Prob returns Pr[X = x], 0 unless x is an integer ≥ 0.
func (d Geometric) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 || x != math.Floor(x) {
		return 0
	}
	return expNeg(divide(x, d.scale)) * d.zero()
}

// LogProb returns ln Pr[X = x], −Inf unless x is an integer ≥ 0.
func (d Geometric) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 || x != math.Floor(x) {
		return math.Inf(-1)
	}
	return -x/d.scale + math.Log(d.zero())
}
