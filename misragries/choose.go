package misragries

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/threshold"
)

// check returns the calibration by which the input is released, or why there is none. It is the one
// check of all: constructors make nothing, planning methods tell nothing and Guarantee promises
// nothing for Params that it refuses.
func (p Params) check(in Input) (calibration, error) {
	c, err := p.choose(in)
	switch {
	case err != nil:
	case in == Users && (p.MaxKeys < 1 || p.MaxKeys > p.Counters):
		err = fault.Params("misragries", "MaxKeys", p.MaxKeys, "an integer in [1, Counters] for users")
	case in == OneStream || in == GivenCounters:
		err = p.checkMerge()
	}
	if err != nil {
		return calibration{}, err
	}
	return c, nil
}

// checkMerge refuses a Sparse by name that a Builder of Auto would have no release by after a Merge.
func (p Params) checkMerge() error {
	if p.Mechanism != Auto || p.Delta == 0 || p.Sparse == threshold.Auto {
		return nil
	}
	_, err := p.choose(Merged)
	return err
}

// checkFor is check for keys of type K, which must hold Dim − 1.
func checkFor[K hashing.Key](p Params, in Input) (calibration, error) {
	c, err := p.check(in)
	if err == nil {
		err = wire.KeysOf[K]().CheckDim("misragries", p.Dim)
	}
	if err != nil {
		return calibration{}, err
	}
	return c, nil
}

// choose returns the calibration of the mechanism asked for, or of the default one.
func (p Params) choose(in Input) (calibration, error) {
	if err := p.validate(); err != nil {
		return calibration{}, err
	}
	m := p.Mechanism
	if m == Auto {
		var err error
		if m, err = p.auto(in); err != nil {
			return calibration{}, err
		}
	}
	if !slices.Contains(possible[in], m) {
		return calibration{}, fault.Params("misragries", "Mechanism", m, fmt.Sprintf("one of %v for the input %v", possible[in], in))
	}
	by := mechanismOf[uint64](m)
	if p.Delta == 0 && !by.pure() {
		return calibration{}, fault.Params("misragries", "Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for %v, which does not do without δ", m))
	}
	return by.calibrate(p, in)
}

// auto returns the default mechanism: see possible.
func (p Params) auto(in Input) (Mechanism, error) {
	switch {
	case p.Delta == 0:
		i := slices.IndexFunc(possible[in], func(m Mechanism) bool { return mechanismOf[uint64](m).pure() })
		if i < 0 {
			return Auto, fault.Params("misragries", "Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for the input %v", in))
		}
		return possible[in][i], nil
	case in == Users:
		list, err := p.Candidates(Users)
		if err != nil {
			return Auto, err
		}
		return list[0].Mechanism, nil
	}
	return possible[in][0], nil
}

// minDelta bounds the δ of one element: math.Log is not to be trusted below.
const minDelta = 0x1p-1022

// element returns the ε and δ for which a change of one element gives those of the Params for a user
// of MaxKeys: the Params' own for 1, else ε/m and δ/(1 + e^{ε/m} + … + e^{(m−1)ε/m}) (group privacy;
// Lemma 19 of the paper has m·e^ε).
func (p Params) element() (epsilon, delta float64, ok bool) {
	if p.MaxKeys <= 1 {
		return p.Epsilon, p.Delta, true
	}
	m := float64(p.MaxKeys)
	epsilon = p.Epsilon / m * (1 - 0x1p-50)
	if p.Delta == 0 {
		return epsilon, 0, epsilon >= limits.MinEpsilon
	}
	logDelta := math.Log(p.Delta) - logs.Expm1(p.Epsilon) + logs.Expm1(epsilon) // by (e^{mε₁}−1)/(e^{ε₁}−1), m·ε₁ ≤ ε
	delta = math.Exp(logDelta*(1+0x1p-45)) * (1 - 0x1p-40)
	return epsilon, delta, epsilon >= limits.MinEpsilon && delta >= minDelta
}

// refuseGroup is why element is not ok.
func (p Params) refuseGroup() error {
	return fault.Params("misragries", "MaxKeys", p.MaxKeys, "a smaller number: the ε or the δ that it leaves for one element is out of range")
}

// refuseNoise is why a mechanism has no noise.
func (p Params) refuseNoise(m Mechanism) error {
	return fault.Params("misragries", "Epsilon", p.Epsilon, fmt.Sprintf("a larger number for %v of %d counters, whose noise is out of range", m, p.Counters))
}
