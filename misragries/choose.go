package misragries

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/wire"
)

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
	bad := func(field string, value any, want string) (Method, error) {
		return Auto, check.ParamsError("misragries", field, value, want)
	}
	if in == users && (p.MaxElements < 1 || p.MaxElements > p.Counters) {
		return bad("MaxElements", p.MaxElements, "an integer in [1, Counters] for users, whose distinct keys it bounds")
	}
	list, m := possible[in], p.Method
	pure := slices.IndexFunc(list, func(m Method) bool { return mechanisms[m].top })
	switch {
	case m == Auto && p.Delta == 0:
		m = list[pure]
	case m == Auto:
		m = list[0]
	case !slices.Contains(list, m):
		return bad("Method", m, fmt.Sprintf("one of %v for %v", list, in))
	case p.Delta == 0 && !mechanisms[m].top:
		return bad("Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for %v", m))
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

// refuseGroup is why element is not ok.
func (p Params) refuseGroup() error {
	return check.ParamsError("misragries", "MaxElements", p.most(), "a smaller number: the ε or the δ that it leaves for one element is out of range")
}

// refuseNoise is why a mechanism has no noise.
func (p Params) refuseNoise(m Method) error {
	return check.ParamsError("misragries", "Epsilon", p.Epsilon, fmt.Sprintf("a larger number for %v of %d counters, whose noise is out of range", m, p.Counters))
}
