package misragries

import (
	"iter"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/misragries/internal/law"
)

// Interval returns bounds that hold the number of occurrences of the key that counted with at least
// the given confidence, over the noise, for any one key fixed before the release, released or not.
// They include noise and what sketches lose. They do not include elements above MaxElements: for a
// [UserBuilder] they bound the number of users for whom the key counted. NaN for a confidence
// outside [0, 1).
//
// Let v be the noisy count or, for a key that was not released, the largest noisy count that is not
// released. The lower end is v minus a quantile of the noise. It is 0 if that is below R, to which
// small values are rounded up. With PureUniverse it is 0 also if noise alone could reach v, so that
// with the given confidence no absent key has a lower end above 0. The upper end is v plus a
// quantile of the noise plus the loss. The shared noise cancels in v + (D − η), and the private
// shifts cancel in v + W. The upper end is +Inf if the loss is unknown, as for counters from
// elsewhere without MaxLength. If the cancelling noise is large, the estimate can be below the
// lower end, which then moves down to the estimate.
func (h *Histogram[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !check.Confidence(confidence) || h.law.method == Auto {
		return math.NaN(), math.NaN()
	}
	tail, c := (1-confidence)/2, h.law
	v, shown := h.find(key)
	if shown {
		lo = max(0, v-c.below(tail))
		if lo < c.counts(c.From) && c.From > 1 || v < h.chance(tail) {
			lo = 0
		}
	} else if v = h.threshold(); math.IsInf(v, -1) { // outside Dim
		return 0, 0
	} else if !c.is().top {
		v -= c.counts(1)
	}
	hi = max(lo, h.upper(v, shown, tail, 1))
	if shown {
		estimate := h.estimate(v)
		lo, hi = min(lo, estimate), max(hi, estimate)
	}
	return lo, hi
}

// DetectionLimit returns the least count such that, with the given confidence, every key whose true
// count reaches it is released. It is 1 if all Dim keys are released, and else +Inf if the loss is
// not bounded. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) DetectionLimit(confidence float64) float64 {
	if !check.Confidence(confidence) || h.law.method == Auto {
		return math.NaN()
	}
	certain := h.threshold()
	if math.IsInf(certain, -1) { // all keys are released, whatever their counts
		return 1
	}
	keys := h.noisy()
	if h.law.is().top { // another may tie with the least
		certain += h.law.counts(1)
	} else if h.law.is().shared { // and the keys that are not stored, for which η is as one more
		keys++
	}
	return max(1, h.upper(certain, false, 1-confidence, keys))
}

// HeavyHitters yields keys and their estimates, sorted by key. With the given confidence the counts
// of all of them, at once, are at least the threshold. Keys that reach the threshold may be
// missing; a key above [Histogram.DetectionLimit] is at least released. It yields nothing if an
// argument is NaN or confidence is outside [0, 1).
func (h *Histogram[K]) HeavyHitters(threshold, confidence float64) iter.Seq2[K, float64] {
	if math.IsNaN(threshold) || !check.Confidence(confidence) || h.law.method == Auto {
		return func(func(K, float64) bool) {}
	}
	c := h.law
	if c.From > 1 { // v less its noise is the value in the sum, but below R that may be anything
		threshold = max(threshold, c.counts(c.From+1))
	}
	return h.atLeast(threshold + c.below((1-confidence)/h.noisy()))
}

// threshold returns the least noisy count that is released; of the k largest keys the least that
// was, or about that before there is data, and −Inf if all are.
func (h *Histogram[K]) threshold() float64 {
	switch k := uint64(h.params.Counters); {
	case h.law.method == Auto:
		return math.NaN()
	case !h.law.is().top:
		return h.law.lowest()
	case k >= h.params.Dim:
		return math.Inf(-1)
	case len(h.counts) == 0:
		return 0 - h.law.noise().Quantile(float64(k)/float64(h.params.Dim))/h.law.per // no −0
	}
	least := int64(math.MaxInt64)
	for _, c := range h.counts {
		least = min(least, c.Count)
	}
	return h.law.counts(least)
}

// noisy returns the most keys that have noise.
func (h *Histogram[K]) noisy() float64 {
	if h.law.is().top {
		return max(float64(h.params.Counters), float64(h.params.Dim))
	}
	return float64(h.params.Counters) * float64(h.sketches)
}

// chance returns a bound that the noise of all keys of a universe together exceeds with probability
// at most tail, where some are shown for their noise alone: −∞ where none or all are.
func (h *Histogram[K]) chance(tail float64) float64 {
	if !h.law.is().top || uint64(h.params.Counters) >= h.params.Dim {
		return math.Inf(-1)
	}
	return h.law.own(tail / float64(h.params.Dim))
}

// share is what the noise that keys have in common gets of the probability by which a bound may
// fail: the length of streams, or D. It is smaller.
const share = 1. / 16

