package approx

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// gridNoise is the noise of a private approximation, with its grid. It is what a release needs, and
// what its encoding holds.
type gridNoise struct {
	noise       Noise   // not AutoNoise
	shape       float64 // α, 0 for Laplace noise
	scale, step float64
}

// distribution is what planning needs from the noise.
type distribution interface {
	Quantile(p float64) float64
	Survival(x float64) float64
	MeanAbs() float64
	Variance() float64
}

// distribution returns that of the noise. The errors of the constructors are out of reach:
// choose and valid keep all numbers in range.
func (n gridNoise) distribution() distribution {
	switch n.noise {
	case ParetoNoise:
		d, _ := noise.NewPareto(n.shape, n.scale)
		return d
	case StudentNoise:
		d, _ := noise.NewStudent(n.shape, n.scale)
		return d
	}
	d, _ := noise.NewLaplace(n.scale)
	return d
}

// sample draws the noise in steps. It is as distribution says, without an allocation. If that were
// out of range nevertheless, the draw would be uniform over all int64 (see
// [noise.Laplace.SampleSteps]).
func (n gridNoise) sample(src *noise.Source) (steps int64) {
	switch n.noise {
	case ParetoNoise:
		d, _ := noise.NewPareto(n.shape, n.scale)
		steps, _ = d.SampleSteps(src, n.step)
	case StudentNoise:
		d, _ := noise.NewStudent(n.shape, n.scale)
		steps, _ = d.SampleSteps(src, n.step)
	default:
		d, _ := noise.NewLaplace(n.scale)
		steps, _ = d.SampleSteps(src, n.step)
	}
	return steps
}

const (
	limitSteps = 1 << 58 // the most that an estimate is, in steps
	fineGrid   = 0x1p-30 // the step, in units of the larger of Δ₁ and Δ₂, where a Max allows it
	freeGrid   = 0x1p-24 // the same where there is no Max
	leastGrid  = 0x1p-44 // the least step, in scales of the noise
	coarseGrid = 0x1p-10 // the largest
	mostScale  = 0x1p46  // the largest scale that package noise draws at, in steps
)

// choose validates the Params, chooses the noise and solves for its scale, for Δ₁ increased by the
// step of the grid. The step is found from the scale without it.
//
// What the step h adds to the scale is at most a relative h/max(Δ₁, Δ₂), as both scale in
// proportion and h weighs no more as a part of Δ₂. For h ≤ freeGrid·max(Δ₁, Δ₂) that is 2⁻²⁴. With
// h the scale grows by 18·max(k, α)/ε·h ≤ 2⁴³·h at most, by the upper end in [subexponentialScale],
// so scale/h stays below 2⁴⁵ + 2⁴³ < [mostScale]. Without the bounds on ε it would not, and there
// were no noise to draw.
func (p Params) choose() (gridNoise, error) {
	if err := p.validate(); err != nil {
		return gridNoise{}, err
	}
	ideal, err := p.pick(p.sensitivity())
	if err != nil {
		return gridNoise{}, err
	}
	unit, grid := math.Ldexp(1, math.Ilogb(ideal.scale)), freeGrid
	if p.Max > 0 {
		grid = fineGrid
	}
	step := math.Ldexp(grid, math.Ilogb(max(p.sensitivity(), p.Error)))
	step = max(min(step, unit*coarseGrid), unit*leastGrid)
	if p.Max > 0 {
		_, exp := math.Frexp(p.Max) // Max ≤ 2^exp
		if step = max(step, math.Ldexp(1.0/limitSteps, exp)); step > unit*coarseGrid {
			return gridNoise{}, check.ParamsError("approx", "Max", p.Max, "at most 2⁴⁶ times the scale of the noise")
		}
	}
	n, err := p.withNoise(ideal.noise).pick(exact.SumUp(p.sensitivity(), step))
	n.step = step
	return n, err
}

// withNoise returns p with the noise chosen.
func (p Params) withNoise(noise Noise) Params {
	p.Noise = noise
	return p
}

// pick returns the noise for a sensitivity, without a grid.
func (p Params) pick(sensitivity float64) (gridNoise, error) {
	if p.Moment == 0 {
		scale, err := subexponentialScale(p.Epsilon, sensitivity, p.Error, p.queries())
		return gridNoise{noise: LaplaceNoise, scale: scale}, err
	}
	pareto, student := gridNoise{noise: ParetoNoise, shape: p.Moment}, gridNoise{noise: StudentNoise, shape: p.Moment}
	var err error
	if p.Noise != StudentNoise {
		if pareto.scale, err = paretoScale(p.Epsilon, sensitivity, p.Error, p.Moment); err != nil || p.Noise == ParetoNoise || p.Moment < 2 {
			return pareto, err
		}
	}
	if student.scale, err = studentScale(p.Epsilon, sensitivity, p.Error, p.Moment); err != nil {
		return student, err
	}
	if p.Noise == AutoNoise && pareto.distribution().MeanAbs() < student.distribution().MeanAbs() {
		// at α = 2 both are infinite, and Student's is narrower
		return pareto, nil
	}
	return student, nil
}

// errorBound returns a bound on |value − g| that holds with the given confidence, NaN unless that
// is in [0, 1).
//
// The failure probability is shared between the noise and the estimator, in the best of a few
// proportions: any is right. Rounding adds half a step twice.
func (n gridNoise) errorBound(p Params, confidence float64) float64 {
	if !check.Confidence(confidence) {
		return math.NaN()
	}
	failure := 1 - confidence
	if p.Error == 0 {
		return -n.distribution().Quantile(failure/2) + n.step
	}
	best := math.Inf(1)
	for _, share := range [...]float64{0.9, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6} {
		// of the estimator
		noise := -n.distribution().Quantile(failure * (1 - share) / 2)
		best = min(best, noise+p.estimatorBound(failure*share)+n.step)
	}
	return best
}

// beyond returns a bound on Pr[A + noise > g + t], and on Pr[A + noise < g − t]: for each way to
// share t among the two.
func (n gridNoise) beyond(p Params, t float64) float64 {
	best := 1.0
	for i := 1; i < 16; i++ {
		own := t * float64(i) / 16
		estimator := math.Pow(min(p.Error/own, 1), p.Moment)
		if p.Moment == 0 {
			estimator = 2 * math.Exp(-own/p.Error)
		}
		best = min(best, estimator+n.distribution().Survival(t-own-n.step))
	}
	return best
}

// estimatorBound returns the t with Pr[|A − g| > t] ≤ failure: by Markov for a moment.
func (p Params) estimatorBound(failure float64) float64 {
	if p.Moment == 0 {
		return p.Error * math.Log(2/failure)
	}
	return p.Error * math.Pow(failure, -1/p.Moment)
}

// valid reports whether all methods work with the numbers, and the scale is what the guarantee
// needs. Machines may round the last digits of exponentials differently, which its margin allows
// for.
func (n gridNoise) valid(p Params) bool {
	const rounding = 0x1p-40
	fraction, _ := math.Frexp(n.step)
	ratio := n.scale / n.step
	agrees := n.noise == p.Noise && n.shape == p.Moment
	if !(agrees && n.noise != AutoNoise && fraction == 0.5 && n.scale >= leastParam && n.scale <= mostParam && ratio >= 1 && ratio <= mostScale) {
		return false
	}
	least, err := p.pick(exact.SumUp(p.sensitivity(), n.step))
	return err == nil && n.scale >= least.scale*(1-rounding)
}
