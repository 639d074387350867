package misragries

import (
	"iter"
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
)

// Interval returns bounds that hold the number of occurrences of the key that counted with at least
// the given confidence, over the noise, for any one key fixed before the release, released or not.
// What MaxElements and MaxKeys cut off did not count. Sketch error and noise are both in it. NaN
// for a confidence outside [0, 1).
//
// Let v be the noisy count, or for a key that was not released the largest that would not have
// been. The lower end is v less a quantile of the noise, and 0 for a reduced sketch if that is
// below R, from which small values are rounded up, and 0 where a key without a value may have that
// much noise in PureUniverse: with the given confidence none that does not occur has a lower end
// above 0. The upper end is v plus a quantile and the undercount. With shared noise that is v + (D
// − η) plus a quantile of the own noise alone, as η cancels. It is +Inf where the undercount is,
// see [Histogram.Undercount]. Where the noise that cancels is large the estimate would lie below
// the lower end, which then goes down to it.
func (h *Histogram[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !limits.Confidence(confidence) || h.law.method == Auto {
		return math.NaN(), math.NaN()
	}
	lo, hi = h.by().interval(h, key, confidence)
	if v, found := h.by().find(h, key); found {
		estimate := h.by().estimate(h, v)
		lo, hi = min(lo, estimate), max(hi, estimate)
	}
	return lo, hi
}

// Undercount returns a bound on how much less the sketch or the sum holds than the true count, for
// all keys, that holds with the given confidence: what n/(k+1) is in the worst case. It is by the
// noisy number of decrements, or the noisy length of the streams, and by MaxLength. Of counters
// from elsewhere, see [FromCounters], neither number is known: +Inf without MaxLength. NaN for a
// confidence outside [0, 1).
func (h *Histogram[K]) Undercount(confidence float64) float64 {
	if !limits.Confidence(confidence) || h.law.method == Auto {
		return math.NaN()
	}
	return h.by().undercount(h, confidence)
}

// DetectionLimit returns the least true count at which, with the given confidence, every key that
// reaches it is among the released keys: 1 where all Dim keys are released, and else +Inf if the
// undercount is not bounded. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) DetectionLimit(confidence float64) float64 {
	if !limits.Confidence(confidence) || h.law.method == Auto {
		return math.NaN()
	}
	return h.detectionLimit(h.by().slack(h, confidence))
}

func (h *Histogram[K]) detectionLimit(slack float64) float64 {
	certain := h.by().certain(h)
	if math.IsInf(certain, -1) { // all keys are released, whatever their counts
		return 1
	}
	return max(1, certain+slack)
}

// HeavyHitters yields keys and their estimates, sorted by key, such that with the given confidence
// the count of each of them is at least the threshold: of all at once. Keys that reach the
// threshold may be missing; above [Histogram.DetectionLimit] every key is among all that are
// released. It yields nothing if an argument is NaN or confidence is outside [0, 1).
func (h *Histogram[K]) HeavyHitters(threshold, confidence float64) iter.Seq2[K, float64] {
	if math.IsNaN(threshold) || !limits.Confidence(confidence) || h.law.method == Auto {
		return func(func(K, float64) bool) {}
	}
	return h.atLeast(h.by().sure(h, threshold, confidence))
}
