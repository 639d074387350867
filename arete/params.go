package arete

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

const (
	maxDelta = 0.5     // of Gaussian noise
	maxSteps = 1 << 40 // of a lattice to the Δ
	// leastModulus is the least in which −1, 0 and 1 differ.
	leastModulus = 3
)

// Params are the public numbers of a release. Only Epsilon is required, for pure ε-differential
// privacy. Gaussian noise takes Epsilon and Delta, or Rho alone.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Sensitivity is Δ, an upper bound on the difference of the value between
	// neighbours, in the units of the data, in [2⁻²⁰⁰, 2²⁰⁰]. 0 is 1.
	Sensitivity float64
	// Relation says what neighbours are: budget.AddRemove, which 0 stands for, or
	// budget.Replace. It does not change the noise, but the range of a party's
	// number in a sum: [−Δ, Δ] under AddRemove, [0, Δ] under Replace.
	Relation budget.Relation
	// Integers says that the value and Sensitivity, of at most 2³⁰, are integers.
	// The released number is then an integer, too.
	Integers bool
	// Law is the noise. Auto is Gaussian if Rho is given, else that of least error
	// for ε.
	Law Law
	// Objective is the error that is minimised: MeanAbs, which 0 stands for, or
	// MeanSquare.
	Objective Objective
	// Parties is the approximate number of parties of a sum, at most 2²⁰; 0 is
	// one. More Parties make the lattice finer. All parties must give the same
	// number.
	Parties int
	// Modulus is that of the arithmetic in which shares are added up, at least 3:
	// for Prio3, 2⁶⁴ − 2³² + 1. 0 is 2⁶⁴. The sum of the numbers, in steps of the
	// lattice, must lie within ±Modulus/2.
	Modulus uint64
	// Delta is δ, in [1e-300, ½], for Gaussian noise without Rho; else 0.
	Delta float64
	// Rho is ρ of zCDP, in [2⁻⁶⁰, 2²⁰], for Gaussian noise without Epsilon and
	// Delta; else 0.
	Rho float64
}

// gaussian reports whether the noise is Gaussian.
func (p Params) gaussian() bool { return p.Law == Gaussian || p.Law == Auto && p.Rho != 0 }

// bad returns the error for a field or an argument.
func bad(field string, value any, want string) error {
	return check.ParamsError("arete", field, value, want)
}

// validate checks the fields.
func (p Params) validate() error {
	err := cmp.Or(check.EpsilonOrRho("arete", p.Epsilon, p.Delta, p.Rho),
		check.Real("arete", "Sensitivity", p.Sensitivity, p.Integers), check.Relation("arete", p.Relation))
	switch {
	case err != nil:
		return err
	case p.Objective > MeanSquare:
		return bad("Objective", p.Objective, "MeanAbs or MeanSquare")
	case p.Law > lastLaw:
		return bad("Law", p.Law, "one of the constants")
	case p.Rho != 0 && !p.gaussian():
		return bad("Rho", p.Rho, "0 without Gaussian noise")
	case p.Delta != 0 && !p.gaussian():
		return bad("Delta", p.Delta, "0 without Law = Gaussian: the other laws promise more")
	case p.gaussian() && p.Rho == 0 && !(p.Delta > 0 && p.Delta <= maxDelta):
		return bad("Delta", p.Delta, "a number in [1e-300, ½] for Gaussian noise without Rho")
	case p.Parties < 0 || p.Parties > maxParties:
		return bad("Parties", p.Parties, "an integer in [0, 2²⁰]")
	case p.Modulus != 0 && p.Modulus < leastModulus:
		return bad("Modulus", p.Modulus, "0 or an integer of at least 3")
	}
	return nil
}

// sensitivity returns Δ, the default filled in.
func (p Params) sensitivity() float64 {
	return cmp.Or(p.Sensitivity, 1)
}

// relation returns the neighbouring relation, the default filled in.
func (p Params) relation() budget.Relation {
	return cmp.Or(p.Relation, budget.AddRemove)
}

// onIntegers reports whether integers are points of a lattice with this many steps per Δ.
func (p Params) onIntegers(steps int64) bool { return p.Integers && steps%int64(p.sensitivity()) == 0 }

// Guarantee returns what a release promises for one row, and a sum of shares for one party. Invalid
// Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	if p.Law != Auto {
		if _, err := calibrate(p); err != nil {
			return budget.Guarantee{}
		}
	}
	return p.promise(budget.Row(p.relation()))
}

// promise returns what Params that New has taken promise to a unit that moves the number by the
// Sensitivity.
func (p Params) promise(u budget.Unit) budget.Guarantee {
	if p.Rho > 0 {
		return budget.ZCDP(p.Rho, u)
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, u)
}

// calibrated returns the noise that a release of these Params has, certified.
func (p Params) calibrated() (*Lattice, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	// no −0
	p.Epsilon, p.Sensitivity, p.Delta, p.Rho = p.Epsilon+0, p.Sensitivity+0, p.Delta+0, p.Rho+0
	s, err := calibrate(p)
	if err != nil {
		return nil, err
	}
	whole, err := s.sampler(1)
	if err != nil {
		return nil, err
	}
	p.Law = s.law
	return &Lattice{p, s, whole, new(tables)}, nil
}

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params  // filled in, with the Law
	StdDev float64 // of the noise of a release, in the units of the data
	Bytes  int     // of the encoding of a Value
	// MeanAbs is E|X|, the mean absolute error, in the units of the data. The
	// optimum over all ε-DP noise is Δ·e^(ε/2)/(e^ε−1).
	MeanAbs float64
}

// Plan returns what a release will be. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	l, err := p.calibrated()
	if err != nil {
		return Plan{}, err
	}
	q := l.params
	q.Sensitivity, q.Relation, q.Parties = p.sensitivity(), p.relation(), max(p.Parties, 1)
	return Plan{q, math.Sqrt(l.Variance()) * l.Step(), encodedSize, l.MeanAbs() * l.Step()}, nil
}

// String names the distribution and its error, in one line.
func (p Plan) String() string {
	return fmt.Sprintf("%v noise, mean absolute error %.4g, standard deviation %.4g, %d bytes", p.Params.Law, p.MeanAbs, p.StdDev, p.Bytes)
}
