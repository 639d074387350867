package column

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/wide"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Summary is a released column: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget. Its methods answer NaN on the zero Summary, and
// for what its Params do not release.
type Summary struct {
	params Params
	law    law        // of the Params
	rows   int64      // under Replace
	values []wide.Int // the coordinates with their noise; nil only in a zero value
}

func (s *Summary) valid() bool { return s != nil && len(s.values) > 0 }

// Params returns the parameters of the release, with the defaults filled in.
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
		f.noise[i] = w * n.scale
		// half a unit for rounding the sum, and one half for noise on integers
		f.slack += math.Abs(w)
	}
	return f
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

// sum returns the form of the sum.
func (s *Summary) sum() form {
	rows, first, _ := s.forms()
	g := s.params.grid(half)
	return form{}.plus(g.middle, rows).plus(g.unit, first)
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
// over rows, at the released numbers: without that of clamping or sampling. +Inf for Mean, Variance
// and StdDev where the noise leaves no rows, and for StdDev where it leaves no variance.
func (s *Summary) StdErr(of Statistic) float64 {
	if !s.has(of) {
		return math.NaN()
	}
	rows, first, second := s.forms()
	mean, square := s.moments()
	unit := s.params.grid(half).unit
	n := max(rows.value, 0)
	variance := max(square-mean*mean, 0)
	ofVariance := s.deviation(second.plus(-2*mean, first).plus(mean*mean-variance, rows)) / n * unit * unit
	switch of {
	case Count:
		return s.deviation(rows)
	case Sum:
		return s.deviation(s.sum())
	case Mean:
		return s.deviation(first.plus(-mean, rows)) / n * unit
	case Variance:
		return ofVariance
	}
	return ofVariance / (2 * math.Sqrt(variance) * unit)
}

// deviation returns the standard deviation of the noise in a form.
func (s *Summary) deviation(f form) float64 {
	norm := math.Hypot(math.Hypot(f.noise[0], f.noise[1]), f.noise[2])
	if s.params.only() == Count { // where the noise can be so small that it is not continuous
		if s.law.gaussian {
			return math.Sqrt(s.law.noises[0].normal.Variance())
		}
		return math.Sqrt(s.law.noises[0].laplace.Variance())
	}
	if s.law.gaussian {
		return norm
	}
	return math.Sqrt2 * norm
}

// Value returns one of the five numbers:
//
//	Count     the number of rows: under Replace the public one, else with noise, so that it is no
//	          integer and can be negative
//	Sum       of the clamped values, with noise of mean 0
//	Mean      of the clamped values, in [Min, Max], near the middle where the noise leaves no rows
//	Variance  the mean of (x − Mean)² over the clamped values, between 0 and (Max − Min)²/4
//	StdDev    its square root
//
// Where all five are released, noise that says that fewer than no rows are between the ends of the
// range is left out of the last three. NaN for what is not released.
func (s *Summary) Value(of Statistic) float64 {
	if !s.has(of) {
		return math.NaN()
	}
	if of == Sum {
		return s.sum().value
	}
	if of == Count {
		rows, _, _ := s.forms()
		return rows.value
	}
	g := s.params.grid(half)
	mean, square := s.moments()
	variance := max(square-mean*mean, 0) * g.unit * g.unit
	switch of {
	case Mean:
		return g.value(mean)
	case Variance:
		return variance
	}
	return math.Sqrt(variance)
}

// String says what was released under which guarantee.
func (s *Summary) String() string {
	if !s.valid() {
		return "column.Summary (empty)"
	}
	return fmt.Sprintf("column.Summary: %s, %v", s.params.what(), s.Guarantee())
}
