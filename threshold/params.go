package threshold

import (
	"cmp"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)

const (
	maxKeys  = 1 << 20
	maxDense = 1 << 26
	maxFalse = 1 << 26
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen, by the check that New makes.
//
// Epsilon and either Delta or Dim are required. All other fields may be 0; what that means stands
// with each. MaxKeys decides the model: without it neighbours are vectors at an ℓ₁ distance, with
// it they differ in one user.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Delta is δ, 0 or in [1e-300, 1). With 0 the release is purely ε-private and
	// needs Dim.
	Delta float64
	// Dim is d, the number of possible keys, which are then the integers 0 to d−1;
	// others are ignored. 0 stands for an unbounded key space of any key type.
	Dim uint64

	// Listed says that Dim is the number of keys of a public list, of any type:
	// see [NewListed], which sets it. Delta is 0 then.
	Listed bool

	// MaxKeys is the most keys whose values one user changes, at most 2²⁰. 0
	// stands for the model without users: vectors at an ℓ₁ distance.
	MaxKeys int
	// MaxValue is the most by which one user changes a value, in absolute value.
	// 0 is Sensitivity, or 1 if that is 0 too. It needs MaxKeys.
	MaxValue float64
	// Sensitivity is Δ, in the units of the data: the most that ‖x − x′‖₁ can be,
	// which with MaxKeys is the most that the absolute values of one user sum to.
	// 0 is MaxKeys·MaxValue if MaxKeys is given, else 1.
	Sensitivity float64
	// Relation says whether neighbours differ in a user who is added or removed,
	// [budget.AddRemove], which 0 stands for, or in one who is replaced,
	// [budget.Replace]. It needs MaxKeys.
	Relation budget.Relation
	// Stored is a promise about the data: no input ever has more than this many
	// keys with a value that is not 0. 0 promises nothing; Dim is such a promise
	// as well. With it, and users that only add, CorrelatedGaussian is possible.
	Stored int

	// Beside says that one more number is released beside the keys: see
	// [Builder.AddBeside]. It needs Integers, MaxKeys, and users that only add.
	Beside bool

	// Integers says that all values are integers. What is added is rounded to one.
	Integers bool
	// Signed says that values may be negative. Without it a total below 0 counts
	// as 0, and where MaxKeys is given, so does every value below 0.
	Signed bool
	// FalseKeys is, for PureLaplace, the expected number of released keys that
	// have no value, at most Dim/4 and 2²⁶. 0 is 1/(2·Dim), for which the
	// threshold is the paper's, 2·ln(d)/ε at Δ = 1.
	FalseKeys float64
	// Method is what draws the release. 0 chooses: see [Params.Candidates].
	Method Method
}

// validate checks the fields one by one and together; the mechanism's own conditions are up to its
// calibration.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error {
		return fault.Params("threshold", field, value, want)
	}
	if err := cmp.Or(
		limits.Epsilon("threshold", p.Epsilon, limits.MaxEpsilon),
		limits.Delta("threshold", p.Delta),
		limits.Relation("threshold", p.Relation),
		limits.Real("threshold", "Sensitivity", p.Sensitivity, p.Integers),
		limits.Real("threshold", "MaxValue", p.MaxValue, p.Integers),
	); err != nil {
		return err
	}
	switch {
	case p.Delta == 0 && p.Dim == 0:
		return bad("Dim", p.Dim, "at least 1 where Delta is 0: only a bounded key space can be released without δ")
	case p.Listed && p.Delta != 0:
		return bad("Delta", p.Delta, "0 where keys are listed")
	case p.MaxKeys < 0 || p.MaxKeys > maxKeys:
		return bad("MaxKeys", p.MaxKeys, "an integer in [0, 2²⁰]")
	case p.MaxKeys == 0 && p.MaxValue != 0:
		return bad("MaxValue", p.MaxValue, "0 where MaxKeys is 0")
	case p.MaxKeys == 0 && p.Relation != 0:
		return bad("Relation", p.Relation, "0 where MaxKeys is 0: without users neighbours are vectors at ℓ₁ distance Sensitivity")
	case p.Stored < 0 || p.Stored > maxKeys:
		return bad("Stored", p.Stored, "an integer in [0, 2²⁰]")
	case p.Beside && !(p.Integers && p.MaxKeys > 0 && p.adds()):
		return bad("Beside", p.Beside, "false unless Integers and MaxKeys are given, Relation is AddRemove and Signed is false")
	case !(p.FalseKeys >= 0 && p.FalseKeys <= min(float64(p.Dim)/4, maxFalse)):
		return bad("FalseKeys", p.FalseKeys, "a number in [0, Dim/4], and at most 2²⁶")
	case p.Method > lastMethod:
		return bad("Method", p.Method, "one of the constants")
	}
	return nil
}

// relation returns what becomes of a user, 0 where there are none.
func (p Params) relation() budget.Relation {
	if p.Relation == 0 && p.MaxKeys > 0 {
		return budget.AddRemove
	}
	return p.Relation
}

// perKey returns the most by which one user changes a value, +Inf if only Sensitivity limits it.
func (p Params) perKey() float64 {
	switch {
	case p.MaxKeys == 0:
		return math.Inf(1)
	case p.MaxValue > 0:
		return p.MaxValue
	case p.Sensitivity > 0:
		return p.Sensitivity
	}
	return 1
}

