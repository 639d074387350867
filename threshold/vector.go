package threshold

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Vector is a released sparse vector: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget.
type Vector[K hashing.Key] struct {
	params Params
	law    calibration
	values []entry[K] // sorted by key
	beside int64      // in steps, with noise; 0 unless Params.Beside
}

// Params returns the parameters of the release, with the Method that was used.
func (v *Vector[K]) Params() Params { return v.params }

// Guarantee returns the guarantee of the release. The zero Vector promises nothing.
func (v *Vector[K]) Guarantee() budget.Guarantee {
	if v.law.method == Auto {
		return budget.Guarantee{}
	}
	return v.params.promise(v.law)
}

// Threshold returns the least value that is released, in the units of the data: the least absolute
// value if Signed, −Inf for DenseLaplace. NaN for the zero Vector.
func (v *Vector[K]) Threshold() float64 {
	if v.law.method == Auto {
		return math.NaN()
	}
	return v.law.lowest()
}

// StdDev returns the standard deviation of the noise of one released value, in the units of the
// data. NaN for the zero Vector.
func (v *Vector[K]) StdDev() float64 {
	if v.law.method == Auto {
		return math.NaN()
	}
	return v.law.stdDev()
}

// Law returns the mechanism with its numbers, that of the zero Vector the zero Law.
func (v *Vector[K]) Law() Law { return Law{v.params, v.law} }

// Beside returns the noisy number beside the keys, see [Builder.AddBeside]; 0 where there is none.
// It may be negative. With CorrelatedGaussian its noise contains that which the values share with
// the opposite sign, so the sum of a value and the number is less noisy than either.
func (v *Vector[K]) Beside() float64 { return float64(v.beside) * v.law.step }

// Len returns the number of released keys.
func (v *Vector[K]) Len() int { return len(v.values) }

// All yields the released keys and their noisy values, in the units of the data, sorted by key.
func (v *Vector[K]) All() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, e := range v.values {
			if !yield(e.Key, v.value(e)) {
				return
			}
		}
	}
}

// Top yields the n released keys with the largest noisy values, the largest first; equal ones are
// sorted by key. If there are fewer than n, it yields all.
func (v *Vector[K]) Top(n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		sorted := slices.Clone(v.values)
		slices.SortStableFunc(sorted, func(a, b entry[K]) int { return cmp.Compare(b.Steps, a.Steps) })
		for _, e := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(e.Key, v.value(e)) {
				return
			}
		}
	}
}

// value returns a released value in the units of the data.
func (v *Vector[K]) value(e entry[K]) float64 { return float64(e.Steps) * v.law.step }

// Estimate returns the noisy value of the key, in the units of the data, or 0 if it was not
// released. The noise has mean 0, but a released value has passed the threshold, so it tends to be
// a little high. A value below R that rounding raised to R is overestimated as well.
func (v *Vector[K]) Estimate(key K) float64 {
	e, _ := v.find(key)
	return v.value(e)
}

func (v *Vector[K]) find(key K) (e entry[K], found bool) {
	i, found := find(v.values, key)
	if !found {
		return entry[K]{}, false
	}
	return v.values[i], true
}

// Interval returns bounds that hold the true value of the key, as it is on the grid, with at least
// the given confidence over the noise, for any one key fixed before the release, released or not.
// NaN for a confidence outside [0, 1).
//
// Let c be the least number that the noise exceeds in absolute value with probability at most 1 −
// confidence. For a released value o, the true one is in [o − c, o + c], and where δ > 0 it has the
// sign of o. Rounding may have raised a value below R to R before the noise, so where o − c ≤ R the
// interval includes such values too, except those that are released with probability at most 1 −
// confidence. The value of a key that is absent is below the threshold + c, in absolute value if
// Signed.
func (v *Vector[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !limits.Confidence(confidence) || v.law.method == Auto {
		return math.NaN(), math.NaN()
	}
	c := v.law.reach(1 - confidence)
	e, found := v.find(key)
	low, high := e.Steps-c, e.Steps+c
	switch {
	case found && v.law.method.pure():
	case v.law.method == DenseLaplace: // a key outside Dim
		low, high = 0, 0
	case !found:
		high = v.law.threshold - 1 + c
		low = -high
	case e.Steps > 0 && low <= v.law.from:
		low = v.law.least(confidence)
	case e.Steps < 0 && high >= -v.law.from:
		high = -v.law.least(confidence)
	}
	if !v.params.Signed {
		low, high = max(low, 0), max(high, 0)
	}
	return float64(low) * v.law.step, float64(high) * v.law.step
}

// ErrorBound is [Params.ErrorBound] for this release: a bound on |estimate − value| that holds with
// the given confidence for all keys at once, if at most stored keys have a value. NaN if an
// argument is invalid.
func (v *Vector[K]) ErrorBound(stored int, confidence float64) float64 {
	if v.law.method == Auto || stored < 0 || !limits.Confidence(confidence) {
		return math.NaN()
	}
	return v.law.errorBound(stored, v.params.Dim, confidence)
}

// least returns the least size that a released value is taken to have had, in steps.
func (c calibration) least(confidence float64) int64 {
	if c.from > 1 && c.laplace().Survival(float64(c.threshold-c.from)-0.5) <= 1-confidence {
		return c.from
	}
	return 1
}

// String says what was released under which guarantee, and by which mechanism.
func (v *Vector[K]) String() string {
	if v.law.method == Auto {
		return "threshold.Vector (not released)"
	}
	return fmt.Sprintf("threshold.Vector: %d keys of value ≥ %.6g by %v, %v", v.Len(), v.Threshold(), v.law.method, v.Guarantee())
}
