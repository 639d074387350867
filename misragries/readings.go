package misragries

import (
	"iter"
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	sparse "github.com/dpsketch/dpsketch/threshold"
)

// Interval returns bounds that hold the true number of occurrences of the key with at least the
// given confidence, over the noise, for any one key fixed before the release, released or not.
// Sketch error and noise are both in it. NaN for a confidence outside [0, 1).
//
// Let v be the noisy count, or for a key that was not released the largest that would not have
// been. The lower end is v less a quantile of the noise, and 0 for a reduced sketch if that is
// below R, from which small values are rounded up. The upper end is v plus a quantile and the
// undercount. With shared noise that is v + (D − η) plus a quantile of the own noise alone, as η
// cancels. Else it is +Inf unless MaxLength bounds the undercount.
func (h *Histogram[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !limits.Confidence(confidence) || h.law.mechanism == Auto {
		return math.NaN(), math.NaN()
	}
	if h.vector != nil {
		lo, hi = h.vector.Interval(key, confidence)
		return lo, hi + h.undercountBound(0)
	}
	tail := (1 - confidence) / 2
	v, found := h.find(key)
	if found {
		if lo = v - h.law.above(tail); lo < h.law.counts(h.law.sum.from) {
			lo = max(lo, 0)
			if h.law.sum.from > 1 {
				lo = 0
			}
		}
	} else if v = h.Threshold(); !h.law.mechanism.universe() {
		v -= h.law.counts(1)
	}
	// In one of two ways the upper end may fail, where both are possible, or the shift and the
	// noise.
	ways := 1.0
	if h.knowsDecrements() && h.params.MaxLength > 0 || h.law.mechanism.shifts() {
		ways = 2
	}
	hi = v + h.law.above(tail/ways) + h.undercountBound(tail/ways)
	if h.knowsDecrements() { // not stored: f ≤ D = (D − η) + η, and τ − 1 ≥ 0 makes the same bound hold with η in the place of L
		hi = min(hi, v+float64(h.decrements)+h.law.own(tail/ways))
	}
	return lo, max(lo, hi)
}

// knowsDecrements reports whether D − η is part of the release.
func (h *Histogram[K]) knowsDecrements() bool { return h.law.shared() && h.input != GivenCounters }

// undercountBound returns n/(k+1), and the most that private shifts add to it but for a probability
// of tail; +Inf if n is unknown.
func (h *Histogram[K]) undercountBound(tail float64) float64 {
	if h.params.MaxLength == 0 {
		return math.Inf(1)
	}
	bound := float64(h.params.MaxLength) / (float64(h.params.Counters) + 1)
	if h.law.mechanism.shifts() {
		bound += h.law.shifts(float64(h.sketches), tail)
	}
	return bound
}

// Undercount returns a bound on how much less the sketch or the sum holds than the true count, for
// all keys, that holds with the given confidence: what n/(k+1) is in the worst case. With shared
// noise it is the noisy number of decrements, else it is known by MaxLength alone, and +Inf
// without. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) Undercount(confidence float64) float64 {
	if !limits.Confidence(confidence) || h.law.mechanism == Auto {
		return math.NaN()
	}
	bound := h.undercountBound(1 - confidence)
	if h.knowsDecrements() {
		bound = min(bound, max(0, float64(h.decrements)+h.law.own(1-confidence)))
	}
	return bound
}

// DetectionLimit returns the least true count at which, with the given confidence, every key that
// reaches it is among the released keys; +Inf if the undercount is not bounded. NaN for a
// confidence outside [0, 1).
func (h *Histogram[K]) DetectionLimit(confidence float64) float64 {
	if !limits.Confidence(confidence) || h.law.mechanism == Auto {
		return math.NaN()
	}
	return h.detectionLimit(h.slack(confidence))
}

