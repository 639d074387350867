package approx

import (
	"fmt"
	"math"
)

// Value is a released estimate. It is immutable and safe for concurrent use; everything computed
// from it is post-processing. The zero Value is not a release: its numbers are NaN and it has no
// encoding.
type Value struct {
	promised
	noise gridNoise
	steps int64
}

// released reports whether the value comes from Release or a decoder.
func (v Value) released() bool { return v.noise.noise != AutoNoise }

// Estimate returns the released number: the estimate plus noise.
func (v Value) Estimate() float64 {
	if !v.released() {
		return math.NaN()
	}
	return float64(v.steps) * v.noise.step
}

// Interval returns an interval that covers g with the given confidence in [0, 1), the error of the
// estimator included, provided |g| ≤ Max. NaN for another confidence.
func (v Value) Interval(confidence float64) (lo, hi float64) {
	if !v.released() {
		return math.NaN(), math.NaN()
	}
	width := v.noise.errorBound(v.params, confidence)
	return v.Estimate() - width, v.Estimate() + width
}

// String returns the value and its guarantee.
func (v Value) String() string {
	if !v.released() {
		return "approx.Value (not released)"
	}
	return fmt.Sprintf("%g, %v of scale %g, %v", v.Estimate(), v.noise.noise, v.noise.scale, v.Guarantee())
}
