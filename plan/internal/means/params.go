package means

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Limits of the numbers.
const (
	MaxDim    = 1 << 24
	MaxRows   = 1 << 36
	MaxGroup  = 1 << 10
	MaxSearch = 64

	MinRho        = 0x1p-30
	minMax        = 0x1p-100
	maxMax        = 0x1p100
	minResolution = 0x1p-100 // of Max: what 0 stands for
	// of Max: from there on a Resolution says of what size rare events are, and it is the one of
	// the published mechanisms, whose quantiles are uniform
	saidResolution = 0x1p-20
	maxP           = 64
	minP           = 0x1p-4
	minBeta        = 1e-12
	maxMargin      = 1 << 10

	// leastBudget is the least that a given share may be of ρ, and below what any other step gets:
	// σ = 2·2²⁶/√(2ρ) is the noise of a sum, in steps, and package noise draws up to 2⁴⁶.
	leastBudget = 0x1p-38
	mostShares  = 0.99
)

// Params are the public numbers of a release. Package plan documents those that its own Params
// have, package plan/thesis Steps and Shares.
type Params struct {
	Rho                    float64
	Epsilon, Delta         float64 // what Rho was found for, or 0: only for who reads the Params
	Dim, Rows              int
	Max, Resolution, P     float64
	Relation               budget.Relation
	NonNegative, Symmetric bool
	Relative               bool
	Method                 Method
	Steps                  Steps
	Shares                 Shares
	Margin                 float64
	Failure                float64 // β, in [10⁻¹², ½], that quantiles are planned for; 0 is 0.005
	Workers                int
}

// Method is how the mean is computed. The numbers are those of the encoding.
type Method uint8

// The methods: those of package plan, and Thesis and InstanceOptimal of package plan/thesis.
const (
	Auto Method = iota
	Adaptive
	TwoPass
	Thesis
	Plain
	InstanceOptimal

	lastMethod = InstanceOptimal
)

// MethodNames are the names of the methods.
var MethodNames = []string{"Auto", "Adaptive", "TwoPass", "Thesis", "Plain", "InstanceOptimal"}

// String returns the name of the method.
func (m Method) String() string { return check.EnumName(m, MethodNames, "Method") }

// Centre says around which point rows are clipped.
type Centre uint8

// AutoCentre is Median for dense rows, and Origin for sparse ones.
const (
	AutoCentre Centre = iota
	Median
	Origin
)

// Scaling says whether coordinates are scaled before rows are clipped. AutoScaling decides after a
// look at the scales of a few coordinates, if the gain is worth the budget.
type Scaling uint8

// Scaled always scales, Unscaled never.
const (
	AutoScaling Scaling = iota
	Scaled
	Unscaled
)

// Spread is an estimator of the standard deviation of a coordinate.
type Spread uint8

const (
	// AutoSpread is Deviations, or what the thesis has.
	AutoSpread Spread = iota
	// Deviations is the median of |x − μ̃|, which estimates 0.6745·σ of Gaussian data.
	Deviations
	// Pairs is Algorithm 18: the median over groups of Steps.Group disjoint pairs of half the sum
	// of their squared differences. It needs Replace, since a row more would change all pairs
	// behind it.
	Pairs
	// Direct is the .841 quantile less μ̃ (section 5.C.2).
	Direct
	// Means is √(q̃(1 − q̃)) for a noisy mean q̃ of binary rows.
	Means

	lastSpread = Means
)

// Steps selects the steps of a release. The zero value leaves all to the Method.
type Steps struct {
	Centre  Centre
	Scaling Scaling
	Spread  Spread
	Group   int           // k of Algorithm 18, in [1, 2¹⁰]; 0 is 1
	Base    quantile.Base // of the quantiles: AutoBase or Uniform
	Search  int           // steps of the binary search, at most 64; 0 is the exponential mechanism
	// Clip is the part of the rows, in (0, 1), that is not clipped. 0 leaves it to
	// the rule of limit.go, Thesis and InstanceOptimal to theirs. For TwoPass it
	// is that of the second pass.
	Clip float64
	// Undivided leaves the clipped mean as it is, nearer to the centre than the
	// mean. Else it is divided by a private γ, the mean of min(1, C/‖y‖).
	Undivided bool
	// Unshrunk takes scales as they are. Else log σ̂ is shrunk to its median by
	// what its noise is of its variance.
	Unshrunk bool
	// Regularized adds ‖σ̂^e‖₁/d to σ̂^e, e = 2p/(p+2), as assumption 5.1 of the
	// thesis and Definition 5.6 allow.
	Regularized bool
	Floor       float64 // the least standard deviation, in the units of the data
}

