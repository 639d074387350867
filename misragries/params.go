package misragries

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
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

// Params are the public numbers of a release.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰]; required.
	Epsilon float64
	// Delta is δ, in [1e-300, 1); or 0, for ε alone, which needs Dim.
	Delta float64
	// Counters is k, in [1, 2²⁸]; 0 is 1024.
	Counters int
	// Dim is the number of possible keys, the integers 0 to Dim−1; others are
	// ignored. 0 stands for any keys.
	Dim uint64
	// MaxElements is m, the most elements of one user or event, at most 2²⁰; 0
	// protects one element. For a Builder and a Sum the caller must guarantee that
	// nobody adds more, repeated ones included; only one AddN is clipped. A
	// UserBuilder needs it, in [1, Counters].
	MaxElements int
	// MaxLength is a promise that all streams together never have more elements
	// (of keys below Dim), which bounds the loss of the sketches. 0 is none.
	MaxLength uint64
	// Method is the mechanism; 0 chooses by the constructor.
	Method Method
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return check.ParamsError("misragries", field, value, want)
}

// normal fills in what has a default.
func (p Params) normal() Params {
	p.Counters = cmp.Or(p.Counters, defaultCounters)
	p.Delta += 0 // no −0
	return p
}

// validate checks Params that are normal.
func (p Params) validate() error {
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

// Guarantee returns what a release by [New] promises, or by [NewUserBuilder] if only that accepts
// the Params; nothing if neither does.
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

// check returns the normal Params and the calibration by which the input is released, or why there
// is none. It is the one check of all: constructors make nothing, plans tell nothing and Guarantee
// promises nothing for Params that it refuses.
func (p Params) check(in input) (Params, calibration, error) {
	p = p.normal()
	m, err := p.named(in)
	if err != nil {
		return p, calibration{}, err
	}
	c, err := choices.Get(choice{p, in}, func() (calibration, error) {
		if p.Method == Auto && p.Delta != 0 && (in == users || in == summed) {
			return p.leastOf(in)
		}
		return p.calibrate(m, in, in == givenCounters)
	})
	return p, c, err
}

// choices are the calibrations that were made: that takes up to some 30 ms.
var choices memo.Table[choice, calibration]

type choice struct {
	params Params
	input  input
}

// checkFor is check for keys of type K, which must hold Dim − 1.
func checkFor[K hashing.Key](p Params, in input) (Params, calibration, error) {
	p, c, err := p.check(in)
	if err == nil {
		err = wire.KeysOf[K]().CheckDim("misragries", p.Dim)
	}
	return p, c, err
}

// leastOf returns what needs least of a key. For users that is the mechanism of the least
// threshold. For a sum it is TrimmedSum, unless MaxLength shows that ReducedSum needs no more in
// any case: its threshold, its noise and n/(k+1), which it loses for certain, against what
// TrimmedSum needs of a key of which no sketch loses anything.
func (p Params) leastOf(in input) (best calibration, first error) {
	most := math.Inf(1)
	for _, m := range possible[in] {
		if best.method != Auto && (mechanisms[m].top || in == summed && p.MaxLength == 0) {
			continue // only where nothing else is possible
		}
		c, err := p.calibrate(m, in, false)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		needs := c.lowest()
		if in == summed {
			if needs = c.needs(p, severalSketches); c.is().reduced {
				needs += p.promised(1)
			}
		}
		if best.method == Auto || needs < most {
			best, most = c, needs
		}
	}
	if best.method != Auto {
		return best, nil
	}
	return best, first
}

// severalSketches is the number of sketches for which a sum is chosen: that for which TrimmedSum is
// calibrated.
const severalSketches = 16

// allowed returns which of the Params leaves no release to a Builder that others are merged into.
// It is check without the time that calibrating takes, where that is long.
func (p Params) allowed() error {
	m, err := p.named(merged)
	if err != nil {
		return err
	}
	if mechanisms[m].sparse {
		_, err = p.vector(merged, false)
	} else {
		_, err = p.calibrate(m, merged, false)
	}
	return err
}

// named returns the mechanism asked for, or the default one, if the input has it.
func (p Params) named(in input) (Method, error) {
	if err := p.validate(); err != nil {
		return Auto, err
	}
	if in == users && (p.MaxElements < 1 || p.MaxElements > p.Counters) {
		return Auto, bad("MaxElements", p.MaxElements, "an integer in [1, Counters] for users, whose distinct keys it bounds")
	}
	list, m := possible[in], p.Method
	pure := slices.IndexFunc(list, func(m Method) bool { return mechanisms[m].top })
	switch {
	case m == Auto && p.Delta == 0:
		m = list[pure]
	case m == Auto:
		m = list[0]
	case !slices.Contains(list, m):
		return Auto, bad("Method", m, fmt.Sprintf("one of %v for %v", list, in))
	case p.Delta == 0 && !mechanisms[m].top:
		return Auto, bad("Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for %v", m))
	}
	return m, nil
}

// minDelta bounds the δ of one element: math.Log is not to be trusted below.
const minDelta = 0x1p-1022

// element returns the ε and δ for which a change of one element gives those of the Params for a
// user of m elements: the Params' own for 1, else ε/m and δ/(1 + e^{ε/m} + … + e^{(m−1)ε/m}) (group
// privacy; Lemma 19 of the paper has m·e^ε).
func (p Params) element() (epsilon, delta float64, ok bool) {
	if p.most() <= 1 {
		return p.Epsilon, p.Delta, true
	}
	m := float64(p.most())
	epsilon = p.Epsilon / m * (1 - 0x1p-50)
	if p.Delta == 0 {
		return epsilon, 0, epsilon >= check.MinEpsilon
	}
	// by (e^{mε₁}−1)/(e^{ε₁}−1), m·ε₁ ≤ ε
	logDelta := math.Log(p.Delta) - exact.LogExpm1(p.Epsilon) + exact.LogExpm1(epsilon)
	delta = math.Exp(logDelta*(1+0x1p-45)) * (1 - 0x1p-40)
	return epsilon, delta, epsilon >= check.MinEpsilon && delta >= minDelta
}

// refuseNoise is why a mechanism has no noise.
func (p Params) refuseNoise(m Method) error {
	return bad("Epsilon", p.Epsilon, fmt.Sprintf("a larger number for %v of %d counters, whose noise is out of range", m, p.Counters))
}
