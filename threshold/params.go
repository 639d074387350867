package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)

const (
	minEpsilon = 0x1p-30
	maxEpsilon = 0x1p10
	minDelta   = 1e-300
	minLimit   = 0x1p-200 // of Sensitivity and MaxValue
	maxLimit   = 0x1p200
	maxInteger = 0x1p30 // of Sensitivity and MaxValue of integers
	maxKeys    = 1 << 20
	maxDense   = 1 << 26
	maxFalse   = 1 << 26
)

// Params are the public numbers of a release. They are comparable, and every method answers before any data is seen.
//
// Epsilon and either Delta or Dim are required. All other fields may be 0; what that means stands with each.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Delta is δ, 0 or in [1e-300, 1). With 0 the release is purely ε-private and needs Dim.
	Delta float64
	// Dim is d, the number of possible keys, which are then the integers 0 to d−1; others are ignored. 0 stands for
	// an unbounded key space of any key type.
	Dim uint64

	// Relation says what neighbours are: 0, two vectors with ‖x − x′‖₁ ≤ Sensitivity; budget.AddRemove, one
	// user more or less; budget.Replace, one user's values replaced by other ones. 0 is AddRemove if MaxKeys is given.
	Relation budget.Relation
	// Sensitivity is Δ, in the units of the data: the most that ‖x − x′‖₁ can be under L1, and the most that
	// the values of one user sum to, in absolute value, otherwise. 0 is MaxKeys·MaxValue if MaxKeys is given, else 1.
	Sensitivity float64
	// MaxKeys is the most keys of which one user changes the value, at most 2²⁰. 0 is any number. It excludes L1.
	MaxKeys int
	// MaxValue is the most by which one user changes a value, in absolute value. 0 is Sensitivity, or 1 if that is
	// 0 too. It needs MaxKeys.
	MaxValue float64
	// Stored is a promise about the data: no input ever has more than this many keys with a value that is not 0. 0 promises
	// nothing; Dim is such a promise as well. With it, and users that only add, CorrelatedGaussian is possible.
	Stored int

	// Integers says that all values are integers. What is added is rounded to one.
	Integers bool
	// Signed says that values may be negative. Without it a total below 0 counts as 0, and where MaxKeys is given, so does every
	// value below 0.
	Signed bool
	// FalseKeys is, for PureLaplace, the expected number of released keys that have no value, at most Dim/4 and 2²⁶. 0 is 1/(2·Dim),
	// for which the threshold is the paper's, 2·ln(d)/ε at Δ = 1.
	FalseKeys float64
	// Mechanism is what draws the release. 0 chooses: see [Params.Candidates].
	Mechanism Mechanism
}

// validate checks the fields one by one and together; the mechanism's own conditions are up to its calibration.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error {
		return fault.Params("threshold", field, value, want)
	}
	limits := "0 or a number in [2⁻²⁰⁰, 2²⁰⁰]"
	most := maxLimit
	if p.Integers {
		limits, most = "0 or an integer in [1, 2³⁰], the values being integers", maxInteger
	}
	limit := func(x float64) bool {
		return x == 0 || x >= minLimit && x <= most && !(p.Integers && x != math.Trunc(x))
	}
	switch {
	case !(p.Epsilon >= minEpsilon && p.Epsilon <= maxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻³⁰, 2¹⁰]")
	case p.Delta != 0 && !(p.Delta >= minDelta && p.Delta < 1):
		return bad("Delta", p.Delta, "0 or a number in [1e-300, 1)")
	case p.Delta == 0 && p.Dim == 0:
		return bad("Dim", p.Dim, "at least 1 where Delta is 0: only a bounded key space can be released without δ")
	case p.Relation != 0 && !p.Relation.Valid():
		return bad("Relation", p.Relation, "AddRemove or Replace")
	case !limit(p.Sensitivity):
		return bad("Sensitivity", p.Sensitivity, limits)
	case p.MaxKeys < 0 || p.MaxKeys > maxKeys:
		return bad("MaxKeys", p.MaxKeys, "an integer in [0, 2²⁰]")
	case !limit(p.MaxValue):
		return bad("MaxValue", p.MaxValue, limits)
	case p.MaxValue != 0 && p.MaxKeys == 0:
		return bad("MaxValue", p.MaxValue, "0 where MaxKeys is 0")
	case p.Stored < 0 || p.Stored > maxKeys:
		return bad("Stored", p.Stored, "an integer in [0, 2²⁰]")
	case !(p.FalseKeys >= 0 && p.FalseKeys <= min(float64(p.Dim)/4, maxFalse)):
		return bad("FalseKeys", p.FalseKeys, "a number in [0, Dim/4], and at most 2²⁶")
	case p.Mechanism > lastMechanism:
		return bad("Mechanism", p.Mechanism, "one of the constants")
	}
	return nil
}

// relation returns the neighbouring relation of users, 0 for vectors at an ℓ₁ distance.
func (p Params) relation() budget.Relation {
	switch {
	case p.Relation != 0:
		return p.Relation
	case p.MaxKeys > 0:
		return budget.AddRemove
	}
	return 0
}

// unit returns whom the release protects.
func (p Params) unit() budget.Unit {
	if p.relation() == 0 {
		return budget.L1(p.total())
	}
	return budget.User(p.MaxKeys, p.relation())
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

// total returns the most that the values of one user sum to; under L1, Δ.
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

// change returns the most steps by which one total differs between neighbours: where values are Signed, it can go from −MaxValue of
// one user to MaxValue of the one that replaces him, each rounded. +Inf if only Sensitivity limits it.
func (p Params) change(step float64) float64 {
	w := math.Ceil(p.perKey() / step)
	if p.Signed {
		w *= float64(p.users())
	}
	return w
}

// Guarantee returns what the release of these Params promises: ε for the pure mechanisms, else (ε, δ), under the Relation.
func (p Params) Guarantee() budget.Guarantee {
	if _, err := p.choose(); err != nil {
		return budget.Guarantee{}
	}
	if p.Mechanism == PureLaplace || p.Mechanism == DenseLaplace || p.Mechanism == Auto && p.Delta == 0 {
		return budget.PureDP(p.Epsilon, p.unit())
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, p.unit())
}

// Threshold returns the least value that is released, in the units of the data: the least absolute value if
// Signed, −Inf for DenseLaplace. NaN if the Params are invalid.
func (p Params) Threshold() float64 {
	c, err := p.choose()
	if err != nil {
		return math.NaN()
	}
	return c.lowest()
}

// StdDev returns the standard deviation of the noise of one released value, in the units of the data. NaN if the Params are invalid.
func (p Params) StdDev() float64 {
	c, err := p.choose()
	if err != nil {
		return math.NaN()
	}
	return c.stdDev()
}

// ErrorBound returns a bound on |estimate − value| that holds with the given confidence for all keys at once, if at
// most stored keys have a value: a hidden key is off by what the threshold and its noise are, a released one by
// its noise. With PureLaplace all Dim keys have noise. NaN if an argument is invalid.
func (p Params) ErrorBound(stored int, confidence float64) float64 {
	c, err := p.choose()
	if err != nil || stored < 0 || !validConfidence(confidence) {
		return math.NaN()
	}
	return c.errorBound(stored, p.Dim, confidence)
}

// Size returns the length in bytes of the encoding of a Vector of n released integer keys.
func (p Params) Size(n int) int { return fixedSize + 16*max(n, 0) }

// validConfidence reports whether confidence is in [0, 1).
func validConfidence(confidence float64) bool { return confidence >= 0 && confidence < 1 }