// upper returns a bound on the count of a key of noisy count v, or of one that is not shown, as at
// or below v: of keys at once, except with probability fails.
//
// A stored key has v = c + η + L, and f ≤ c + D, so v + (D − η) ≥ f + L; one that is not has f ≤ D
// = (D − η) + η, and as v ≥ 0 the bound holds with η in the place of L. The same goes for package
// sparse, where the noise of the sum of v and D is normal. For what is reduced see package sketch:
// r + N/(k+1) ≥ f, and r + W ≥ f.
func (h *Histogram[K]) upper(v float64, shown bool, fails, keys float64) float64 {
	c, each, lost := h.law, fails/keys, h.law.counts(h.lost)
	promised := h.params.promised(1)
	switch is := c.is(); {
	case is.trimmed && h.known:
		return v + c.own(each) + lost
	case is.trimmed: // by S/k + D ≤ n/k
		sketches := float64(h.sketches)
		shifts := sketches * c.counts(c.Offset+law.Reach(c.Shift, fails/2/sketches))
		return v + c.own(each/2) + h.params.promised(0) + shifts
	case !h.known:
		return v + c.below(each) + promised
	case is.reduced:
		return v + c.own((1-share)*each) + min(promised, max(0, lost+c.counts(bound(c.lost, share*fails))))
	}
	if h.params.MaxLength > 0 { // the bound may fail in two ways
		each, fails = each/2, fails/2
	}
	with := v + lost
	switch {
	case !c.is().sparse:
		with += c.own(each)
	case shown:
		with += c.sparse.ReachOf(1, 1, min(1, 2*each))
	default:
		with += c.sparse.ReachOf(1, 1, min(1, 2*(1-share)*each))
		with = max(with, lost+c.sparse.ReachOf(0, 1, min(1, 2*share*fails)))
	}
	return min(with, v+c.below(each)+promised)
}

// promised returns n/(k+more), +Inf if no bound on n was promised.
func (p Params) promised(more float64) float64 {
	if p.MaxLength == 0 {
		return math.Inf(1)
	}
	return float64(p.MaxLength) / (float64(p.Counters) + more)
}

// counts returns units as a number of counts.
func (c calibration) counts(units int64) float64 { return float64(units) / c.per }

// lowest returns the least count that is released.
func (c calibration) lowest() float64 { return c.counts(c.Threshold) }

// own returns a bound that the own noise of one count exceeds with probability at most tail.
func (c calibration) own(tail float64) float64 { return c.counts(bound(c.Scale, tail)) }

// below returns a bound that the noise of one noisy count exceeds with probability at most tail.
func (c calibration) below(tail float64) float64 {
	switch is := c.is(); {
	case is.sparse:
		return c.sparse.ReachOf(1, 0, min(1, 2*tail))
	case is.shared: // η + L
		want := math.Log(tail)
		return float64(exact.LeastInt(0, func(t int64) bool { return law.SharedSurvival(1/c.Scale, float64(t)+1) <= want }))
	}
	return c.own(tail)
}

// bound returns the least bound, in units, that noise of a scale exceeds with probability at most
// tail.
func bound(scale, tail float64) int64 {
	d, want := discreteLaplace(scale), math.Log(tail)
	return exact.LeastInt(0, func(t int64) bool { return d.LogSurvival(float64(t)) <= want })
}

// stdDev returns the standard deviation of the noise of an estimate.
func (c calibration) stdDev() float64 {
	is, unknown := c.is(), c.input == givenCounters
	switch {
	case is.sparse && unknown:
		return c.sparse.StdDev()
	case is.sparse:
		return c.sparse.StdDevOf(1, 1)
	}
	variance := c.noise().Variance()
	if c.lost > 0 {
		variance += discreteLaplace(c.lost).Variance()
	} else if is.shared && unknown {
		variance *= 2
	} else if is.trimmed && unknown {
		variance += discreteLaplace(c.Shift).Variance()
	}
	return math.Sqrt(variance) / c.per
}

// needs returns what a sum of so many sketches, or one sketch, must hold of a key for it to be
// released with a probability of 95 %: 0 where all keys are. It takes a sum of the own noise and of
// private shifts for Laplace noise of its variance: at 5 %, Laplace noise reaches ln 10/√2 = 1.63
// standard deviations, a sum of many 1.65.
func (c calibration) needs(p Params, sketches int) float64 {
	h := Histogram[uint64]{params: p, law: c}
	threshold := h.threshold()
	if math.IsInf(threshold, -1) {
		return 0
	}
	noise := c.below(0.05)
	if c.is().trimmed && noise > 0 {
		noise *= math.Sqrt(1 + float64(sketches)*discreteLaplace(c.Shift).Variance()/c.noise().Variance())
	}
	return max(threshold, 0) + noise + c.bias(sketches)
}

// bias returns what the offsets of private shifts take off a count.
func (c calibration) bias(sketches int) float64 { return float64(sketches) * c.counts(c.Offset) }
