package column

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Summary is a released column: public, immutable, safe for concurrent readers. Its methods return
// NaN for what its Params do not release.
type Summary struct {
	params Params
	law    law            // of the Params
	rows   int64          // under Replace
	found  *learned       // where the range is learned
	values []exact.Int128 // the coordinates with their noise; nil only in a zero value
}

func (s *Summary) valid() bool { return s != nil && len(s.values) > 0 }

// Params returns those of the release, filled in.
func (s *Summary) Params() Params { return s.params }

// Guarantee returns the guarantee of the release, for one row.
func (s *Summary) Guarantee() budget.Guarantee {
	if !s.valid() {
		return budget.Guarantee{}
	}
	return s.params.summarised()
}

// form is a linear function of what was released: its value, and for each coordinate the standard
// unit of noise in it, the scale times the weight, and the weight of a unit.
type form struct {
	value, slack float64
	noise        [3]float64
}

// plus returns f + x·g.
func (f form) plus(x float64, g form) form {
	f.value += x * g.value
	f.slack += math.Abs(x) * g.slack
	for i := range f.noise {
		f.noise[i] += x * g.noise[i]
	}
	return f
}

// read returns the form with the weights.
func (s *Summary) read(weights []float64) (f form) {
	for i, w := range weights {
		n := s.law.noises[i]
		w *= math.Ldexp(1, int(n.shift))
		f.value += w * s.values[i].Float64()
		f.noise[i] = w * n.Scale
		// half a unit for rounding the sum, and one half for noise on integers
		f.slack += math.Abs(w)
	}
	return f
}

// grid returns the map of values to t.
func (s *Summary) grid() grid {
	if s.found != nil {
		return s.found.grid(half)
	}
	return s.params.grid(half)
}

// forms returns the number of rows, Σt and Σt², t = (x − middle)/unit.
func (s *Summary) forms() (rows, first, second form) {
	rows = s.read(s.law.count)
	if s.params.Relation == budget.Replace {
		rows.value = float64(s.rows)
	}
	return rows, s.read(s.law.first), s.read(s.law.second)
}

// has reports whether a statistic is released.
func (s *Summary) has(of Statistic) bool {
	switch {
	case !s.valid() || of < Count || of > StdDev:
		return false
	case s.params.only() != 0:
		return of == s.params.only()
	case of == Variance || of == StdDev:
		return s.params.moments() == 2
	}
	return true
}

// sum returns the form of the sum of the clamped values.
func (s *Summary) sum() form {
	rows, first, _ := s.forms()
	g := s.grid()
	return form{}.plus(g.middle, rows).plus(g.unit, first)
}

// back returns what is added to the sum for rows beyond a learned range, and its standard error.
func (s *Summary) back() (sum, deviation float64) {
	if s.found == nil {
		return 0, 0
	}
	sum, variance, _ := s.found.histogram.Back(s.found.chosen)
	return sum, math.Sqrt(variance)
}

// value returns the x of a t in [−1, 1], within [Min, Max].
func (g *grid) value(t float64) float64 { return min(max(g.middle+g.unit*t, g.lo), g.hi) }

// moments returns the means of t and of t², each in its range.
//
// Under AddRemove the first of three coordinates is Σ(1−t²) times a constant, so never negative:
// where noise made it so it counts as 0 in all three forms. That matters for rows at the ends of
// the range, such as rare events: at t = ±1 its noise has the weight 1−κ in the variance then, for
// half of the time, and had 2, if the mean of t² alone were cut off at 1.
func (s *Summary) moments() (mean, square float64) {
	rows, first, second := s.forms()
	if len(s.values) == 3 && s.values[0].Hi < 0 {
		excess := s.values[0].Float64() * math.Ldexp(1, int(s.law.noises[0].shift))
		rows.value -= excess * s.law.count[0]
		second.value -= excess * s.law.second[0]
	}
	n := max(rows.value, 1)
	return min(max(first.value/n, -1), 1), min(max(second.value/n, 0), 1)
}

// StdErr returns the standard error that the noise gives to a statistic, to first order in noise
// over rows, at the released numbers. +Inf where the noise leaves no rows or no variance, and where
// Value is NaN for want of a range.
func (s *Summary) StdErr(of Statistic) float64 {
	if !s.has(of) {
		return math.NaN()
	}
	if of != Count && s.unknown() {
		return math.Inf(1)
	}
	rows, first, second := s.forms()
	mean, square := s.moments()
	_, back := s.back()
	unit := s.grid().unit
	n := max(rows.value, 0)
	variance := max(square-mean*mean, 0)
	ofVariance := s.deviation(second.plus(-2*mean, first).plus(mean*mean-variance, rows)) / n * unit * unit
	switch of {
	case Count:
		return s.deviation(rows)
	case Sum:
		return math.Hypot(s.deviation(s.sum()), back)
	case Mean:
		return math.Hypot(s.deviation(first.plus(-mean, rows))*unit, back) / n
	case Variance:
		return ofVariance
	}
	return ofVariance / (2 * math.Sqrt(variance) * unit)
}

// deviation returns the standard deviation of the noise in a form.
func (s *Summary) deviation(f form) float64 {
	norm := math.Hypot(math.Hypot(f.noise[0], f.noise[1]), f.noise[2])
	if s.params.only() == Count { // where the noise can be so small that it is not continuous
		return s.law.noises[0].StdDev()
	}
	if s.law.gaussian {
		return norm
	}
	return math.Sqrt2 * norm
}

// Value returns one of the five numbers. A learned range adds to Sum and Mean what values beyond it
// lost, as far as it was seen. These are NaN if too little of the range was learned: of too few
// rows, or if most lie on one side of what was to be their median.
func (s *Summary) Value(of Statistic) float64 {
	if !s.has(of) {
		return math.NaN()
	}
	back, _ := s.back()
	rows, _, _ := s.forms()
	switch {
	case of == Count:
		return rows.value
	case s.unknown():
		return math.NaN()
	case s.refuted():
		return s.found.centre * map[Statistic]float64{Sum: rows.value, Mean: 1}[of]
	case of == Sum:
		return s.sum().value + back
	}
	g := s.grid()
	mean, square := s.moments()
	variance := max(square-mean*mean, 0) * g.unit * g.unit
	switch of {
	case Mean:
		mean := g.value(mean) + back/max(rows.value, 1)
		if s.found != nil { // the ends of bins, and what is added back, may lie beyond
			mean = min(max(mean, -s.params.bound()), s.params.bound())
		}
		return mean
	case Variance:
		return variance
	}
	return math.Sqrt(variance)
}

// String says what was released under which guarantee, and of which values.
func (s *Summary) String() string {
	if !s.valid() {
		return "column.Summary (empty)"
	}
	return fmt.Sprintf("column.Summary: %s, %v", s.params.what(), s.Guarantee())
}
