package approx

import (
	"fmt"
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Approximator makes the estimates of a randomized algorithm differentially private by adding noise (Tětek; see [ApproxParams]). It holds no data. It
// answers as many queries as its Params say, from one execution of the algorithm, and all of them together are ε-private; the execution's own
// randomness must stay secret, as part of the privacy comes from it. For another execution make another Approximator and [Compose] the guarantees.
//
// It is safe for concurrent use.
type Approximator struct {
	params ApproxParams
	noise  approxNoise

	mu   sync.Mutex
	src  noise.Source
	left int
}

// NewApproximator returns an Approximator with the least noise for the Params. The error wraps [ErrParams].
func NewApproximator(p ApproxParams) (*Approximator, error) {
	n, err := p.choose()
	if err != nil {
		return nil, err
	}
	return &Approximator{params: p.normalized().withNoise(n.noise), noise: n, left: p.queries()}, nil
}

// Params returns the parameters, Noise resolved.
func (a *Approximator) Params() ApproxParams { return a.params }

// Guarantee returns what all queries together promise.
func (a *Approximator) Guarantee() budget.Guarantee { return a.params.Guarantee() }

// Release returns the estimate with noise. It is clamped to ±Limit; NaN counts as 0. Whether the error, which wraps [ErrReleased], is returned depends on the number of calls alone.
func (a *Approximator) Release(estimate float64) (Approximation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left <= 0 {
		return Approximation{}, fmt.Errorf("noise: all queries of the Approximator are answered: %w", fault.ErrReleased)
	}
	a.left--
	steps := roundedSteps(estimate, a.params.Limit, a.noise.step) + a.noise.sample(&a.src)
	return Approximation{a.params, a.noise, min(max(steps, -mostReleased), mostReleased)}, nil
}

// mostReleased is the most that a release can be, in steps. Noise beyond 2⁶¹ steps is not told apart, and with any estimate is above this: clamping the
// sum is post-processing of the exact sum.
const mostReleased = 1 << 60

// roundedSteps clamps x to ±limit, or to what a grid holds if limit is 0, and rounds it to a multiple of step. It returns that in steps, at most limitSteps in size. The quotient
// is exact, or so small that it rounds to 0.
func roundedSteps(x, limit, step float64) int64 {
	if x != x {
		return 0
	}
	if limit > 0 {
		x = min(max(x, -limit), limit)
	}
	return int64(math.RoundToEven(min(max(x/step, -limitSteps), limitSteps)))
}

// Approximation is a released estimate. It is immutable and safe for concurrent use; everything computed from it is post-processing. The zero value is none: its
// numbers are NaN and it has no encoding.
type Approximation struct {
	params ApproxParams
	noise  approxNoise
	steps  int64
}

// released reports whether the value comes from Release or a decoder.
func (a Approximation) released() bool { return a.noise.noise != AutoNoise }

// Value returns the released value: the estimate plus noise.
func (a Approximation) Value() float64 {
	if !a.released() {
		return math.NaN()
	}
	return float64(a.steps) * a.noise.step
}

// Interval returns an interval that covers g with the given confidence in [0, 1), the error of the estimator included, provided |g| ≤ Limit. NaN for
// another confidence.
func (a Approximation) Interval(confidence float64) (lo, hi float64) {
	if !a.released() {
		return math.NaN(), math.NaN()
	}
	width := a.noise.errorBound(a.params, confidence)
	return a.Value() - width, a.Value() + width
}

// Scale returns the scale of the noise that was added, in the units of the data.
func (a Approximation) Scale() float64 {
	if !a.released() {
		return math.NaN()
	}
	return a.noise.scale
}

// Params returns the parameters of the release, Noise resolved.
func (a Approximation) Params() ApproxParams { return a.params }

// Guarantee returns what the release, together with the other queries of the same Approximator, promises: it is to be counted once for all of them.
func (a Approximation) Guarantee() budget.Guarantee { return a.params.Guarantee() }

// String returns the value and its guarantee.
func (a Approximation) String() string {
	if !a.released() {
		return "noise.Approximation (not released)"
	}
	return fmt.Sprintf("%g, %v of scale %g, %v", a.Value(), a.noise.noise, a.noise.scale, a.Guarantee())
}
