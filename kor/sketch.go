package kor

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// release is what sketches of sets and of streams have in common.
type release struct {
	params  Params
	parts   []part   // sorted by identity
	bits    []uint64 // nil only in a zero value
	stream  bool
	counted bool
	count   int64 // noisy sum of the weights, in steps
}

// Sketch is a released sketch of a set, or the symmetric difference of several. The zero Sketch
// answers NaN.
type Sketch struct{ release }

// valid reports whether it is no zero value.
func (r *release) valid() bool { return r.bits != nil }

// Params returns the parameters that all parts of the sketch share.
func (r *release) Params() Params { return r.params }

// Guarantee returns the composition of all releases, for a key that changes in all sets; nothing if
// all have cancelled.
func (r *release) Guarantee() budget.Guarantee { return r.guarantee(together) }

// PartyGuarantee is the weakest guarantee for one party's set, if no party has two Builders.
// Releases of one Builder add up.
func (r *release) PartyGuarantee() budget.Guarantee { return r.guarantee(weakest) }

// guarantee returns what the parts promise, and where there is a count, that of the Params.
func (r *release) guarantee(of func([]part) budget.Guarantee) budget.Guarantee {
	if r.counted {
		return r.params.Guarantee()
	}
	return of(r.parts)
}

// Releases returns the number of releases that have not cancelled.
func (r *release) Releases() int { return len(r.parts) }

// ones returns the number of ones of each level.
func (r *release) ones(into []int) []int {
	stride := r.params.stride()
	for i := range into {
		sum := 0
		for _, word := range r.bits[i*stride : (i+1)*stride] {
			sum += bits.OnesCount64(word)
		}
		into[i] = sum
	}
	return into
}

// law returns the law of the ones.
func (r *release) law() law {
	if r.stream {
		return streamLaw(totalLogSign(r.parts), r.params.Cells, r.params.Levels)
	}
	return setLaw(totalLogSign(r.parts), r.params.Cells, r.params.Levels)
}

// likelihood returns the likelihood of the size. It does not allocate.
func (r *release) likelihood() (l likelihood) {
	l.law = r.law()
	r.ones(l.ones[:r.params.Levels])
	return l
}

// Estimate returns the estimated number of keys or sum of weights; see also [Sketch.Total].
func (r *release) Estimate() float64 {
	if !r.valid() {
		return math.NaN()
	}
	l := r.likelihood()
	return l.estimate()
}

// StdErr returns the standard error, an upper bound below about Cells keys.
func (r *release) StdErr() float64 {
	if !r.valid() {
		return math.NaN()
	}
	l := r.likelihood()
	return l.stdErr(max(l.estimate(), 0))
}

// Interval returns bounds ≥ 0 by the likelihood ratio test. hi is +Inf if the size is not bounded.
// NaN for a confidence outside [0, 1).
func (r *release) Interval(confidence float64) (lo, hi float64) {
	if !r.valid() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	l := r.likelihood()
	lo, hi = l.interval(confidence)
	estimate := max(l.estimate(), 0)
	return min(max(lo, 0), estimate), max(hi, estimate)
}

// String says what was released.
func (s *Sketch) String() string { return s.text("kor.Sketch", "a set") }

func (r *release) text(name, of string) string {
	if !r.valid() {
		return name + " (empty)"
	}
	if len(r.parts) == 0 {
		return fmt.Sprintf("%s: the empty set, all of whose releases have cancelled, in %d levels of %d cells", name, r.params.Levels, r.params.Cells)
	}
	releases := "1 release"
	if len(r.parts) > 1 {
		releases = fmt.Sprintf("%d releases", len(r.parts))
	}
	return fmt.Sprintf("%s: %s, %s in %d levels of %d cells, flip probability %.6g, %v", name, of, releases, r.params.Levels, r.params.Cells,
		r.flipProb(), together(r.parts))
}

// flipProb returns the probability p′ that noise has flipped a bit: 1 − 2p′ = Π (1 − 2pⱼ) over all
// releases in the sketch.
func (r *release) flipProb() float64 {
	return -math.Expm1(totalLogSign(r.parts))/2 + 0 // no −0
}