// Shares are parts of Rho, each 0 or less than 1, of at least 2⁻³⁸ once multiplied by Rho, and
// together at most 0.99. The sum gets what they leave.
type Shares struct {
	Centre  float64
	Scale   float64 // for TwoPass the sums of the first pass
	Clip    float64 // for TwoPass half of it for each pass
	Divisor float64
}

// total returns the sum of the shares.
func (s Shares) total() float64 { return s.Centre + s.Scale + s.Clip + s.Divisor }

// Validate checks the fields one by one and together.
func (p Params) Validate() error {
	p = p.filled()
	s := p.Steps
	if err := check.Rho("plan", p.Rho); err != nil {
		return err
	}
	if err := check.Relation("plan", p.Relation); err != nil {
		return err
	}
	share := func(x float64) bool { return x == 0 || x*p.Rho >= leastBudget && x < 1 }
	const part = "0 or a number in [2⁻³⁸/Rho, 1)"
	for _, c := range []struct {
		ok    bool
		field string
		value any
		want  string
	}{
		{p.Rho >= MinRho, "Rho", p.Rho, "at least 2⁻³⁰"},
		{p.Dim >= 1 && p.Dim <= MaxDim, "Dim", p.Dim, "an integer in [1, 2²⁴]"},
		{p.Rows >= 0 && int64(p.Rows) <= MaxRows, "Rows", p.Rows, "an integer in [0, 2³⁶]"},
		{p.Max >= minMax && p.Max <= maxMax, "Max", p.Max, "a number in [2⁻¹⁰⁰, 2¹⁰⁰], or 0 with NonNegative"},
		{p.Resolution >= p.Max*minResolution && p.Resolution <= p.Max, "Resolution", p.Resolution, "0 or a number in [2⁻¹⁰⁰·Max, Max]"},
		{p.P >= minP && p.P <= maxP, "P", p.P, "0 or a number in [1/16, 64]"},
		{p.Method <= lastMethod, "Method", p.Method, "one of the constants"},
		{p.Method != TwoPass || p.NonNegative, "Method", p.Method, "another one where entries may be negative"},
		{p.Method != InstanceOptimal || !p.NonNegative, "Method", p.Method, "another one if NonNegative: it centres rows"},
		{s.Centre <= Origin, "Steps.Centre", s.Centre, "one of the constants"},
		{s.Centre != Median || !p.NonNegative || p.Method != TwoPass && p.Method != Thesis, "Steps.Centre", s.Centre, "Origin for this Method where rows are NonNegative"},
		{s.Scaling <= Unscaled, "Steps.Scaling", s.Scaling, "one of the constants"},
		{s.Spread <= lastSpread, "Steps.Spread", s.Spread, "one of the constants"},
		{s.Spread != Pairs || p.Relation == budget.Replace, "Steps.Spread", s.Spread, "another one under AddRemove"},
		{s.Spread != Means || p.NonNegative, "Steps.Spread", s.Spread, "another one where entries may be negative"},
		{s.Group >= 0 && s.Group <= MaxGroup, "Steps.Group", s.Group, "an integer in [0, 2¹⁰]"},
		{s.Base == quantile.AutoBase || s.Base == quantile.Uniform, "Steps.Base", s.Base, "AutoBase or Uniform"},
		{s.Search >= 0 && s.Search <= MaxSearch, "Steps.Search", s.Search, "an integer in [0, 64]"},
		{s.Clip == 0 || s.Clip > 0 && s.Clip < 1, "Steps.Clip", s.Clip, "0 or a number in (0, 1)"},
		{s.Floor == 0 || s.Floor > 0 && s.Floor <= p.Max, "Steps.Floor", s.Floor, "a number in [0, Max]"},
		{p.Margin == 0 || p.Margin >= 1 && p.Margin <= maxMargin, "Margin", p.Margin, "0 or a number in [1, 2¹⁰]"},
		{p.Failure >= minBeta && p.Failure <= 0.5, "Failure", p.Failure, "0 or a number in [10⁻¹², ½]"},
		{p.Workers >= 0 && p.Workers <= 1024, "Workers", p.Workers, "an integer in [0, 1024]"},
		{share(p.Shares.Centre), "Shares.Centre", p.Shares.Centre, part},
		{share(p.Shares.Scale), "Shares.Scale", p.Shares.Scale, part},
		{share(p.Shares.Clip), "Shares.Clip", p.Shares.Clip, part},
		{share(p.Shares.Divisor), "Shares.Divisor", p.Shares.Divisor, part},
		{p.Shares.total() <= mostShares, "Shares", p.Shares, "shares of at most 0.99 together"},
	} {
		if !c.ok {
			return bad(c.field, c.value, c.want)
		}
	}
	return nil
}

