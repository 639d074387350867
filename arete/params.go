package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrMismatch = fault.ErrMismatch
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)

const (
	minEpsilon     = 0x1p-30
	maxEpsilon     = 0x1p10
	minSensitivity = 0x1p-200
	maxSensitivity = 0x1p200
	maxInteger     = 0x1p40 // of the Sensitivity of integers
)

// Params are the public numbers of a release. They are comparable, and every method answers before any data is seen. Epsilon is required.
type Params struct {
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Sensitivity is Δ, the most by which the value differs between neighbours, in the units of the data, in [2⁻²⁰⁰, 2²⁰⁰]. 0 is 1.
	Sensitivity float64
	// Relation says what neighbours are; it decides what is promised, and how far one party of many is bounded, not how much noise there is.
	// noise.AddRemove, which 0 stands for, noise.Replace or noise.L1.
	Relation noise.Relation
	// Integers says that the value is an integer, and Sensitivity too, at most 2⁴⁰. So is what is released.
	Integers bool
	// Law is the noise. Auto is the one with the least E|X|.
	Law Law
}

// validate checks the fields one by one.
func (p Params) validate() error {
	bad := func(field string, value any, want string) error { return fault.Params("arete", field, value, want) }
	switch {
	case !(p.Epsilon >= minEpsilon && p.Epsilon <= maxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻³⁰, 2¹⁰]")
	case p.Sensitivity != 0 && !(p.Sensitivity >= minSensitivity && p.Sensitivity <= maxSensitivity):
		return bad("Sensitivity", p.Sensitivity, "0 or a number in [2⁻²⁰⁰, 2²⁰⁰]")
	case p.Integers && !(p.Sensitivity <= maxInteger && p.Sensitivity == math.Trunc(p.Sensitivity)):
		return bad("Sensitivity", p.Sensitivity, "an integer in [0, 2⁴⁰], the value being one")
	case p.Relation != 0 && p.Relation != noise.AddRemove && p.Relation != noise.Replace && p.Relation != noise.L1:
		return bad("Relation", p.Relation, "AddRemove, Replace or L1")
	case p.Law > lastLaw:
		return bad("Law", p.Law, "one of the constants")
	}
	return nil
}

// sensitivity returns Δ, the default filled in.
func (p Params) sensitivity() float64 {
	if p.Sensitivity == 0 {
		return 1
	}
	return p.Sensitivity
}

// relation returns the neighbouring relation, the default filled in.
func (p Params) relation() noise.Relation {
	if p.Relation == 0 {
		return noise.AddRemove
	}
	return p.Relation
}

// Guarantee returns what a release of these Params promises.
func (p Params) Guarantee() noise.Guarantee { return noise.PureDP(p.Epsilon, p.relation()) }

// Lattice returns the noise that a release of these Params has, certified. It takes some milliseconds, at ε = 20 some tenths of a second. The error wraps [ErrParams].
func (p Params) Lattice() (*Lattice, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	p.Sensitivity += 0 // no −0
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

// MeanAbs returns E|X|, the mean absolute error of a release, in the units of the data. It calibrates. NaN if the Params are invalid.
func (p Params) MeanAbs() float64 {
	l, err := p.Lattice()
	if err != nil {
		return math.NaN()
	}
	return l.MeanAbs() * l.Step()
}

// StdDev returns the standard deviation of the noise of a release, in the units of the data. It calibrates. NaN if the Params are invalid.
func (p Params) StdDev() float64 {
	l, err := p.Lattice()
	if err != nil {
		return math.NaN()
	}
	return math.Sqrt(l.Variance()) * l.Step()
}
