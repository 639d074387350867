package column

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Plan is what a [Summary] will be, before any data is seen.
type Plan struct {
	Params Params // filled in
	Bytes  int    // of the encoding
}

// Plan returns what a [Summary] will be. For quantiles [Quantiles.RankInterval] is the same for all
// data. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	s, err := p.planned()
	if err != nil {
		return Plan{}, err
	}
	bytes := fixedSize + 16*len(s.values)
	if s.params.learns() {
		bytes += learnedSize
	}
	return Plan{s.params, bytes}, nil
}

// planned returns the Summary of no rows without noise.
func (p Params) planned() (*Summary, error) {
	p = p.normal().summary()
	if err := p.validate(); err != nil {
		return nil, err
	}
	l, err := p.law(half)
	if err != nil {
		return nil, err
	}
	return &Summary{params: p, law: l, values: make([]exact.Int128, len(l.at))}, nil
}

// StdErr returns the standard error that the noise gives to a statistic of that many rows, to first
// order in noise over rows, for the values in [Min, Max] for which it is largest. For StdDev half
// of the values are at each end. NaN for a statistic that is not released or, if the range is
// learned, that depends on the range.
func (p Plan) StdErr(of Statistic, rows float64) float64 {
	s, err := p.Params.planned()
	if err != nil || !s.has(of) || !(rows >= 0) || s.params.learns() && of != Count {
		return math.NaN()
	}
	count, first, second := s.forms()
	unit, largest := s.params.grid(half).unit, 0.0
	const parts = 32
	// over the means; a norm is convex, and so at an end in the variances
	for i := range parts + 1 {
		mean := 2*float64(i)/parts - 1
		about := second.plus(-2*mean, first)
		switch of {
		case Mean:
			largest = max(largest, s.deviation(first.plus(-mean, count)))
		case Variance:
			largest = max(largest, s.deviation(about.plus(mean*mean, count)), s.deviation(about.plus(2*mean*mean-1, count)))
		}
	}
	switch of {
	case Count:
		return s.deviation(count)
	case Sum:
		return s.deviation(s.sum())
	case StdDev:
		return s.deviation(second.plus(-1, count)) / rows * unit / 2
	case Variance:
		unit *= unit
	}
	return largest / rows * unit
}

// String says what will be released, in a line.
func (p Plan) String() string {
	return fmt.Sprintf("%s, %v, %d bytes", p.Params.what(), p.Params.Guarantee(), p.Bytes)
}

// what names what a Summary has.
func (p Params) what() string {
	of := map[int]string{0: "a sum", 1: "count, sum and mean", 2: "count, sum, mean and variance"}[p.moments()]
	switch {
	case p.only() == Count:
		return "a count"
	case p.learns():
		return "count, sum and mean of values whose range is learned"
	case p.Want == Sum && p.Relation == budget.Replace:
		of = "sum and mean"
	}
	return fmt.Sprintf("%s of values in [%g, %g]", of, p.Min, p.Max)
}