// filled returns the Params with the default of each number that is 0.
func (p Params) filled() Params {
	if p.Max == 0 && p.NonNegative {
		p.Max = 1
	}
	if p.Resolution == 0 {
		p.Resolution = p.Max * minResolution
		if p.Method == Thesis || p.Method == InstanceOptimal {
			p.Resolution = p.Max * saidResolution
		}
	}
	if p.P == 0 {
		p.P = 2
		if p.NonNegative {
			p.P = 1
		}
	}
	p.Relation = cmp.Or(p.Relation, budget.AddRemove)
	p.Failure = cmp.Or(p.Failure, 0.005)
	return p
}

// Resolved returns the Params with every default filled in that depends neither on the data nor on
// their number.
func (p Params) Resolved() Params {
	p = p.filled()
	if p.Method == Plain || p.Method == TwoPass || p.NonNegative && p.Method == Thesis {
		p.Steps.Centre = Origin
	}
	p.Steps.Group = cmp.Or(p.Steps.Group, 1)
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
	p = p.Resolved()
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
// than the Resolution, unless some step is asked for. public are the ranges, or nil.
func (p Params) chosen(n float64, sparse bool, public *ranges) Params {
	q := p.adaptable(sparse)
	if p.Method != Auto || p.Steps != (Params{}).Resolved().Steps || p.Shares != (Shares{}) || p.Symmetric {
		return q
	}
	o := q.stagesBehind(n, typicalGain)
	noise, plain, _ := q.errorsOf(n, q.spreadOf([]float64{q.Resolution}), o, public, sparse)
	if o.Failure >= 0.5 || noise >= plain && !q.Relative {
		p.Method = Plain
		return p.Resolved()
	}
	return q
}

// noNegativeZeros returns the Params with 0 for −0.
func (p Params) noNegativeZeros() Params {
	p.Steps.Clip, p.Steps.Floor = p.Steps.Clip+0, p.Steps.Floor+0
	p.Shares = Shares{p.Shares.Centre + 0, p.Shares.Scale + 0, p.Shares.Clip + 0, p.Shares.Divisor + 0}
	return p
}

// least returns the least value of an entry.
func (p Params) least() float64 {
	if p.NonNegative {
		return 0
	}
	return -p.Max
}

// Guarantee returns what the release of these Params promises: ρ-zCDP under the Relation. Its
// EpsilonAt tells the ε for a δ. Params that New would reject promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p.Validate() != nil {
		return budget.Guarantee{}
	}
	return budget.ZCDP(p.Rho, budget.Row(p.filled().Relation))
}

// PrivateRows reports whether the number of rows is private.
func (p Params) PrivateRows() bool { return p.Relation != budget.Replace && p.Rows == 0 }

// ranks returns how the ranks of values, one a row, change between neighbours.
func (p Params) ranks() quantile.Change {
	if p.Relation == budget.Replace {
		return quantile.Replaced
	}
	return quantile.Added
}

// sumSensitivity returns how far two sums of rows of norm at most 1 can be apart under the
// relation.
//
// One row more changes a sum by its norm. Two rows y, y′ of norm at most 1 differ by 2 at most; if
// no coordinate of either is negative, ‖y − y′‖² = ‖y‖² + ‖y′‖² − 2⟨y, y′⟩ ≤ 2, and numbers in
// [0, 1] differ by 1 at most.
func (p Params) sumSensitivity() float64 {
	switch {
	case p.Relation != budget.Replace:
		return 1
	case p.NonNegative && p.Steps.Centre == Origin && p.Dim == 1:
		return 1
	case p.NonNegative && p.Steps.Centre == Origin:
		return math.Nextafter(math.Sqrt2, 2)
	}
	return 2
}

// bad returns the error for a field of the Params.
func bad(field string, value any, want string) error {
	return check.ParamsError("plan", field, value, want)
}

// notMade returns the error for a zero Mechanism, which has no budget to spend.
func notMade() error { return bad("Dim", 0, "a Mechanism made by New") }

// interrupted returns the error of a context that ended a release. Nothing was released.
func interrupted(err error) error { return fmt.Errorf("plan: Release: %w", err) }
