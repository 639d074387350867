package misragries

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise"
)

// Histogram is a released histogram: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget.
//
// For a key of true count f, stored with counter c (0 if not stored) after D decrements, f is in [c, c + D].
// The histogram holds v = c + η + L where v ≥ τ, and D − η.
type Histogram[K hashing.Key] struct {
	params     Params
	decrements int64        // D − η
	counts     []counter[K] // sorted by key, every count at least the threshold
}

// Params returns the parameters of the release.
func (h *Histogram[K]) Params() Params { return h.params }

// Guarantee returns (ε, δ) for streams that differ by adding or removing one element.
func (h *Histogram[K]) Guarantee() noise.Guarantee {
	return noise.ApproxDP(h.params.Epsilon, h.params.Delta, noise.AddRemove)
}

// Threshold returns the least noisy count that is released.
func (h *Histogram[K]) Threshold() float64 { return h.params.Threshold() }

// Len returns the number of released keys.
func (h *Histogram[K]) Len() int { return len(h.counts) }

// All yields the released keys and their noisy counts, sorted by key.
func (h *Histogram[K]) All() iter.Seq2[K, float64] {
	return h.atLeast(math.MinInt64)
}

// atLeast yields the released keys whose noisy count is at least v.
func (h *Histogram[K]) atLeast(v int64) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, c := range h.counts {
			if c.count >= v && !yield(c.key, float64(c.count)) {
				return
			}
		}
	}
}

// Estimate returns the noisy counter of the key, or 0 if it was not released. It estimates the counter of
// the sketch without bias (before the threshold), which is below the true count by at most n/(k+1); see Interval for both errors in one bound.
func (h *Histogram[K]) Estimate(key K) float64 {
	v, _ := h.find(key)
	return float64(v)
}

func (h *Histogram[K]) find(key K) (int64, bool) {
	i, found := slices.BinarySearchFunc(h.counts, key, func(c counter[K], key K) int { return cmp.Compare(c.key, key) })
	if !found {
		return 0, false
	}
	return h.counts[i].count, true
}

// Interval returns bounds that hold the true number of occurrences of the key in the stream with at
// least the given confidence, over the noise, for any one key fixed before the release, released or not. Sketch error and noise are both in it.
//
// The lower end is v minus a quantile of η + L. The upper end is v + (D − η) plus a quantile of L: the
// shared noise cancels. A key that was not released has a noisy counter below the threshold, or none. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !validConfidence(confidence) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - confidence) / 2
	v, found := h.find(key)
	if !found {
		v = h.params.threshold() - 1
	} else {
		lo = max(0, float64(v-h.params.sumQuantile(tail)))
	}
	// Not stored: f ≤ D = (D − η) + η, and τ − 1 ≥ 0 makes the same bound hold with η in the place of L.
	return lo, max(lo, float64(v)+float64(h.decrements)+float64(h.params.ownQuantile(tail)))
}

// Undercount returns a bound on the number of decrements, and with it on how much any counter of the
// sketch is below the true count, that holds with the given confidence: what n/(k+1) is in the worst case, for this
// stream, whose length n is private. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) Undercount(confidence float64) float64 {
	if !validConfidence(confidence) {
		return math.NaN()
	}
	return max(0, float64(h.decrements)+float64(h.params.ownQuantile(1-confidence)))
}

// DetectionLimit returns the least true count at which, with the given confidence, every key that reaches it is
// among the released keys. NaN for a confidence outside [0, 1).
func (h *Histogram[K]) DetectionLimit(confidence float64) float64 {
	if !validConfidence(confidence) {
		return math.NaN()
	}
	return h.detectionLimit(h.slack(confidence))
}

func (h *Histogram[K]) detectionLimit(slack float64) float64 {
	return max(1, h.Threshold()+slack)
}

// slack returns s such that, with the given confidence, all keys of true count f > s − (τ − 1) at once have
// v ≥ f − s. A stored key has v = c + η + L ≥ f − (D − η) + L; one that is not has f ≤ (D − η) + η.
func (h *Histogram[K]) slack(confidence float64) float64 {
	return float64(h.decrements) + float64(h.params.jointQuantile(1-confidence))
}

// Reading says which mistake HeavyHitters must not make.
type Reading uint8

const (
	// NoFalsePositives: every key returned has a true count of at least the threshold.
	NoFalsePositives Reading = iota
	// NoFalseNegatives: every key with a true count of at least the threshold is returned.
	NoFalseNegatives
)

// HeavyHitters yields keys and noisy counts, sorted by key, such that the reading's promise about true counts and
// the threshold holds for all keys at once with the given confidence.
//
// The promise of NoFalsePositives can always be kept, if need be by no key at all. That of NoFalseNegatives
// needs a threshold of at least DetectionLimit(confidence); below, ok is false and all released keys are
// yielded. ok is false, too, with no keys, if an argument is NaN, confidence is outside [0, 1) or the reading is neither.
func (h *Histogram[K]) HeavyHitters(threshold, confidence float64, reading Reading) (keys iter.Seq2[K, float64], ok bool) {
	if math.IsNaN(threshold) || !validConfidence(confidence) || reading > NoFalseNegatives {
		return func(func(K, float64) bool) {}, false
	}
	if reading == NoFalsePositives {
		// c = v − η − L, and no more than k counters: a union bound.
		margin := h.params.sumQuantile((1 - confidence) / float64(h.params.Counters))
		return h.above(threshold + float64(margin)), true
	}
	slack := h.slack(confidence)
	if threshold < h.detectionLimit(slack) {
		return h.All(), false
	}
	return h.above(threshold - slack), true
}

// above is atLeast for a real bound.
func (h *Histogram[K]) above(v float64) iter.Seq2[K, float64] {
	switch v = math.Ceil(v); {
	case v >= math.MaxInt64:
		return h.atLeast(math.MaxInt64)
	case v <= math.MinInt64:
		return h.All()
	}
	return h.atLeast(int64(v))
}

// String says what was released under which guarantee.
func (h *Histogram[K]) String() string {
	return fmt.Sprintf("misragries.Histogram: %d keys of count ≥ %v from %d counters, %v", h.Len(), h.Threshold(), h.params.Counters, h.Guarantee())
}
