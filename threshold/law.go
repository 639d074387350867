package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Law is a mechanism with all its numbers, calibrated for some Params. Make it once where releases
// repeat, or to plan with. It is public, comparable, and holds no data. The numbers of the zero Law
// are NaN.
type Law struct {
	params  Params
	numbers calibration
}

// Law calibrates: it returns the law of the mechanism that the Params name, or of the one that New
// chooses. That is all of the time that New takes. The error wraps [ErrParams].
func (p Params) Law() (Law, error) {
	c, err := p.choose()
	if err != nil {
		return Law{}, err
	}
	p.Method = c.method
	// no −0
	p.Delta, p.Sensitivity, p.MaxValue, p.FalseKeys = p.Delta+0, p.Sensitivity+0, p.MaxValue+0, p.FalseKeys+0
	return Law{p, c}, nil
}

// Params returns the Params, with the Method that was chosen.
func (l Law) Params() Params { return l.params }

// Guarantee returns what a release promises, as [Params.Guarantee].
func (l Law) Guarantee() budget.Guarantee {
	if l.numbers.method == Auto {
		return budget.Guarantee{}
	}
	return l.params.promise(l.numbers)
}

// Threshold is [Params.Threshold].
func (l Law) Threshold() float64 {
	if l.numbers.method == Auto {
		return math.NaN()
	}
	return l.numbers.lowest()
}

// StdDev is [Params.StdDev].
func (l Law) StdDev() float64 { return l.StdDevOf(1, 0) }

// ErrorBound is [Params.ErrorBound].
func (l Law) ErrorBound(stored int, confidence float64) float64 {
	if l.numbers.method == Auto || stored < 0 || !limits.Confidence(confidence) {
		return math.NaN()
	}
	return l.numbers.errorBound(stored, l.params.Dim, confidence)
}

// StdDevOf returns the standard deviation of the noise in value·v + beside·b, v being a released
// value and b the number beside the keys. NaN without such a number, unless beside is 0.
func (l Law) StdDevOf(value, beside float64) float64 {
	if !l.has(beside) {
		return math.NaN()
	}
	return l.numbers.stdDevOf(value, beside)
}

// ReachOf returns a bound that the noise of [Law.StdDevOf] exceeds in absolute value with
// probability at most tail, in (0, 1].
func (l Law) ReachOf(value, beside, tail float64) float64 {
	if !l.has(beside) || !(tail > 0 && tail <= 1) {
		return math.NaN()
	}
	return l.numbers.reachOf(value, beside, tail)
}

// has reports whether there is a law, with a number beside the keys if that is asked for.
func (l Law) has(beside float64) bool {
	return l.numbers.method != Auto && (beside == 0 || l.params.Beside)
}
