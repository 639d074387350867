package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxRows = 1 << 53 // a number of rows is exact as a float64
	maxEnd  = 0x1p200 // of |Min| and |Max|
)

// Statistic is one of the five numbers of a [Summary].
type Statistic uint8

const (
	// Count is the number of rows.
	Count Statistic = iota + 1
	// Sum is the sum of the values, clamped to [Min, Max].
	Sum
	// Mean is their mean.
	Mean
	// Variance is the mean of (x − Mean)², the divisor being the number of rows.
	Variance
	// StdDev is √Variance.
	StdDev
)

// String returns the name of the constant.
func (s Statistic) String() string { return enum.Name(s, statisticNames, "Statistic") }

var statisticNames = []string{"Statistic(0)", "Count", "Sum", "Mean", "Variance", "StdDev"}

// Params are the public numbers of a release. They are comparable. One of Epsilon and Rho is
// required, and Min < Max unless only the rows are counted; the other fields may be 0.
type Params struct {
	// Epsilon is ε of pure ε-differential privacy by Laplace noise, in
	// [2⁻³⁰, 2¹⁰], or 0 where Rho is given.
	Epsilon float64
	// Rho is ρ of ρ-zCDP by Gaussian noise, in [2⁻⁶⁰, 2²⁰], or 0.
	Rho float64
	// Relation says how neighbours differ. 0 is budget.AddRemove: one row more
	// or less, so that the number of rows is private and released with noise.
	// Under budget.Replace one row has another value and the number of rows is
	// public, with about a third of the noise.
	Relation budget.Relation
	// Min and Max are the ends of the interval that values are clamped to, at
	// most 2²⁰⁰ in absolute value, at least 2⁻²⁰⁰ apart. They are public: take
	// them from what a value can be, never from the data.
	Min, Max float64
	// Rows is the number of rows under Replace, at most 2⁵³; a Builder with
	// another number refuses to release. 0 takes the Builder's own number, and
	// publishes it. Under AddRemove it must be 0.
	Rows int
	// Moments is 2 (or 0) for all five statistics, or 1 for Count, Sum and
	// Mean with less noise: see the table in the package's doc.
	Moments int
	// Only is 0, or under AddRemove Count or Sum to release that number alone,
	// with the least noise. For Count, Min and Max must be 0.
	Only Statistic
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return fault.Params("column", field, value, want)
}

// normal returns the Params with their defaults filled in and without −0.
func (p Params) normal() Params {
	p.Epsilon, p.Rho, p.Min, p.Max = p.Epsilon+0, p.Rho+0, p.Min+0, p.Max+0
	if p.Relation == 0 {
		p.Relation = budget.AddRemove
	}
	if p.Moments == 0 && p.Only == 0 {
		p.Moments = 2
	}
	return p
}

// validate checks normal Params.
func (p Params) validate() error {
	if err := limits.OneOf("column", p.Epsilon, 0, p.Rho); err != nil {
		return err
	}
	if err := limits.Relation("column", p.Relation); err != nil {
		return err
	}
	switch {
	case p.Only > Sum:
		return bad("Only", p.Only, "0, Count or Sum")
	case p.Only != 0 && p.Relation == budget.Replace:
		return bad("Only", p.Only, "0 under Replace, where the count is public and Moments 1 releases the sum")
	case p.Only != 0 && p.Moments != 0:
		return bad("Moments", p.Moments, "0 where Only is given")
	case p.Only == 0 && p.Moments != 1 && p.Moments != 2:
		return bad("Moments", p.Moments, "0, 1 or 2")
	case p.Rows < 0 || int64(p.Rows) > maxRows:
		return bad("Rows", p.Rows, "an integer in [0, 2⁵³]")
	case p.Rows > 0 && p.Relation == budget.AddRemove:
		return bad("Rows", p.Rows, "0 under AddRemove, where the number of rows is private")
	case p.Only == Count && p.Min != 0:
		return bad("Min", p.Min, "0 for a count alone")
	case p.Only == Count && p.Max != 0:
		return bad("Max", p.Max, "0 for a count alone")
	case p.Only == Count:
		return nil
	}
	return validateRange(p.Min, p.Max)
}

// validateRange checks the ends of an interval.
func validateRange(lo, hi float64) error {
	switch {
	case !(math.Abs(lo) <= maxEnd):
		return bad("Min", lo, "a number of at most 2²⁰⁰ in absolute value")
	case !(math.Abs(hi) <= maxEnd):
		return bad("Max", hi, "a number of at most 2²⁰⁰ in absolute value")
	case !(hi-lo >= limits.MinReal):
		return bad("Max", hi, "a number that is at least 2⁻²⁰⁰ above Min")
	}
	return nil
}

// Guarantee returns what a release of these Params promises for one row. Invalid Params promise
// nothing.
func (p Params) Guarantee() budget.Guarantee {
	p = p.normal()
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	g := guarantee(p.Epsilon, p.Rho, p.Relation)
	if l, err := p.law(half); err == nil {
		return l.pair(g)
	}
	return g
}

// pair returns the guarantee g of a release by the law, with what its noise is for the accountant:
// discrete Laplace noise of one scale in all coordinates, whose moves add up to ε times that; or
// discrete Gaussian noise on one number.
func (l law) pair(g budget.Guarantee) budget.Guarantee {
	first := l.noises[0].scale
	for i, n := range l.noises {
		if n.scale != first || l.gaussian && i > 0 {
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

// guarantee returns the promise of valid numbers.
func guarantee(epsilon, rho float64, r budget.Relation) budget.Guarantee {
	if rho > 0 {
		return budget.ZCDP(rho, budget.Row(r))
	}
	return budget.PureDP(epsilon, budget.Row(r))
}
