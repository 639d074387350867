package sparse

import (
	"cmp"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	// MaxKeys bounds MaxKeys and Stored.
	MaxKeys  = 1 << 20
	maxDense = 1 << 26
	maxFalse = 1 << 26
)

// Params are those of package threshold, which documents them, and two more.
type Params struct {
	Epsilon, Delta float64
	Dim            uint64
	MaxKeys        int
	MaxValue       float64
	Sensitivity    float64
	Relation       budget.Relation
	Stored         int
	Integers       bool
	Signed         bool
	FalseKeys      float64
	Method         Method
	Listed         bool // Dim is the number of keys of a public list, of any type
	Beside         bool // one more number is released beside the keys: see Release
}

// Method is threshold.Method.
type Method uint8

// The mechanisms, as package threshold has them.
const (
	Auto Method = iota
	ExponentialRounding
	LinearRounding
	Laplace
	Gaussian
	CorrelatedGaussian
	PureLaplace
	DenseLaplace

	LastMethod = DenseLaplace
)

// MethodNames are the names of the constants.
var MethodNames = []string{
	"Auto", "ExponentialRounding", "LinearRounding", "Laplace", "Gaussian", "CorrelatedGaussian", "PureLaplace", "DenseLaplace",
}

// String returns the name of the constant.
func (m Method) String() string { return check.EnumName(m, MethodNames, "Method") }

// pure reports whether the mechanism is ε-private without δ.
func (m Method) pure() bool { return m == PureLaplace || m == DenseLaplace }

// normal reports whether the noise is normal, else it is discrete Laplace.
func (m Method) normal() bool { return m == Gaussian || m == CorrelatedGaussian }

// validate checks the fields one by one and together; the mechanism's own conditions are up to its
// calibration.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error {
		return check.ParamsError("threshold", field, value, want)
	}
	if err := cmp.Or(
		check.Epsilon("threshold", p.Epsilon, check.MaxEpsilon),
		check.Delta("threshold", p.Delta),
		check.Relation("threshold", p.Relation),
		check.Real("threshold", "Sensitivity", p.Sensitivity, p.Integers),
		check.Real("threshold", "MaxValue", p.MaxValue, p.Integers),
	); err != nil {
		return err
	}
	switch {
	case p.Delta == 0 && p.Dim == 0:
		return bad("Dim", p.Dim, "at least 1 where Delta is 0: only a bounded key space can be released without δ")
	case p.Listed && p.Delta != 0:
		return bad("Delta", p.Delta, "0 where keys are listed")
	case p.MaxKeys < 0 || p.MaxKeys > MaxKeys:
		return bad("MaxKeys", p.MaxKeys, "an integer in [0, 2²⁰]")
	case p.MaxKeys == 0 && p.MaxValue != 0:
		return bad("MaxValue", p.MaxValue, "0 where MaxKeys is 0")
	case p.MaxKeys == 0 && p.Relation != 0:
		return bad("Relation", p.Relation, "0 where MaxKeys is 0: without users neighbours are vectors at ℓ₁ distance Sensitivity")
	case p.Stored < 0 || p.Stored > MaxKeys:
		return bad("Stored", p.Stored, "an integer in [0, 2²⁰]")
	case p.Beside && !(p.Integers && p.MaxKeys > 0 && p.adds()):
		return bad("Beside", p.Beside, "false unless Integers and MaxKeys are given, Relation is AddRemove and Signed is false")
	case !(p.FalseKeys >= 0 && p.FalseKeys <= min(float64(p.Dim)/4, maxFalse)):
		return bad("FalseKeys", p.FalseKeys, "a number in [0, Dim/4], and at most 2²⁶")
	case p.Method > LastMethod:
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
	if p.MaxKeys == 0 {
		return math.Inf(1)
	}
	return cmp.Or(p.MaxValue, p.Sensitivity, 1)
}

// total returns Δ: the most that the values of one user sum to, or by which vectors differ.
func (p Params) total() float64 {
	if p.MaxKeys == 0 {
		return cmp.Or(p.Sensitivity, 1)
	}
	most := float64(p.MaxKeys) * p.perKey()
	return min(cmp.Or(p.Sensitivity, most), most)
}

// Defaults returns valid Params with the defaults filled in, except the Method.
func (p Params) Defaults() Params {
	if p.MaxKeys > 0 {
		p.MaxValue = p.perKey() // the total depends on it
	}
	p.Sensitivity, p.Relation, p.FalseKeys = p.total(), p.relation(), p.falseKeys()
	return p
}

// falseKeys returns the expected number of released keys without a value, 0 where Dim is.
func (p Params) falseKeys() float64 {
	if p.FalseKeys == 0 && p.Dim > 0 {
		return 1 / (2 * float64(p.Dim))
	}
	return p.FalseKeys + 0
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

// changed returns the most keys whose totals differ between neighbours.
func (p Params) changed() int {
	changed := p.MaxKeys * p.users()
	if p.Dim > 0 && uint64(changed) > p.Dim {
		changed = int(p.Dim)
	}
	if stored := p.stored(); p.adds() && stored > 0 {
		changed = min(changed, stored) // the larger input holds them all
	}
	return changed
}

// adds reports whether all changes of one user have one sign: users add, and come or go.
func (p Params) adds() bool { return p.relation() == budget.AddRemove && !p.Signed }

// stored returns the most keys that an input stores, by Stored or Dim; 0 for any number.
func (p Params) stored() int {
	if p.Dim > 0 && p.Dim <= MaxKeys && (p.Stored == 0 || p.Stored > int(p.Dim)) {
		return int(p.Dim)
	}
	return p.Stored
}

// lacks returns what a mechanism needs and the Params do not give, "" if they do.
func (p Params) lacks(m Method) string {
	switch {
	case p.Listed && m != DenseLaplace:
		return "it is for keys that nobody lists"
	case m.pure() && p.Dim == 0:
		return "it needs Dim"
	case m == DenseLaplace && p.Dim > maxDense:
		return "it needs Dim of at most 2²⁶"
	case !m.pure() && p.Delta == 0:
		return "it needs Delta above 0"
	case m.pure() && p.Beside:
		return "it has no number beside the keys"
	case m == Laplace && p.MaxKeys == 0 && !p.Integers:
		return "it needs MaxKeys, or Integers"
	case m.normal() && p.MaxKeys == 0:
		return "it needs MaxKeys"
	case m == CorrelatedGaussian && !p.adds():
		return "it needs users that only add: AddRemove, and not Signed"
	case m == CorrelatedGaussian && p.stored() == 0:
		return "it needs Stored"
	}
	return ""
}

// Chooses reports whether Auto may choose the mechanism where δ > 0: not one that releases keys
// without a value, nor LinearRounding where its guarantee has a condition that the unit does not
// state.
func (p Params) Chooses(m Method) bool {
	return !m.pure() && (m != LinearRounding || p.MaxKeys > 0 || p.Integers)
}
