package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

// count is a noisy number of ones with the law of its noise, which is all that tells how many keys
// there are. It is a sets.Size; the zero count answers NaN.
type count struct {
	curve
	ones float64 // T̃
}

// Estimate returns the number of keys whose expected number of ones was seen.
func (c count) Estimate() float64 {
	if c.cells == 0 {
		return math.NaN()
	}
	return c.estimate(c.ones)
}

// StdErr returns the standard error at the estimate.
func (c count) StdErr() float64 {
	if c.cells == 0 {
		return math.NaN()
	}
	return c.stdErr(max(c.estimate(c.ones), 0))
}

// Interval returns the range of sizes consistent with the noisy count.
func (c count) Interval(confidence float64) (lo, hi float64) {
	if c.cells == 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return c.interval(c.ones, confidence)
}
