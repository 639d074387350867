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
// Mean is 0, the median, for every shape. E|X| = s/(α−2), +Inf for α ≤ 2, and the variance is
// 2s²/((α−2)(α−3)), +Inf for α ≤ 3. Survival for x ≥ 0 is ½(1 + x/s)^{1−α}; it and CDF have a
// relative error of 2e-13 in the tails, at 1e-300 too, and LogSurvival one of 2e-15 for x ≥ 0.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Pareto,
// which [NewPareto] returns only with an error.
type Pareto struct{ symmetric[paretoFormulas] }

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
	return Pareto{symmetric[paretoFormulas]{paretoFormulas{shape, scale}}}, nil
}

func checkParetoShape(shape float64) error {
	if !(shape > 1 && shape <= mostShape) {
		return fault.Params("noise", "shape", shape, "a number in (1, 2²⁰]")
	}
	return nil
}

// Shape returns α.
func (d Pareto) Shape() float64 { return d.law.shape }

// Scale returns s.
func (d Pareto) Scale() float64 { return d.law.scale }

// paretoFormulas are those of a Pareto.
type paretoFormulas struct{ shape, scale float64 }

func (d paretoFormulas) valid() bool { return d.scale > 0 }

// log1pRatio returns ln(1 + |x|/s), to a relative error of 1e-15, also where |x|/s overflows.
func log1pRatio(x, s float64) float64 {
	z := math.Abs(x) / s
	if math.IsInf(z, 1) && !math.IsInf(x, 0) {
		return math.Log(math.Abs(x)) - math.Log(s)
	}
	return math.Log1p(z)
}

func (d paretoFormulas) upper(x float64) float64 {
	return math.Exp((1-d.shape)*log1pRatio(x, d.scale)) / 2
}

func (d paretoFormulas) logUpper(x float64) float64 {
	return (1-d.shape)*log1pRatio(x, d.scale) - math.Ln2
}

func (d paretoFormulas) upperQuantile(p float64) float64 {
	log := -round.Log(2*p) / (d.shape - 1)
	if log > 700 { // the scale may bring it back into range
		return math.Exp(log + math.Log(d.scale))
	}
	return math.Expm1(log) * d.scale
}

func (d paretoFormulas) meanAbs() float64 {
	if d.shape <= 2 {
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2)
}

func (d paretoFormulas) variance() float64 {
	if d.shape <= 3 {
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2) * d.scale / (d.shape - 3) * 2
}

func (d paretoFormulas) density(x float64) float64 {
	return math.Exp(-d.shape*log1pRatio(x, d.scale)) * (d.shape - 1) / 2 / d.scale
}

func (d paretoFormulas) logDensity(x float64) float64 {
	return -d.shape*log1pRatio(x, d.scale) + (math.Log((d.shape-1)/2) - math.Log(d.scale))
}
