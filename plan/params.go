package plan

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	minRho      = 0x1p-30
	maxDim      = 1 << 24
	maxRows     = 1 << 36
	minMax      = 0x1p-100
	maxMax      = 0x1p100
	minUnit     = 0x1p-60 // of Max
	defaultUnit = 0x1p-20 // of Max
	maxP        = 64
	minP        = 0x1p-4
	minBeta     = 1e-12

	maxGroup  = 1 << 10
	maxSearch = 64
	maxMargin = 1 << 10

	// leastBudget is the least that a given share may be of ρ, and below what any other step gets:
	// σ = 2·2²⁶/√(2ρ) is the noise of a sum, in steps, and package noise draws up to 2⁴⁶.
	leastBudget = 0x1p-38
	mostShares  = 0.99
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen.
//
// Rho, Dim and, unless NonNegative, Max are required. All other fields may be 0; what that means
// stands with each.
type Params struct {
	// Rho is ρ, the whole budget, in [2⁻³⁰, 2²⁰]: the release is ρ-zCDP.
	Rho float64
	// Dim is d, the number of coordinates, at most 2²⁴.
	Dim int
	// Rows is n, the number of rows, at most 2³⁶. Under Replace n is public: 0
	// takes it from the data, and planning needs it. Under AddRemove 0 keeps n
	// private and releases a noisy one; another number is public, that of
	// places of which a few may be empty ("zeroed out"). It is what releases
	// are planned with, and what sums are divided by where γ is not, so it
	// should be near the number of rows.
	Rows int
	// Max is M, the most that an entry is in absolute value, in [2⁻¹⁰⁰, 2¹⁰⁰].
	// Entries are clamped to [−M, M], or to [0, M] if NonNegative; then 0 is 1.
	// [Mechanism.WithRanges] gives each coordinate a range of its own.
	Max float64
	// Unit is the least scale that matters, in (2⁻⁶⁰·Max, Max]: standard
	// deviations below Unit/16 count as that. 0 is Max/2²⁰. Above that, no row
	// is clipped to a norm below a Unit, or the same in scaled columns: where
	// few rows are not 0, take their size.
	Unit float64
	// P is the p of the ℓₚ error that the noise is shaped for, in [1/16, 64]. 0
	// is 2, or 1 if NonNegative.
	P float64
	// Relation is budget.AddRemove, one row added or removed, or
	// budget.Replace, one row replaced by another. 0 is AddRemove. A missing
	// row is an empty (nil) one if rows are dense, and one left out if they are
	// sparse: sparse rows without entries are rows of zeros. If Steps.Centre is
	// the Origin, AddRemove also covers a sparse row that loses all its
	// entries.
	Relation budget.Relation
	// NonNegative says that no entry is negative; those that are count as 0.
	// Clipped around the Origin, as sparse rows are, their sums need √½ of the
	// noise under Replace.
	NonNegative bool
	// Method is how the mean is computed. 0 chooses.
	Method Method
	// Steps selects the steps of the method.
	Steps Steps
	// Shares are the parts of Rho that the steps before the sum get. 0 chooses.
	Shares Shares
	// Symmetric says that rows lie symmetrically around their centre, as those of
	// Gaussian data do: then clipping an eighth of them does no harm, and less
	// noise is needed. Skewed rows (incomes, latencies, counts) are biased by
	// it far more than the noise, and rare events are clipped to 0 where they are
	// fewer than the rows that are: see depth.go.
	Symmetric bool
	// Margin multiplies the C that was found, 1 to 2¹⁰: noise grows by it, and
	// the bias of clipping falls. For Adaptive 0 chooses, 1 to 2, by what C
	// itself tells of the tail (margin.go); elsewhere, and if Symmetric or
	// Steps.Clip is given, 0 is 1. What is released has the one that was used.
	Margin float64
	// Failure is β, the probability, in [10⁻¹², ½], that the budget of the
	// quantiles is planned for: see [Params.Plan]. 0 is 0.005.
	Failure float64
	// Workers is the number of goroutines that share the work, at most 1024; 0
	// is 1. It does not change the law of the release, and is 0 in what is
	// released.
	Workers int
}

