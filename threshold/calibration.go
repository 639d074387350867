package threshold

import (
	"errors"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// calibration is a mechanism with all its numbers, in steps of the grid unless stated otherwise.
type calibration struct {
	method    Method
	step      float64 // the grid, in the units of the data: a power of two
	scale     float64 // of the discrete Laplace noise, or σ of the normal noise
	shared    float64 // standard deviation of the noise that CorrelatedGaussian shares; else 0
	from      int64   // R: values below are rounded to 0 or R; 1 for mechanisms without rounding
	threshold int64   // T: the least (absolute) noisy value released; 0 for DenseLaplace
	beside    float64 // as scale, of the noise of the number beside the keys; 0 where there is none
}

// maxScale is the largest scale of the noise, in steps.
const maxScale = 0x1p48

// choose returns the calibration of the mechanism asked for, or of the one with the least
// threshold.
func (p Params) choose() (calibration, error) {
	if err := p.validate(); err != nil {
		return calibration{}, err
	}
	return choices.Get(p, p.chooseAnew)
}

// What was chosen, and what was calibrated by name. It takes up to 0.1 s.
var (
	choices memo.Table[Params, calibration]
	normals memo.Table[Params, calibration]
)

func (p Params) chooseAnew() (calibration, error) {
	m := p.Method
	if m == Auto && p.Delta == 0 {
		m = PureLaplace
		if p.Listed {
			m = DenseLaplace
		}
	}
	if m != Auto {
		c, reason := p.calibrate(m)
		if reason != "" {
			return calibration{}, fault.Params("threshold", "Method", m, "a method that is possible here; "+reason)
		}
		return c, nil
	}
	var best calibration
	take := func(m Method) {
		c, reason := p.calibrate(m)
		if reason == "" && (best.method == Auto || c.lowest() < best.lowest() || c.lowest() == best.lowest() && c.method < best.method) {
			best = c
		}
	}
	for m := ExponentialRounding; !m.pure(); m++ {
		if p.chooses(m) && !m.normal() {
			take(m)
		}
	}
	// These take long. The one that may have less goes first, and may spare the other.
	normal := []Method{Gaussian, CorrelatedGaussian}
	least := []float64{p.leastGaussian(), p.leastCorrelated()}
	if least[1] < least[0] {
		slices.Reverse(normal)
		slices.Reverse(least)
	}
	for i, m := range normal {
		if p.chooses(m) && (best.method == Auto || least[i] <= best.lowest()) {
			take(m)
		}
	}
	if best.method == Auto {
		return best, fault.Params("threshold", "Epsilon", p.Epsilon, "a number with noise in the range of float64 at this Delta and Sensitivity")
	}
	return best, nil
}

// calibrate returns the numbers of one mechanism, or the reason why it is not possible. The Params
// are valid.
func (p Params) calibrate(m Method) (c calibration, reason string) {
	if reason := p.lacks(m); reason != "" {
		return c, reason
	}
	switch m {
	case Gaussian, CorrelatedGaussian:
		p.Method = m
		c, err := normals.Get(p, func() (calibration, error) {
			if c, reason = p.calibrateNormal(m); reason != "" {
				return c, errors.New(reason)
			}
			return c, nil
		})
		if err != nil {
			return c, err.Error()
		}
		return c, ""
	}
	return p.calibrateLaplace(m)
}

// lacks returns what a mechanism needs and the Params do not give, "" if they do.
func (p Params) lacks(m Method) string {
	switch {
	case p.Listed && m != DenseLaplace:
		return "it is for keys that nobody lists"
	case m.pure() && p.Dim == 0:
		return "it needs Dim"
	case m == DenseLaplace && p.Dim > maxDense:
		return "it needs Dim of at most 2²⁶"
	case !m.pure() && p.Delta == 0:
		return "it needs Delta above 0"
	case m.pure() && p.Beside:
		return "it has no number beside the keys"
	case m == Laplace && p.MaxKeys == 0 && !p.Integers:
		return "it needs MaxKeys, or Integers"
	case (m == Gaussian || m == CorrelatedGaussian) && p.MaxKeys == 0:
		return "it needs MaxKeys"
	case m == CorrelatedGaussian && !p.adds():
		return "it needs users that only add: AddRemove, and not Signed"
	case m == CorrelatedGaussian && p.stored() == 0:
		return "it needs Stored"
	}
	return ""
}

// chooses reports whether Auto may choose the mechanism where δ > 0: not one that releases keys
// without a value, nor LinearRounding where its guarantee has a condition that the unit does not
// state.
func (p Params) chooses(m Method) bool {
	return !m.pure() && (m != LinearRounding || p.MaxKeys > 0 || p.Integers)
}

// kernel returns the rounding, noise and threshold of a Laplace mechanism, and use sets them.
func (c calibration) kernel() rounding.Kernel {
	return rounding.Kernel{Scale: c.scale, From: c.from, Threshold: c.threshold}
}

func (c *calibration) use(k rounding.Kernel) {
	c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold
}

// gridFor returns the step of the grid: the greatest power of two that is 2¹⁶ times finer than the
// noise and than the most by which a value changes, but not more than 2⁴⁵ times finer than the
// noise.
func gridFor(change, noise float64) float64 {
	_, exp := math.Frexp(min(change, noise))
	_, noiseExp := math.Frexp(noise)
	return math.Ldexp(1, max(exp-17, noiseExp-46))
}

// lowest returns the threshold in the units of the data.
func (c calibration) lowest() float64 {
	if c.method == DenseLaplace {
		return math.Inf(-1)
	}
	return float64(c.threshold) * c.step
}

// normal reports whether the noise is normal, else it is discrete Laplace.
func (c calibration) normal() bool {
	return c.method == Gaussian || c.method == CorrelatedGaussian
}

// laplace returns the law of Laplace noise, in steps.
func (c calibration) laplace() noise.DiscreteLaplace {
	d, err := noise.NewDiscreteLaplace(c.scale)
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	return d
}

// marginal returns the law of the normal noise of one value before it is rounded, in steps.
func (c calibration) marginal() noise.Gaussian {
	d, err := noise.NewGaussian(math.Hypot(c.scale, c.shared))
	if err != nil {
		panic("threshold: no noise for a valid calibration") // unreachable
	}
	return d
}

// stdDev returns the standard deviation of the noise in the units of the data.
func (c calibration) stdDev() float64 {
	if c.normal() {
		return math.Sqrt(c.marginal().Variance()) * c.step
	}
	return math.Sqrt(c.laplace().Variance()) * c.step
}

// besideLaplace returns the law of Laplace noise of the number beside the keys, in steps.
func (c calibration) besideLaplace() noise.DiscreteLaplace {
	c.scale = c.beside
	return c.laplace()
}

// stdDevOf returns the standard deviation of value·X + beside·Y, X being the noise of a released
// value and Y that of the number beside. It neglects that they are rounded to the grid.
func (c calibration) stdDevOf(value, beside float64) float64 {
	if c.normal() { // X = Z + N and Y = −Z − M
		return math.Hypot((value-beside)*c.shared, math.Hypot(value*c.scale, beside*c.beside)) * c.step
	}
	square := value * value * c.laplace().Variance()
	if beside != 0 {
		square += beside * beside * c.besideLaplace().Variance()
	}
	return math.Sqrt(square) * c.step
}

// besideShare is what the number beside gets of the probability by which a bound may fail.
const besideShare = 1. / 16

// reachOf returns what value·X + beside·Y exceeds in absolute value with probability at most tail.
func (c calibration) reachOf(value, beside, tail float64) float64 {
	switch {
	case tail >= 1:
		return 0
	case beside == 0:
		return math.Abs(value) * float64(c.reach(tail)) * c.step
	case c.normal():
		unit, _ := noise.NewGaussian(1)
		rounded := (math.Abs(value) + math.Abs(beside)) / 2 * c.step // each to the grid
		return -unit.Quantile(tail/2)*(1+0x1p-40)*c.stdDevOf(value, beside) + rounded
	}
	number := c
	number.scale = c.beside
	if value == 0 {
		return math.Abs(beside) * float64(number.reach(tail)) * c.step
	}
	return (math.Abs(value)*float64(c.reach((1-besideShare)*tail)) + math.Abs(beside)*float64(number.reach(besideShare*tail))) * c.step
}

// errorBound returns what an estimate is off by at most, for all keys at once.
func (c calibration) errorBound(stored int, dim uint64, confidence float64) float64 {
	noisy := float64(max(stored, 1))
	if c.method.pure() {
		noisy = max(noisy, float64(dim))
	}
	return float64(c.threshold+c.reach((1-confidence)/noisy)) * c.step
}

// reach returns a number of steps that the noise of one value exceeds in absolute value with
// probability at most tail.
func (c calibration) reach(tail float64) int64 {
	switch {
	case tail >= 1:
		return 0
	case c.normal(): // rounded to the grid: more than t is t + ½ or more before
		return int64(max(0, math.Ceil(-c.marginal().Quantile(tail/2)*(1+0x1p-40)-0.5)))
	}
	return int64(-c.laplace().Quantile(tail / 2))
}
