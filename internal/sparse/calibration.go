package sparse

import (
	"errors"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
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
		c, err := p.calibrate(m)
		if err != nil {
			return calibration{}, check.ParamsError("threshold", "Method", m, "a method that is possible here; "+err.Error())
		}
		return c, nil
	}
	var best calibration
	take := func(m Method) {
		c, err := p.calibrate(m)
		if err == nil && (best.method == Auto || c.lowest() < best.lowest() || c.lowest() == best.lowest() && c.method < best.method) {
			best = c
		}
	}
	for m := ExponentialRounding; !m.pure(); m++ {
		if p.Chooses(m) && !m.normal() {
			take(m)
		}
	}
	// These take long. The first, where it is possible, often spares the other.
	if p.leastCorrelated() <= best.lowest() || best.method == Auto {
		take(CorrelatedGaussian)
	}
	if p.leastGaussian() <= best.lowest() || best.method == Auto {
		take(Gaussian)
	}
	if best.method == Auto {
		return best, check.ParamsError("threshold", "Epsilon", p.Epsilon, "a number with noise in the range of float64 at this Delta and Sensitivity")
	}
	return best, nil
}

// calibrate returns the numbers of one mechanism, or the reason why it is not possible. The Params
// are valid.
func (p Params) calibrate(m Method) (calibration, error) {
	if reason := p.lacks(m); reason != "" {
		return calibration{}, errors.New(reason)
	}
	if !m.normal() {
		return p.calibrateLaplace(m)
	}
	p.Method = m
	return normals.Get(p, func() (calibration, error) { return p.calibrateNormal(m) })
}

var errRange = errors.New("its noise is out of range")

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
	switch c.method {
	case Auto:
		return math.NaN()
	case DenseLaplace:
		return math.Inf(-1)
	}
	return float64(c.threshold) * c.step
}

// must returns the law of the noise of a valid calibration.
func must[L any](law L, err error) L {
	if err != nil {
		panic("sparse: no noise for a valid calibration") // unreachable
	}
	return law
}

// laplace returns the law of Laplace noise, in steps.
func (c calibration) laplace() noise.DiscreteLaplace { return must(noise.NewDiscreteLaplace(c.scale)) }

// marginal returns the law of the normal noise of one value before it is rounded, in steps.
func (c calibration) marginal() noise.Gaussian {
	return must(noise.NewGaussian(math.Hypot(c.scale, c.shared)))
}

// number returns the calibration with the Laplace noise of the number beside the keys.
func (c calibration) number() calibration {
	c.scale = c.beside
	return c
}

// reach returns a number of steps that the noise of one value exceeds in absolute value with
// probability at most tail.
func (c calibration) reach(tail float64) int64 {
	switch {
	case tail >= 1:
		return 0
	case c.method.normal(): // rounded to the grid: more than t is t + ½ or more before
		return int64(max(0, math.Ceil(-c.marginal().Quantile(tail/2)*(1+0x1p-40)-0.5)))
	}
	return int64(-c.laplace().Quantile(tail / 2))
}
