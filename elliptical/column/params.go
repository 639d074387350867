package column

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxRows = 1 << 53 // a number of rows is exact as a float64
	maxEnd  = 0x1p200 // of |Min|, |Max| and Bound

	minBound           = 0x1p-100
	minIndex, maxIndex = 1.01, 64
)

// Statistic is one of the five numbers of a [Summary].
type Statistic uint8

const (
	// Count is the number of rows: under Replace the public one, else with
	// noise.
	Count Statistic = iota + 1
	// Sum is the sum of the values, clamped to [Min, Max], with noise of mean 0.
	Sum
	// Mean is their mean, near the middle of [Min, Max] if the noise leaves no
	// rows.
	Mean
	// Variance is theirs, the mean of (x − Mean)², between 0 and (Max − Min)²/4.
	Variance
	// StdDev is √Variance.
	StdDev
)

// String returns the name of the constant.
func (s Statistic) String() string { return check.EnumName(s, statisticNames, "Statistic") }

var statisticNames = []string{"Statistic(0)", "Count", "Sum", "Mean", "Variance", "StdDev"}

// Params are the public numbers of a release, comparable. Epsilon, with or without Delta, or Rho is
// required.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰], or 0 where Rho is given. Without Delta it
	// is pure, by Laplace noise.
	Epsilon float64
	// Delta is δ, in [1e-300, 1), of (ε, δ)-DP by Gaussian noise. It needs Min and
	// Max, except for quantiles.
	Delta float64
	// Rho is ρ of ρ-zCDP by Gaussian noise, in [2⁻⁶⁰, 2²⁰], or 0.
	Rho float64
	// Min and Max are the public ends of the interval that values are clamped
	// to, at most 2²⁰⁰ in absolute value, at least 2⁻²⁰⁰ apart.
	Min, Max float64
	// Relation is budget.AddRemove, which 0 stands for, or budget.Replace, under
	// which quantiles have twice the rank error.
	Relation budget.Relation
	// Rows is the number of rows of a Summary under Replace, at most 2⁵³. 0
	// publishes the Builder's own number.
	Rows int
	// Want says what a Summary has. 0 is all five statistics, or Mean if the range
	// is learned. Mean is Count, Sum and Mean, with less noise. Sum, which needs a
	// range, or Count, which has none, is that number alone, with the least.
	// (Under Replace Sum is like Mean, and Count is refused.)
	Want Statistic
	// Resolution is, for quantiles, the least difference that matters: a value
	// counts as the nearest of Min, Min + Resolution, …, at most 2³⁰ of them. With
	// 0, steps are some millionths of a value, down to 2⁻³⁰ of the range.
	Resolution float64
	// TailIndex, in [1.01, 64], is the index of the Pareto tail that intervals
	// assume of a learned range. 0 is 1.5.
	TailIndex float64
	// Bound is, without Min and Max, an upper bound on the absolute values, in
	// [2⁻¹⁰⁰, 2²⁰⁰]. Larger values are clamped to it, and distances below
	// 2⁻⁹⁶·Bound count as 0. It only narrows intervals. 0 is 2⁶⁰.
	Bound float64
}

// normal returns the Params with their defaults filled in and without −0.
func (p Params) normal() Params {
	for _, x := range []*float64{&p.Epsilon, &p.Delta, &p.Rho, &p.Min, &p.Max, &p.Resolution, &p.TailIndex, &p.Bound} {
		*x += 0
	}
	p.Relation = cmp.Or(p.Relation, budget.AddRemove)
	return p
}

// summary returns normal Params with the defaults of a Summary.
func (p Params) summary() Params {
	if p.learns() {
		p.Want, p.TailIndex = cmp.Or(p.Want, Mean), cmp.Or(p.TailIndex, 1.5)
	}
	return p
}

// learns reports whether a Summary of the Params learns its range.
func (p Params) learns() bool { return p.Min == 0 && p.Max == 0 && p.Want != Count }

// bound returns the Bound, or its default.
func (p Params) bound() float64 { return cmp.Or(p.Bound, 0x1p60) }

// widest returns the axis of all values up to the bound.
func (p Params) widest() rank.Axis {
	return rank.Octaves(-p.bound(), p.bound(), p.bound()*0x1p-96)
}

