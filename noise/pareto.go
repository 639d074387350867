package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/round"
)

// Pareto is the zero-symmetric Pareto distribution of shape α > 1 and scale s (Tětek, Definition
// 11), with density
//
//	(α−1)/(2s)·(1 + |x|/s)^{−α}.
//
// Its moments below α−1 exist. Added to an estimator whose error has a bounded α-th moment it gives
// pure ε-differential privacy, at the scale that package noise/approx computes.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Pareto,
// which [NewPareto] returns only with an error.
type Pareto struct{ shape, scale float64 }

// mostShape is the largest shape of [Pareto].
const mostShape = 0x1p20

// NewPareto returns the zero-symmetric Pareto distribution of the given shape α, without unit, and
// scale s, in the units of the data. The error wraps [ErrParams] unless shape is in (1, 2²⁰] and
// scale in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewPareto(shape, scale float64) (Pareto, error) {
	if err := checkParetoShape(shape); err != nil {
		return Pareto{}, err
	}
	if err := checkParam("scale", scale); err != nil {
		return Pareto{}, err
	}
	return Pareto{shape, scale}, nil
}

func checkParetoShape(shape float64) error {
	if !(shape > 1 && shape <= mostShape) {
		return fault.Params("noise", "shape", shape, "a number in (1, 2²⁰]")
	}
	return nil
}

// Shape returns α.
func (d Pareto) Shape() float64 { return d.shape }

// Scale returns s.
func (d Pareto) Scale() float64 { return d.scale }

// valid reports whether d comes from [NewPareto].
func (d Pareto) valid() bool { return d.scale > 0 }

// log1pRatio returns ln(1 + |x|/s), to a relative error of 1e-15, also where |x|/s overflows.
func log1pRatio(x, s float64) float64 {
	z := math.Abs(x) / s
	if math.IsInf(z, 1) && !math.IsInf(x, 0) {
		return math.Log(math.Abs(x)) - math.Log(s)
	}
	return math.Log1p(z)
}

// CDF returns Pr[X ≤ x], in the lower tail to a relative error of 2e-13.
func (d Pareto) CDF(x float64) float64 { return d.Survival(-x) }

// Survival returns Pr[X > x], in the upper tail ½(1 + x/s)^{1−α}, to a relative error of 2e-13, at
// 1e-300 too.
func (d Pareto) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	half := math.Exp((1-d.shape)*log1pRatio(x, d.scale)) / 2
	if x < 0 {
		return 1 - half
	}
	return half
}

// LogSurvival returns ln Pr[X > x] to a relative error of 2e-13, for x ≥ 0 of 2e-15, also where
// [Pareto.Survival] underflows or rounds to 1.
func (d Pareto) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	log := (1 - d.shape) * log1pRatio(x, d.scale)
	if x < 0 {
		return math.Log1p(-math.Exp(log) / 2)
	}
	return log - math.Ln2
}

// Quantile returns the x with CDF(x) = p: −Inf at 0, +Inf at 1 and where it overflows, NaN outside
// [0, 1].
func (d Pareto) Quantile(p float64) float64 {
	switch {
	case !d.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case p > 0.5:
		return d.upperQuantile(1 - p) // 1 − p is exact
	}
	return 0 - d.upperQuantile(p)
}

// upperQuantile returns the x ≥ 0 with Pr[X > x] = p, for p in [0, ½].
func (d Pareto) upperQuantile(p float64) float64 {
	log := -round.Log(2*p) / (d.shape - 1)
	if log > 700 { // the scale may bring it back into range
		return math.Exp(log + math.Log(d.scale))
	}
	return math.Expm1(log) * d.scale
}

// Mean returns 0, the median, for every shape, though the integral diverges for α ≤ 2.
func (d Pareto) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// MeanAbs returns E|X| = s/(α−2), +Inf for α ≤ 2.
func (d Pareto) MeanAbs() float64 {
	switch {
	case !d.valid():
		return math.NaN()
	case d.shape <= 2:
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2)
}

// Variance returns 2s²/((α−2)(α−3)), +Inf for α ≤ 3.
func (d Pareto) Variance() float64 {
	switch {
	case !d.valid():
		return math.NaN()
	case d.shape <= 3:
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2) * d.scale / (d.shape - 3) * 2
}

// Prob returns the density at x.
func (d Pareto) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return math.Exp(-d.shape*log1pRatio(x, d.scale)) * (d.shape - 1) / 2 / d.scale
}

// LogProb returns the logarithm of the density at x.
func (d Pareto) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return -d.shape*log1pRatio(x, d.scale) + (math.Log((d.shape-1)/2) - math.Log(d.scale))
}
