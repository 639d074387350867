package noise

import "github.com/dpsketch/dpsketch/internal/fault"

// CheckStep returns an error that wraps [ErrParams] if Sample(src, step) of the distribution would
// be NaN: where step is no power of two, or too small for the scale, or the distribution is a zero
// value. Call it where the distribution is made. For example, a sum of nanoseconds in which a user
// may change a day has noise of scale 2⁴⁶·1.2 at ε = 1. At step 1 the sum would not be exact in a
// float64; at step 2 it is.
func CheckStep(distribution interface {
	Sample(src *Source, step float64) float64
	draws(step float64) bool
}, step float64) error {
	if !distribution.draws(step) {
		return fault.Params("noise", "step", step, "a power of two that is at least 2⁻⁴⁶ of the scale, which a constructor accepted")
	}
	return nil
}

func (d Laplace) draws(step float64) bool {
	_, ok := gridScale(d.law.scale, step)
	return ok
}

func (d Gaussian) draws(step float64) bool {
	_, ok := gridScale(d.law.sigma, step)
	return ok
}

func (d Staircase) draws(step float64) bool {
	b, ok := gridScale(d.law.sensitivity, step)
	return ok && b/d.law.epsilon <= maxGridScale
}

func (d Pareto) draws(step float64) bool {
	_, ok := newPowerGrid(paretoLaw, d.law.shape, d.law.scale, step)
	return ok
}

func (d Student) draws(step float64) bool {
	_, ok := newPowerGrid(studentLaw, d.law.shape, d.law.scale, step)
	return ok
}

func (d DiscreteLaplace) draws(step float64) bool { return integerGrid(d.law.scale, step) }

func (d Geometric) draws(step float64) bool { return integerGrid(d.law.scale, step) }

func (d DiscreteGaussian) draws(step float64) bool { return integerGrid(d.law.sigma, step) }
