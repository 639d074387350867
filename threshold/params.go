package threshold

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen. Epsilon and either Delta or Dim are required. MaxKeys decides the model:
// without it neighbours are vectors at an ℓ₁ distance, with it they differ in one user.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Delta is δ, 0 or in [1e-300, 1). With 0 the release is purely ε-private and
	// needs Dim.
	Delta float64
	// Dim is d, the number of possible keys, which are then the integers 0 to d−1;
	// others are ignored. 0 stands for an unbounded key space of any key type.
	Dim uint64
	// MaxKeys is an upper bound on the keys whose values one user changes, at most
	// 2²⁰. 0 is the model without users.
	MaxKeys int
	// MaxValue is an upper bound on the absolute change of a value by one user.
	// 0 is Sensitivity, or 1 if that is 0 too. It needs MaxKeys.
	MaxValue float64
	// Sensitivity is Δ, in the units of the data: an upper bound on ‖x − x′‖₁;
	// with MaxKeys, on the sum of the absolute values of one user. 0 is
	// MaxKeys·MaxValue if MaxKeys is given, else 1.
	Sensitivity float64
	// Relation says whether neighbours differ in a user who is added or removed,
	// [budget.AddRemove], which 0 stands for, or in one who is replaced,
	// [budget.Replace]. It needs MaxKeys.
	Relation budget.Relation
	// Stored is a promise about the data: no input ever has more than this many
	// keys with a value that is not 0. 0 promises nothing; Dim is such a promise
	// as well. CorrelatedGaussian needs it.
	Stored int
	// Integers says that all values are integers. What is added is rounded to the
	// nearest one.
	Integers bool
	// Signed says that values may be negative. Without it a total below 0 counts
	// as 0, and where MaxKeys is given, so does every value below 0.
	Signed bool
	// FalseKeys is, for PureLaplace, the expected number of released keys that
	// have no value, at most Dim/4 and 2²⁶. 0 is 1/(2·Dim).
	FalseKeys float64
	// Method is what draws the release. 0 is the possible one with the least
	// threshold.
	Method Method

	listed bool // Dim is the number of keys of a public list: see NewListed
}

// Guarantee returns what a release promises: ε for the pure mechanisms, else (ε, δ); without
// MaxKeys for vectors at ℓ₁ distance Sensitivity, else for one user with at most MaxKeys keys.
// Invalid Params promise nothing. It takes as long as New.
func (p Params) Guarantee() budget.Guarantee {
	law, _ := p.inner().Law() // that of invalid Params promises nothing
	return law.Guarantee()
}

// inner returns the Params of the mechanism, and outer what they came from.
func (p Params) inner() sparse.Params {
	return sparse.Params{
		Epsilon: p.Epsilon, Delta: p.Delta, Dim: p.Dim, MaxKeys: p.MaxKeys, MaxValue: p.MaxValue, Sensitivity: p.Sensitivity, Relation: p.Relation,
		Stored: p.Stored, Integers: p.Integers, Signed: p.Signed, FalseKeys: p.FalseKeys, Method: sparse.Method(p.Method), Listed: p.listed,
	}
}

func outer(p sparse.Params) Params {
	return Params{
		Epsilon: p.Epsilon, Delta: p.Delta, Dim: p.Dim, MaxKeys: p.MaxKeys, MaxValue: p.MaxValue, Sensitivity: p.Sensitivity, Relation: p.Relation,
		Stored: p.Stored, Integers: p.Integers, Signed: p.Signed, FalseKeys: p.FalseKeys, Method: Method(p.Method), listed: p.Listed,
	}
}