// isRow reports whether a value is a row. NaN is none, unless the number of rows is public: then it
// counts as the middle, as a row that is left out would change that number.
func (p *Params) isRow(x float64) bool { return x == x || p.Relation == budget.Replace }

// only returns Count or Sum where that number is released alone.
func (p Params) only() Statistic {
	if p.Want <= Sum && p.Relation == budget.AddRemove {
		return p.Want
	}
	return 0
}

// moments returns how many sums there are besides the count, 0 for one number alone.
func (p Params) moments() int {
	switch {
	case p.only() != 0:
		return 0
	case p.Want != 0:
		return 1
	}
	return 2
}

// gaussian reports whether the noise of a Summary is Gaussian.
func (p Params) gaussian() bool { return p.Rho > 0 || p.Delta > 0 }

// rho returns ρ of valid Params that are not purely ε-private: for δ > 0 the largest, up to 2⁻⁴⁰ of
// it, for which the accountant says that ρ-zCDP is (ε, δ)-DP; below check.MinRho if there is none.
func (p Params) rho() float64 {
	if p.Rho > 0 {
		return p.Rho
	}
	rho, _ := concentrated.Get([2]float64{p.Epsilon, p.Delta}, func() (float64, error) {
		return (1 - 0x1p-40) * exact.LeastFloat(check.MinRho/2, check.MaxRho, func(rho float64) bool {
			return budget.ZCDP(max(rho, check.MinRho), unit).DeltaAt(p.Epsilon) > p.Delta
		}), nil
	})
	return rho
}

// unit is any one, for rho.
var unit = budget.Row(budget.AddRemove)

// concentrated are the ρ of some ε and δ.
var concentrated memo.Table[[2]float64, float64]

// validateGuarantee checks the budget of normal Params and their relation.
func (p Params) validateGuarantee() error {
	if err := check.EpsilonOrRho("column", p.Epsilon, p.Delta, p.Rho); err != nil {
		return err
	}
	if err := checked(field{p.Delta == 0 || p.rho() >= check.MinRho, "Delta", p.Delta, "0 or a larger number: at this Epsilon no ρ of at least 2⁻⁶⁰ has it"}); err != nil {
		return err
	}
	return check.Relation("column", p.Relation)
}

// validate checks normal Params of a Summary.
func (p Params) validate() error {
	if err := p.validateGuarantee(); err != nil {
		return err
	}
	learns, replace, count := p.learns(), p.Relation == budget.Replace, p.Want == Count
	if err := checked(
		field{p.Want <= Mean, "Want", p.Want, "0, Count, Sum or Mean"},
		field{!count || !replace, "Want", p.Want, "another one under Replace, where the count is public"},
		field{p.Resolution == 0, "Resolution", p.Resolution, "0 in New: it is for quantiles"},
		field{p.Rows >= 0 && int64(p.Rows) <= maxRows, "Rows", p.Rows, "an integer in [0, 2⁵³]"},
		field{p.Rows == 0 || replace, "Rows", p.Rows, "0 under AddRemove, where the number of rows is private"},
		field{!count || p.Min == 0, "Min", p.Min, "0 for a count alone"},
		field{!count || p.Max == 0, "Max", p.Max, "0 for a count alone"},
		field{!learns || !replace, "Max", p.Max, "a number above Min under Replace: a range is learned under AddRemove"},
		field{!learns || p.Delta == 0, "Max", p.Max, "a number above Min where Delta is given: a range is learned with Epsilon alone or Rho"},
		field{!learns || p.Want != Sum, "Max", p.Max, "a number above Min for a sum alone: Want Mean learns the range"},
		field{p.TailIndex == 0 || learns, "TailIndex", p.TailIndex, "0 where the range is given, and for a count alone"},
		field{p.TailIndex == 0 || p.TailIndex >= minIndex && p.TailIndex <= maxIndex, "TailIndex", p.TailIndex, "0 or a number in [1.01, 64]"},
		field{!count || p.Bound == 0, "Bound", p.Bound, "0 for a count alone"},
	); err != nil || count {
		return err
	}
	return p.validateRange(learns)
}