// validate checks the fields one by one and together.
func (p Params) validate() error {
	s := p.Steps
	share := func(x float64) bool { return x == 0 || x*p.Rho >= leastBudget && x < 1 }
	if err := limits.Rho("plan", p.Rho); err != nil {
		return err
	}
	if err := limits.Relation("plan", p.Relation); err != nil {
		return err
	}
	switch {
	case p.Rho < minRho:
		return bad("Rho", p.Rho, "at least 2⁻³⁰")
	case p.Dim < 1 || p.Dim > maxDim:
		return bad("Dim", p.Dim, "an integer in [1, 2²⁴]")
	case p.Rows < 0 || int64(p.Rows) > maxRows:
		return bad("Rows", p.Rows, "an integer in [0, 2³⁶]")
	case !(p.Max >= minMax && p.Max <= maxMax) && !(p.NonNegative && p.Max == 0):
		return bad("Max", p.Max, "a number in [2⁻¹⁰⁰, 2¹⁰⁰], or 0 with NonNegative")
	case p.Unit != 0 && !(p.Unit > p.max()*minUnit && p.Unit <= p.max()):
		return bad("Unit", p.Unit, "0 or a number in (2⁻⁶⁰·Max, Max]")
	case p.P != 0 && !(p.P >= minP && p.P <= maxP):
		return bad("P", p.P, "0 or a number in [1/16, 64]")
	case p.Method > lastMethod:
		return bad("Method", p.Method, "one of the constants")
	case p.Method == TwoPass && !p.NonNegative:
		return bad("Method", p.Method, "another one where entries may be negative")
	case p.Method == InstanceOptimal && p.NonNegative:
		return bad("Method", p.Method, "another one if NonNegative: it centres rows")
	case s.Centre > lastCentre:
		return bad("Steps.Centre", s.Centre, "one of the constants")
	case s.Centre == Median && p.NonNegative && (p.Method == TwoPass || p.Method == Thesis):
		return bad("Steps.Centre", s.Centre, "Origin for this Method where rows are NonNegative")
	case s.Scaling > lastScaling:
		return bad("Steps.Scaling", s.Scaling, "one of the constants")
	case s.Spread > lastSpread:
		return bad("Steps.Spread", s.Spread, "one of the constants")
	case s.Spread == Pairs && p.relation() != budget.Replace:
		return bad("Steps.Spread", s.Spread, "another one under AddRemove")
	case s.Spread == Means && !p.NonNegative:
		return bad("Steps.Spread", s.Spread, "another one where entries may be negative")
	case s.Group < 0 || s.Group > maxGroup:
		return bad("Steps.Group", s.Group, "an integer in [0, 2¹⁰]")
	case s.Base != AutoBase && s.Base != Uniform:
		return bad("Steps.Base", s.Base, "AutoBase or Uniform")
	case s.Search < 0 || s.Search > maxSearch:
		return bad("Steps.Search", s.Search, "an integer in [0, 64]")
	case s.Clip != 0 && !(s.Clip > 0 && s.Clip < 1):
		return bad("Steps.Clip", s.Clip, "0 or a number in (0, 1)")
	case s.Floor != 0 && !(s.Floor > 0 && s.Floor <= p.max()):
		return bad("Steps.Floor", s.Floor, "a number in [0, Max]")
	case p.Margin != 0 && !(p.Margin >= 1 && p.Margin <= maxMargin):
		return bad("Margin", p.Margin, "0 or a number in [1, 2¹⁰]")
	case !share(p.Shares.Centre):
		return bad("Shares.Centre", p.Shares.Centre, "0 or a number in [2⁻³⁸/Rho, 1)")
	case !share(p.Shares.Scale):
		return bad("Shares.Scale", p.Shares.Scale, "0 or a number in [2⁻³⁸/Rho, 1)")
	case !share(p.Shares.Clip):
		return bad("Shares.Clip", p.Shares.Clip, "0 or a number in [2⁻³⁸/Rho, 1)")
	case !share(p.Shares.Divisor) || p.Shares.total() > mostShares:
		return bad("Shares.Divisor", p.Shares.Divisor, "0 or a number in [2⁻³⁸/Rho, 1), all shares together at most 0.99")
	case p.Failure != 0 && !(p.Failure >= minBeta && p.Failure <= 0.5):
		return bad("Failure", p.Failure, "0 or a number in [10⁻¹², ½]")
	case p.Workers < 0 || p.Workers > 1024:
		return bad("Workers", p.Workers, "an integer in [0, 1024]")
	}
	return nil
}

// resolved returns the Params with every default filled in that depends neither on the data nor on
// their number.
func (p Params) resolved() Params {
	p.Max, p.Unit, p.P, p.Relation, p.Failure = p.max(), p.unit(), p.power(), p.relation(), p.failure()
	if p.Method == Plain || p.Method == TwoPass || p.NonNegative && p.Method == Thesis {
		p.Steps.Centre = Origin
	}
	if p.Steps.Group == 0 {
		p.Steps.Group = 1
	}
	if p.Margin == 0 && p.Method != Auto && !p.choosesMargin() {
		p.Margin = 1
	}
	switch p.Method {
	case Thesis:
		return p.thesis()
	case InstanceOptimal:
		return p.iome().noNegativeZeros()
	}
	if p.Steps.Spread == AutoSpread {
		p.Steps.Spread = Deviations
	}
	return p.noNegativeZeros()
}

