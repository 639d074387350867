package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
)

// What the tests know of mechanisms by name.

// reduces reports whether the mechanism releases units of reduced sketches or of trimmed ones.
func (m Method) reduces() bool { return mechanisms[m].reduced || mechanisms[m].trimmed }

// of returns the Params for users or events of m.
func (p Params) of(_ input, m int) Params {
	p.MaxElements = m
	return p
}

// stdDev returns the standard deviation of the noise of an estimate, and lowerDev of that of Lower,
// but for what private shifts add.
func (h *Histogram[K]) stdDev() float64 { return h.calibration.stdDev() }

func (h *Histogram[K]) lowerDev() float64 {
	switch {
	case h.calibration.is().sparse:
		return h.calibration.sparse.StdDev()
	case h.calibration.is().shared:
		return math.Sqrt(2 * h.calibration.noise().Variance())
	}
	return math.Sqrt(h.calibration.noise().Variance()) / h.calibration.per
}

// lawOf returns the calibration of a Builder of one stream.
func lawOf(p Params) calibration {
	_, c, err := p.check(oneStream)
	if err != nil {
		panic(err)
	}
	return c
}

// planned returns a Histogram without counts.
func planned[K hashing.Key](p Params, in input) *Histogram[K] {
	p, c, err := p.check(in)
	if err != nil {
		panic(err)
	}
	p.Method = c.method
	return &Histogram[K]{params: p, calibration: c, sketches: 1, known: in != givenCounters}
}