func (h *Histogram[K]) detectionLimit(slack float64) float64 {
	limit := h.Threshold() + slack
	if h.law.mechanism.universe() { // of keys that tie with the least that was released some may be hidden
		limit += h.law.counts(1)
	}
	return max(1, limit)
}

// slack returns s such that, with the given confidence, all keys of true count f > s − (τ − 1) at
// once have v ≥ f − s. With shared noise: a stored key has v = c + η + L ≥ f − (D − η) + L; one
// that is not has f ≤ (D − η) + η.
func (h *Histogram[K]) slack(confidence float64) float64 {
	switch {
	case h.vector != nil:
		return h.noiseOfAll(confidence) + h.undercountBound(0)
	case h.knowsDecrements():
		return float64(h.decrements) + h.law.joint(float64(h.params.Counters), 1-confidence)
	case h.law.shared():
		return h.law.above((1-confidence)/h.stored()) + h.undercountBound(0)
	case h.law.mechanism.shifts():
		half := (1 - confidence) / 2
		return h.law.joint(h.stored(), half) + h.undercountBound(half)
	}
	return h.law.joint(h.stored(), 1-confidence) + h.undercountBound(0)
}

// stored returns the most keys that have noise.
func (h *Histogram[K]) stored() float64 {
	if h.law.mechanism.universe() {
		return float64(h.params.Dim)
	}
	return float64(h.params.Counters) * float64(h.sketches)
}

// noiseOfAll returns a bound on the noise of all keys at once, for SparseVector.
func (h *Histogram[K]) noiseOfAll(confidence float64) float64 {
	return h.vector.ErrorBound(h.params.Counters, confidence) - h.vector.Threshold()
}

// besidesUndercount returns a bound on what the estimates of all keys are off by at once, besides
// n/(k+1).
func (h *Histogram[K]) besidesUndercount(confidence float64) float64 {
	if h.vector != nil {
		return h.vector.ErrorBound(h.params.Counters, confidence)
	}
	return h.law.besidesUndercount(h.stored(), float64(h.sketches), confidence)
}

// Reading says which mistake HeavyHitters must not make.
type Reading uint8

const (
	// NoFalsePositives: every key returned has a true count of at least the threshold.
	NoFalsePositives Reading = iota
	// NoFalseNegatives: every key with a true count of at least the threshold is returned.
	NoFalseNegatives
)

// HeavyHitters yields keys and noisy counts, sorted by key, such that the reading's promise about
// true counts and the threshold holds for all keys at once with the given confidence.
//
// The promise of NoFalsePositives can always be kept, if need be by no key at all. That of
// NoFalseNegatives needs a threshold of at least DetectionLimit(confidence); below, ok is false and
// all released keys are yielded. ok is false, too, with no keys, if an argument is NaN, confidence
// is outside [0, 1) or the reading is neither.
func (h *Histogram[K]) HeavyHitters(threshold, confidence float64, reading Reading) (keys iter.Seq2[K, float64], ok bool) {
	if math.IsNaN(threshold) || !limits.Confidence(confidence) || reading > NoFalseNegatives || h.law.mechanism == Auto {
		return func(func(K, float64) bool) {}, false
	}
	if reading == NoFalseNegatives {
		slack := h.slack(confidence)
		if !(threshold >= h.detectionLimit(slack)) {
			return h.All(), false
		}
		return h.atLeast(threshold - slack), true
	}
	if h.vector != nil {
		switch h.vector.Params().Mechanism {
		case sparse.ExponentialRounding, sparse.LinearRounding: // R is below the least that is released
			threshold = max(threshold, h.Threshold())
		}
		return h.atLeast(threshold + h.noiseOfAll(confidence)), true
	}
	// c is v less its noise, for a union of all keys; but below R it may be anything.
	if h.law.sum.from > 1 {
		threshold = max(threshold, h.law.counts(h.law.sum.from+1))
	}
	return h.atLeast(threshold + h.law.above((1-confidence)/h.stored())), true
}
