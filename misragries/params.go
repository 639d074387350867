package misragries

import (
	"cmp"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
	ErrMismatch = check.ErrMismatch
)

const (
	defaultCounters = 1024
	maxCounters     = 1 << 28
	maxElements     = 1 << 20
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen.
//
// Epsilon is required, and Delta or Dim. All other fields may be 0; each says what 0 means.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰]. There is no default.
	Epsilon float64
	// Delta is δ, in [1e-300, 1); or 0, for a purely ε-private release, which
	// needs Dim.
	Delta float64
	// Counters is k, the number of counters, in [1, 2²⁸]; 0 is 1024. A stream of n
	// elements is counted with an error of at most n/(k+1). Memory grows with the
	// distinct keys seen, up to Plan.Bytes.
	Counters int
	// Dim is the number of possible keys, which are then the integers 0 to Dim−1;
	// other keys are ignored. 0 stands for an unbounded key space of any key type.
	Dim uint64
	// MaxElements is m, an upper bound on the elements of one user or event, at
	// most 2²⁰; 0 protects one element. A Builder and a Sum do not know users: the
	// caller must guarantee that nobody adds more than m elements, repeated ones
	// included. This is not checked, except that one AddN counts at most m. A
	// UserBuilder needs MaxElements, at most Counters, and counts at most m
	// distinct keys per AddUser.
	MaxElements int
	// MaxLength is a promise about the data: that all streams together never have
	// more elements (of keys below Dim, if that is given). It bounds the loss of
	// the sketches in Interval, DetectionLimit and Plan. 0 promises nothing; then
	// a noisy number of decrements or elements bounds the loss, except with
	// counters from elsewhere.
	MaxLength uint64
	// Method is how the release is drawn. 0 chooses what suits the constructor.
	Method Method
}

// normal fills in what has a default.
func (p Params) normal() Params {
	p.Counters = cmp.Or(p.Counters, defaultCounters)
	p.Delta += 0 // no −0
	return p
}

// validate checks Params that are normal.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error {
		return check.ParamsError("misragries", field, value, want)
	}
	if err := check.Epsilon("misragries", p.Epsilon, check.MaxEpsilon); err != nil {
		return err
	}
	if err := check.Delta("misragries", p.Delta); err != nil {
		return err
	}
	switch {
	case p.Counters < 1 || p.Counters > maxCounters:
		return bad("Counters", p.Counters, "an integer in [1, 2²⁸], or 0 for 1024")
	case p.Delta == 0 && p.Dim == 0:
		return bad("Delta", p.Delta, "a number in [1e-300, 1), or Dim, without which there is no release at δ = 0")
	case p.MaxElements < 0 || p.MaxElements > maxElements:
		return bad("MaxElements", p.MaxElements, "an integer in [0, 2²⁰]")
	case p.Method > lastMethod:
		return bad("Method", p.Method, "one of the constants")
	}
	return nil
}

// most returns m, the most elements of one user or one event.
func (p Params) most() int { return max(p.MaxElements, 1) }

// Guarantee returns what a release of these Params promises: ε if the mechanism is PureUniverse,
// else (ε, δ), for one element of the stream or, with MaxElements, for one user with at most as
// many elements. It is the guarantee of [New], or of [NewUserBuilder] if only that accepts the
// Params, which is for a user with at most as many distinct keys. Params that both refuse promise
// nothing.
func (p Params) Guarantee() budget.Guarantee {
	for _, in := range []input{oneStream, users} {
		if p, c, err := p.check(in); err == nil {
			return p.guarantee(c)
		}
	}
	return budget.Guarantee{}
}

// guarantee returns what a release by the calibration promises.
func (p Params) guarantee(c calibration) budget.Guarantee {
	unit := budget.Element(budget.AddRemove)
	switch {
	case c.input == users:
		unit = budget.User(p.MaxElements, budget.AddRemove)
	case p.MaxElements > 0:
		unit = budget.UserElements(p.MaxElements, budget.AddRemove)
	}
	if c.is().top {
		return budget.PureDP(p.Epsilon, unit)
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, unit)
}

// fields are those of the Params in an encoding.
func (p *Params) fields() []wire.Field {
	const most = 1<<31 - 1
	return []wire.Field{
		wire.Byte(&p.Method), wire.Int(&p.Counters, most), wire.Int(&p.MaxElements, most), wire.Float(&p.Epsilon), wire.Float(&p.Delta),
		wire.Uint(&p.Dim), wire.Uint(&p.MaxLength),
	}
}
