package misragries

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// check returns the calibration by which the input is released, or why there is none. It is the one
// check of all: constructors make nothing, planning methods tell nothing and Guarantee promises
// nothing for Params that it refuses.
func (p Params) check(in Input) (calibration, error) {
	if err := p.checkUnit(in); err != nil {
		return calibration{}, err
	}
	c, err := choices.Get(choice{p, in}, func() (calibration, error) { return p.choose(in) })
	if err == nil && (in == OneStream || in == GivenCounters) {
		err = p.checkMerge()
	}
	if err != nil {
		return calibration{}, err
	}
	return c, nil
}

// choices are the calibrations that were made: that takes up to some 30 ms.
var choices memo.Table[choice, calibration]

type choice struct {
	params Params
	input  Input
}

// checkUnit refuses the one of MaxKeys and MaxElements that is not for the input.
func (p Params) checkUnit(in Input) error {
	switch {
	case in != Users && p.MaxKeys != 0:
		return fault.Params("misragries", "MaxKeys", p.MaxKeys, "0 but for a UserBuilder: the most elements of one user or event are MaxElements")
	case in == Users && p.MaxElements != 0:
		return fault.Params("misragries", "MaxElements", p.MaxElements, "0 for a UserBuilder: the most keys of one user are MaxKeys")
	case in == Users && (p.MaxKeys < 1 || p.MaxKeys > p.Counters):
		return fault.Params("misragries", "MaxKeys", p.MaxKeys, "an integer in [1, Counters] for users")
	}
	return nil
}

// most returns m, the most elements of one user or one event.
func (p Params) most() int { return max(p.MaxElements, p.MaxKeys, 1) }

// groupField returns the field that m is in.
func (p Params) groupField() string {
	if p.MaxKeys > 0 {
		return "MaxKeys"
	}
	return "MaxElements"
}

// checkMerge refuses a Sparse by name that a Builder of Auto would have no release by after a
// Merge.
func (p Params) checkMerge() error {
	if p.Method != Auto || p.Delta == 0 || p.Sparse == sparse.Auto {
		return nil
	}
	_, err := p.allowed(Merged)
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
	if p.Method == Auto && p.Delta != 0 && in == Users { // the least threshold
		list, err := p.candidates(in)
		if err != nil {
			return calibration{}, err
		}
		return list[0].law, nil
	}
	m, err := p.named(in)
	if err != nil {
		return calibration{}, err
	}
	return methodOf[uint64](m).calibrate(p, in, in == GivenCounters)
}

// allowed returns the mechanism of a Builder that others are merged into, or which of the Params
// leaves none. It is choose without the time that calibrating takes, where that is long.
func (p Params) allowed(in Input) (Method, error) {
	m, err := p.named(in)
	if err != nil {
		return Auto, err
	}
	by := methodOf[uint64](m)
	if slow, ok := by.(interface {
		refuses(p Params, in Input) error
	}); ok {
		return m, slow.refuses(p, in)
	}
	_, err = by.calibrate(p, in, false)
	return m, err
}

// named returns the mechanism asked for, or the default one, if the input has it.
func (p Params) named(in Input) (Method, error) {
	if err := p.validate(); err != nil {
		return Auto, err
	}
	m := p.Method
	if m == Auto {
		m = possible[in][0]
		if p.Delta == 0 {
			i := slices.IndexFunc(possible[in], func(m Method) bool { return methodOf[uint64](m).pure() })
			if i < 0 {
				return Auto, fault.Params("misragries", "Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for the input %v", in))
			}
			m = possible[in][i]
		}
	}
	if !slices.Contains(possible[in], m) {
		return Auto, fault.Params("misragries", "Method", m, fmt.Sprintf("one of %v for the input %v", possible[in], in))
	}
	if p.Delta == 0 && !methodOf[uint64](m).pure() {
		return Auto, fault.Params("misragries", "Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for %v, which does not do without δ", m))
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
		return epsilon, 0, epsilon >= limits.MinEpsilon
	}
	// by (e^{mε₁}−1)/(e^{ε₁}−1), m·ε₁ ≤ ε
	logDelta := math.Log(p.Delta) - logs.Expm1(p.Epsilon) + logs.Expm1(epsilon)
	delta = math.Exp(logDelta*(1+0x1p-45)) * (1 - 0x1p-40)
	return epsilon, delta, epsilon >= limits.MinEpsilon && delta >= minDelta
}

// refuseGroup is why element is not ok.
func (p Params) refuseGroup() error {
	return fault.Params("misragries", p.groupField(), p.most(), "a smaller number: the ε or the δ that it leaves for one element is out of range")
}

// refuseNoise is why a mechanism has no noise.
func (p Params) refuseNoise(m Method) error {
	return fault.Params("misragries", "Epsilon", p.Epsilon, fmt.Sprintf("a larger number for %v of %d counters, whose noise is out of range", m, p.Counters))
}