// adaptable returns the method and the centre that Auto stands for if rows, dense or sparse, are
// enough.
func (p Params) adaptable(sparse bool) Params {
	if p.Method == Auto {
		p.Method = Adaptive
		if p.NonNegative && sparse {
			p.Method = TwoPass
		}
	}
	p = p.resolved()
	if p.Steps.Centre == AutoCentre {
		p.Steps.Centre = Median
		if sparse {
			p.Steps.Centre = Origin
		}
	}
	return p
}

// chosen returns the Params with Auto decided, for n rows. It is Plain where a quantile would more
// probably miss than not, and where the noise would be larger even if no coordinate varied by more
// than a Unit, unless some step is asked for. public are the ranges, or nil.
func (p Params) chosen(n float64, sparse bool, public *ranges) Params {
	q := p.adaptable(sparse)
	if p.Method != Auto || p.Steps != (Params{}).resolved().Steps || p.Shares != (Shares{}) || p.Symmetric {
		return q
	}
	o := q.stagesBehind(n, typicalGain)
	if noise, plain, _ := q.errorsOf(n, q.spreadOf([]float64{q.Unit}), o, public); o.Failure >= 0.5 || noise >= plain {
		p.Method = Plain
		return p.resolved()
	}
	return q
}

// noNegativeZeros returns the Params with 0 for −0.
func (p Params) noNegativeZeros() Params {
	p.Steps.Clip, p.Steps.Floor = p.Steps.Clip+0, p.Steps.Floor+0
	p.Shares = Shares{p.Shares.Centre + 0, p.Shares.Scale + 0, p.Shares.Clip + 0, p.Shares.Divisor + 0}
	return p
}

// max returns M, the default filled in.
func (p Params) max() float64 {
	if p.Max == 0 {
		return 1
	}
	return p.Max
}

// least returns the least value of an entry.
func (p Params) least() float64 {
	if p.NonNegative {
		return 0
	}
	return -p.max()
}

// unit returns Unit, the default filled in.
func (p Params) unit() float64 {
	if p.Unit == 0 {
		return p.max() * defaultUnit
	}
	return p.Unit
}

// power returns p, the default filled in.
func (p Params) power() float64 {
	switch {
	case p.P != 0:
		return p.P
	case p.NonNegative:
		return 1
	}
	return 2
}

// relation returns the neighbouring relation, the default filled in.
func (p Params) relation() budget.Relation {
	if p.Relation == 0 {
		return budget.AddRemove
	}
	return p.Relation
}

// failure returns β, the default filled in.
func (p Params) failure() float64 {
	if p.Failure == 0 {
		return 0.005
	}
	return p.Failure
}

// Guarantee returns what the release of these Params promises: ρ-zCDP under the Relation. Its
// EpsilonAt tells the ε for a δ. Params that New would reject promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	return budget.ZCDP(p.Rho, budget.Row(p.relation()))
}

// NormBound returns √d·M, the most that the norm of a row can be. NaN for invalid Params.
func (p Params) NormBound() float64 {
	if p.validate() != nil {
		return math.NaN()
	}
	return math.Sqrt(float64(p.Dim)) * p.max()
}

// privateRows reports whether the number of rows is private.
func (p Params) privateRows() bool { return p.relation() == budget.AddRemove && p.Rows == 0 }

// ranks returns how the ranks of values, one a row, change between neighbours.
func (p Params) ranks() change {
	if p.relation() == budget.AddRemove {
		return added
	}
	return replaced
}

// sumSensitivity returns how far two sums of rows of norm at most 1 can be apart under the
// relation.
//
// One row more changes a sum by its norm. Two rows y, y′ of norm at most 1 differ by 2 at most; if
// no coordinate of either is negative, ‖y − y′‖² = ‖y‖² + ‖y′‖² − 2⟨y, y′⟩ ≤ 2, and numbers in
// [0, 1] differ by 1 at most.
func (p Params) sumSensitivity() float64 {
	switch {
	case p.relation() == budget.AddRemove:
		return 1
	case p.NonNegative && p.Steps.Centre == Origin && p.Dim == 1:
		return 1
	case p.NonNegative && p.Steps.Centre == Origin:
		return math.Nextafter(math.Sqrt2, 2)
	}
	return 2
}