// total returns Δ: the most that the values of one user sum to, or by which vectors differ.
func (p Params) total() float64 {
	switch {
	case p.MaxKeys > 0 && p.Sensitivity > 0:
		return min(p.Sensitivity, float64(p.MaxKeys)*p.perKey())
	case p.MaxKeys > 0:
		return float64(p.MaxKeys) * p.perKey()
	case p.Sensitivity > 0:
		return p.Sensitivity
	}
	return 1
}

// users returns how many users' values two neighbours differ in.
func (p Params) users() int {
	if p.relation() == budget.Replace {
		return 2
	}
	return 1
}

// change returns the most steps by which one total differs between neighbours: where values are
// Signed, it can go from −MaxValue of one user to MaxValue of the one that replaces him, each
// rounded. +Inf if only Sensitivity limits it.
func (p Params) change(step float64) float64 {
	w := math.Ceil(p.perKey() / step)
	if p.Signed {
		w *= float64(p.users())
	}
	return w
}

// Guarantee returns what the release of these Params promises: ε for the pure mechanisms, else (ε,
// δ); without MaxKeys for vectors at ℓ₁ distance Sensitivity, else for one user with at most
// MaxKeys keys. Invalid Params promise nothing. It takes as long as New.
func (p Params) Guarantee() budget.Guarantee {
	c, err := p.choose()
	if err != nil {
		return budget.Guarantee{}
	}
	return p.promise(c)
}

// promise is Guarantee for valid Params and their calibration: ε and δ, with what the noise is for
// the accountant.
//
// Integers, and totals that are rounded towards 0, move by whole steps: discrete Laplace noise on
// all keys is [budget.DiscreteLaplace], and where keys without a value are hidden each of those
// that are on one side only escapes with a probability that δ bounds (see silence below). Noise
// after rounding at random, and a rounding to 0 or R, have no better law than ε. Nor has noise that
// keys share.
//
// Silence. Let u keys be on one side only, v ≤ m on the other, and escape independently, with
// probability at most 1 − F each: then all are silent with probability F^u, and what is seen of the
// others has laws P and Q with or without, as noise is independent. At α = e^ε the divergence is 1
// − F^u + F^u·H_{αF^{v−u}}(P‖Q), and H_{cα} ≤ 1 − c + c·H_α for c ≤ 1 by convexity, so it is at
// most w + (1 − w)·H_α(P‖Q) with w = 1 − F^max(u,v), in every case.
func (p Params) promise(c calibration) budget.Guarantee {
	unit := budget.L1(p.total())
	if p.MaxKeys > 0 {
		unit = budget.User(p.MaxKeys, p.relation())
	}
	whole := p.MaxKeys > 0 || p.Integers
	switch {
	case c.method.pure() && whole:
		return budget.DiscreteLaplace(p.Epsilon, c.scale, unit)
	case c.method.pure():
		return budget.PureDP(p.Epsilon, unit)
	}
	g := budget.ApproxDP(p.Epsilon, p.Delta, unit)
	switch {
	case c.method == Laplace && whole && !p.Beside:
		return g.WithPair(budget.DiscreteLaplace(p.Epsilon, c.scale, unit).WithEscape(p.Delta))
	case c.method == Gaussian:
		changed, most := float64(p.changed()), p.change(c.step)
		silent := changed * logBelow(c.scale, (float64(c.threshold)-0.5-most)*(1-0x1p-50))
		mu := sqrtAbove(changed) * most / c.scale
		if p.Beside {
			mu = math.Hypot(mu, most/c.beside)
		}
		mu *= 1 + 0x1p-50
		return g.WithPair(budget.GDP(mu, unit).WithEscape(-math.Expm1(-silent) * (1 + 0x1p-50)))
	}
	return g
}

// Threshold returns the least value that is released, in the units of the data: the least absolute
// value if Signed, −Inf for DenseLaplace. NaN if the Params are invalid.
func (p Params) Threshold() float64 {
	c, err := p.choose()
	if err != nil {
		return math.NaN()
	}
	return c.lowest()
}

// StdDev returns the standard deviation of the noise of one released value, in the units of the
// data. NaN if the Params are invalid.
func (p Params) StdDev() float64 {
	c, err := p.choose()
	if err != nil {
		return math.NaN()
	}
	return c.stdDev()
}

// ErrorBound returns a bound on |estimate − value| that holds with the given confidence for all
// keys at once, if at most stored keys have a value: a hidden key is off by at most the threshold
// and its noise, a released one by its noise. With PureLaplace all Dim keys have noise. NaN if an
// argument is invalid.
func (p Params) ErrorBound(stored int, confidence float64) float64 {
	c, err := p.choose()
	if err != nil || stored < 0 || !limits.Confidence(confidence) {
		return math.NaN()
	}
	return c.errorBound(stored, p.Dim, confidence)
}

// Size returns the length in bytes of the encoding of a Vector of n released integer keys. 0 if the
// Params are invalid.
func (p Params) Size(n int) int {
	if _, err := p.choose(); err != nil {
		return 0
	}
	size := fixedSize + 16*max(n, 0)
	if p.Beside {
		size += 2 * 8
	}
	return size
}
