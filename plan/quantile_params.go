package plan

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// QuantileParams are the public numbers of a release of quantiles. They are comparable.
type QuantileParams struct {
	// Rho is ρ, the budget of all quantiles of all columns together, in [2⁻³⁰,
	// 2²⁰].
	Rho float64
	// Dim is the number of columns, at most 2²⁴.
	Dim int
	// Rows is the number of rows, public under Replace; 0 takes it from the
	// data. It is not used under AddRemove.
	Rows int
	// Max is M: entries are clamped to [−M, M], and results lie there.
	Max float64
	// Unit is the least difference that matters, 0 being Max/2²⁰: of Asinh the
	// width of the linear part, of Log the least value.
	Unit float64
	// Relation is budget.AddRemove or budget.Replace. 0 is AddRemove.
	Relation budget.Relation
	// Base is the public base measure; AutoBase is Asinh. With Log it is the
	// quantiles of |x| that are released.
	Base Base
	// Search is the number T of steps, at most 64, of the binary search. 0 is
	// the exponential mechanism, which is as good as a search of 2 steps.
	Search int
	// Workers is the number of goroutines, at most 1024; 0 is 1.
	Workers int
}

// params returns Params with the same meaning, for their checks and defaults.
func (q QuantileParams) params() Params {
	return Params{Rho: q.Rho, Dim: q.Dim, Rows: q.Rows, Max: q.Max, Unit: q.Unit, Relation: q.Relation, Steps: Steps{Search: q.Search}, Workers: q.Workers}
}

// validate checks the fields.
func (q QuantileParams) validate() error {
	if q.Base > lastBase {
		return bad("Base", q.Base, "one of the constants")
	}
	return q.params().validate()
}

// resolved returns the Params with every default filled in.
func (q QuantileParams) resolved() QuantileParams {
	p := q.params().resolved()
	q.Unit, q.Relation = p.Unit, p.Relation
	if q.Base == AutoBase {
		q.Base = Asinh
	}
	return q
}

// axis returns the axis of the candidates of resolved Params.
func (q QuantileParams) axis() axis {
	switch q.Base {
	case Uniform:
		return uniformAxis(-q.Max, q.Max)
	case Log:
		return logAxis(q.Unit, q.Max, scaleBits)
	}
	return asinhAxis(q.Unit, q.Max)
}

// RequiredRho returns the budget at which, by (2) in budget.go, all quantiles of the level in n
// rows lie among the data with probability 1 − beta, if near each of them 1/n of the data takes at
// least the part density/n of the candidates. Constant columns have the least density: all data on
// one of the Candidates. NaN if an argument or the Params are invalid. For the binary search it is
// the budget at which the rank error is below n·min(q, 1−q).
func (q QuantileParams) RequiredRho(n int, level, density, beta float64) float64 {
	if q.validate() != nil || n < 1 || !(level > 0 && level < 1) || !(density > 0) || !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	d, ch := float64(q.Dim), q.resolved().params().ranks()
	if q.Search > 0 {
		ranks, steps := float64(n)*min(level, 1-level)/unitChange(level, ch), float64(q.Search)
		return d * steps * math.Log(max(steps*d/beta, 1)) / (ranks * ranks)
	}
	l := logSum(d, beta, min(density, 1))
	return d * need(l, level, float64(n), ch)
}

// RankError returns the rank error that, with probability 1 − beta, none of the quantiles of a
// level in one release with that many levels exceeds by binary search: see search.go. NaN for the
// exponential mechanism, whose rank error depends on the data ([Quantiles.Interval] bounds it), and
// if an argument is or the Params are invalid.
func (q QuantileParams) RankError(level float64, count int, beta float64) float64 {
	if q.validate() != nil || q.Search == 0 || !(level >= 0 && level <= 1) || count < 1 || !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	all := float64(q.Dim) * float64(count)
	return rankError(q.Search, beta/all, q.Rho/all, unitChange(level, q.resolved().params().ranks()))
}

// Candidates returns the number of values that a quantile can have; 0 for invalid Params.
func (q QuantileParams) Candidates() uint64 {
	if q.validate() != nil {
		return 0
	}
	return q.resolved().axis().keys
}

// Guarantee returns what a release of these Params promises, however many levels it has. Params
// that NewQuantiles would reject promise nothing.
func (q QuantileParams) Guarantee() budget.Guarantee {
	if q.validate() != nil {
		return budget.Guarantee{}
	}
	return q.params().Guarantee()
}
