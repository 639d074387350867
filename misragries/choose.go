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
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

// check returns the law by which the input is released, or why there is none. It is the one check
// of all: constructors make nothing, planning methods tell nothing and Guarantee promises nothing
// for Params that it refuses.
func (p Params) check(in Input) (scheme, error) {
	l, err := p.choose(in)
	switch {
	case err != nil:
	case in == Users && (p.MaxKeys < 1 || p.MaxKeys > p.Counters):
		err = fault.Params("misragries", "MaxKeys", p.MaxKeys, "an integer in [1, Counters] for users")
	case l.mechanism == SparseVector, p.Mechanism == Auto && in != Users: // or what a Merge makes it
		p.Mechanism = SparseVector
		err = p.checkSparse(in)
	}
	if err != nil {
		return scheme{}, err
	}
	return l, nil
}

// checkFor is check for keys of type K, which must hold Dim − 1.
func checkFor[K hashing.Key](p Params, in Input) (scheme, error) {
	l, err := p.check(in)
	if err == nil {
		err = wire.KeysOf[K]().CheckDim("misragries", p.Dim)
	}
	if err != nil {
		return scheme{}, err
	}
	return l, nil
}

// choose returns the law of the mechanism asked for, or of the default one. It is only the name for
// SparseVector.
func (p Params) choose(in Input) (scheme, error) {
	if err := p.validate(); err != nil {
		return scheme{}, err
	}
	refused := func(field string, value any, want string) (scheme, error) {
		return scheme{}, fault.Params("misragries", field, value, want)
	}
	m := p.Mechanism
	switch {
	case m == Auto && p.Delta == 0:
		if m = PureUniverse; !slices.Contains(defaults[in], m) {
			return refused("Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for the input %v", in))
		}
	case m == Auto && in == Users:
		list, err := p.Candidates(Users)
		if err != nil {
			return scheme{}, err
		}
		m = list[0].Mechanism
	case m == Auto:
		m = defaults[in][0]
	}
	p.Mechanism = m
	switch {
	case !slices.Contains(defaults[in], m):
		return refused("Mechanism", m, fmt.Sprintf("one of %v for the input %v", defaults[in], in))
	case m.universe() && p.Dim == 0:
		return refused("Dim", p.Dim, fmt.Sprintf("the number of possible keys for %v", m))
	case m != PureUniverse && p.Delta == 0:
		return refused("Delta", p.Delta, fmt.Sprintf("a number in [1e-300, 1) for %v: only PureUniverse does without δ", m))
	}
	outOfRange := func() (scheme, error) {
		return refused("Epsilon", p.Epsilon, fmt.Sprintf("a larger number for %v of %d counters, whose noise is out of range", m, p.Counters))
	}
	if m == SparseVector {
		_, err := p.sparse(in)
		return scheme{mechanism: m, per: 1}, err
	}
	epsilon, delta, ok := p.element(in)
	if !ok {
		return refused("MaxKeys", p.MaxKeys, "a smaller number: the ε or the δ that it leaves for one element is out of range")
	}
	l := scheme{mechanism: m, per: 1}
	k := p.Counters
	switch m {
	case KeptZeros, FreedZeros:
		scale, err := noise.LaplaceScale(epsilon, 1)
		if err != nil {
			return outOfRange()
		}
		l.epsilon, l.sum.scale = epsilon, scale
		if l.sum.threshold = leastThreshold(k, epsilon, delta); m == FreedZeros {
			l.sum.threshold = leastStandardThreshold(k, epsilon, delta)
		}
	case ReducedSum, ShiftedSum:
		l.per = float64(k) + 1
		if l.sum, _, ok = calibrateSum(k, epsilon, delta, m == ShiftedSum); !ok {
			return outOfRange()
		}
	default:
		l.per = float64(k) + 1
		if m == PureUniverse { // spends none
			delta = 0
		}
		if l.sum, ok = calibrateUniverse(k, epsilon, delta); !ok {
			return outOfRange()
		}
	}
	return l, nil
}

// calibrateUniverse returns the law of PureUniverse, for δ = 0, or of ShiftedUniverse: Theorem 2 of
// sumlaw.go, where no key escapes, as all of the universe have noise. Of ε a twentieth goes to the
// shift.
func calibrateUniverse(k int, epsilon, delta float64) (l sumLaw, ok bool) {
	units, spent := 2*float64(k)-1, 0.0
	if delta > 0 {
		units, spent = float64(k)+1, epsilon/20
		l.shift = 1 / spent * (1 + 0x1p-50)
	}
	scale, err := noise.LaplaceScale((epsilon-spent)*(1-0x1p-50), units)
	if l.scale = scale; err != nil || !l.valid() {
		return sumLaw{}, false
	}
	if delta > 0 {
		l.offset = leastReach(l.shift, delta)
	}
	return l, true
}

// sparse returns the Params of package threshold for the positive counters: neighbours differ in at
// most k of them, by one each, all one way, and no sketch has more than k (Corollaries 18 and 28 of
// the paper).
func (p Params) sparse(in Input) (threshold.Params, error) {
	epsilon, delta, ok := p.element(in)
	if !ok || delta < 1e-300 {
		return threshold.Params{}, fault.Params("misragries", "Delta", p.Delta, "a larger number for SparseVector, or a smaller MaxKeys")
	}
	if p.Counters > maxKeys {
		return threshold.Params{}, fault.Params("misragries", "Counters", p.Counters, "at most 2²⁰ for SparseVector")
	}
	if p.Sparse == threshold.PureLaplace || p.Sparse == threshold.DenseLaplace {
		return threshold.Params{}, fault.Params("misragries", "Sparse", p.Sparse, "a mechanism that does without Dim")
	}
	if float64(p.Counters)/epsilon > 0x1p47 {
		return threshold.Params{}, fault.Params("misragries", "Epsilon", p.Epsilon, "a larger number for SparseVector")
	}
	return threshold.Params{
		Epsilon: epsilon, Delta: delta, Relation: budget.AddRemove,
		MaxKeys: p.Counters, Stored: p.Counters, Integers: true, Mechanism: p.Sparse,
	}, nil
}

// checkSparse returns an error unless the mechanism that Sparse names is possible: not at the
// release, when the data would be lost. It calibrates.
func (p Params) checkSparse(in Input) error {
	if p.Sparse == threshold.Auto {
		return nil
	}
	q, err := p.sparse(in)
	if err == nil && math.IsNaN(q.Threshold()) {
		err = fault.Params("misragries", "Sparse", p.Sparse, "a mechanism whose noise is in range here")
	}
	return err
}

// minDelta bounds the δ of one element: math.Log is not to be trusted below.
const minDelta = 0x1p-1022

// element returns the ε and δ for which a change of one step gives those of the Params for a user:
// the Params' own, or, where a user is m elements of a stream, ε/m and δ/(1 + e^{ε/m} + … +
// e^{(m−1)ε/m}) (group privacy; Lemma 19 of the paper has m·e^ε). A step is one element, or where
// the sketch is one of users' sets, one user.
func (p Params) element(in Input) (epsilon, delta float64, ok bool) {
	if p.MaxKeys <= 1 || in == Users && p.Mechanism == SparseVector {
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