// validateRange checks the ends of an interval, or what stands in their place.
func (p Params) validateRange(learns bool) error {
	return checked(
		field{learns || p.Bound == 0, "Bound", p.Bound, "0 where Min and Max are given"},
		field{p.Bound == 0 || p.Bound >= minBound && p.Bound <= maxEnd, "Bound", p.Bound, "0 or a number in [2⁻¹⁰⁰, 2²⁰⁰]"},
		field{math.Abs(p.Min) <= maxEnd, "Min", p.Min, "a number of at most 2²⁰⁰ in absolute value"},
		field{math.Abs(p.Max) <= maxEnd, "Max", p.Max, "a number of at most 2²⁰⁰ in absolute value"},
		field{learns || p.Max-p.Min >= check.MinReal, "Max", p.Max, "a number that is at least 2⁻²⁰⁰ above Min"},
	)
}

// field is a field of the Params, and whether its value is one that is wanted.
type field struct {
	ok    bool
	name  string
	value any
	want  string
}

// checked returns the error for the first field with another value.
func checked(fields ...field) error {
	for _, f := range fields {
		if !f.ok {
			return check.ParamsError("column", f.name, f.value, f.want)
		}
	}
	return nil
}

// Guarantee returns what a Summary or quantiles promise for one row; that of each Builder tells the
// accountant more. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	p = p.normal()
	q := quantileParams{Params: p, Levels: [maxLevels]float64{0.5}}.normal()
	switch {
	case q.validate() == nil:
		return p.promise()
	case p.validate() == nil:
		return p.summarised()
	}
	return budget.Guarantee{}
}

// summarised returns the guarantee of a Summary of valid Params.
func (p Params) summarised() budget.Guarantee {
	g := p.promise()
	if p.learns() {
		return g
	}
	if p.Delta > 0 {
		return budget.Gaussian(p.Epsilon, p.Delta, g.Unit())
	}
	if l, err := p.law(half); err == nil {
		return l.pair(g)
	}
	return g
}

// pair returns the guarantee g of a release by l, with the pair of its noise for the accountant:
// discrete Laplace noise of one scale in all coordinates, which together move by ε times the scale;
// or discrete Gaussian noise on one number.
func (l law) pair(g budget.Guarantee) budget.Guarantee {
	first := l.noises[0].Scale
	for i, n := range l.noises {
		if n.Scale != first || l.gaussian && i > 0 {
			return g
		}
	}
	if l.gaussian {
		if l.noises[0].shift > 0 {
			return g
		}
		return g.WithPair(budget.DiscreteGaussian(first, l.at[0].reach, g.Unit()))
	}
	return g.WithPair(budget.DiscreteLaplace(g.Epsilon(), first, g.Unit()))
}

// promise returns what the numbers say.
func (p Params) promise() budget.Guarantee {
	u := budget.Row(p.Relation)
	if p.Rho > 0 {
		return budget.ZCDP(p.Rho, u)
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, u)
}

// Plan is what a Summary will be.
type Plan struct {
	Params Params // filled in
	Bytes  int    // of the encoding
}

// Plan returns what a Summary will be. The error wraps [ErrParams].
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
// order, for the worst values in [Min, Max] (for StdDev half of them at each end). NaN for what is
// not released or depends on a learned range.
func (p Plan) StdErr(of Statistic, rows float64) float64 {
	s, err := p.Params.planned()
	if err != nil || !s.has(of) || !(rows >= 0) || s.params.learns() && of != Count {
		return math.NaN()
	}
	if s.params.learns() && s.params.gaussian() { // the number of rows has the least then
		s.law, _ = s.params.lawOf(half, fewSumShare)
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

// String says what will be released.
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
		return "count, sum and mean, with intervals for " + p.about()
	case p.Want == Sum && p.Relation == budget.Replace:
		of = "sum and mean"
	}
	return fmt.Sprintf("%s of values in [%g, %g]", of, p.Min, p.Max)
}

// about says which values Sum and Mean, and their intervals, are about; "" where there are none.
func (p Params) about() string {
	switch {
	case p.Want == Count:
		return ""
	case p.learns():
		return fmt.Sprintf("all values if they thin out like a Pareto tail of index %g beyond those seen, without what few rows hide far out", p.TailIndex)
	}
	return fmt.Sprintf("values clamped to [%g, %g]", p.Min, p.Max)
}

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)
