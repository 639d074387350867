package sparse

import (
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Vector is a released sparse vector, see threshold.Vector, with its Law.
type Vector[K wire.Key] struct {
	Law
	values []Entry[K] // sorted by key
	beside int64      // in steps, with noise; 0 unless Params.Beside
}

// Beside returns the noisy number beside the keys, see [Release]; 0 where there is none. It may be
// negative. With CorrelatedGaussian its noise contains that which the values share, with the
// opposite sign, so the sum of a value and the number is less noisy than either.
func (v *Vector[K]) Beside() float64 { return float64(v.beside) * v.numbers.step }

// Len returns the number of released keys.
func (v *Vector[K]) Len() int { return len(v.values) }

// All yields the released keys and their noisy values, in the units of the data, sorted by key.
func (v *Vector[K]) All() iter.Seq2[K, float64] {
	return wire.AllKeys(len(v.values), func(i int) (K, float64) { return v.values[i].Key, v.value(v.values[i]) })
}

// value returns a released value in the units of the data.
func (v *Vector[K]) value(e Entry[K]) float64 { return float64(e.Steps) * v.numbers.step }

// Estimate returns the noisy value of the key, in the units of the data, or 0 if it was not
// released.
func (v *Vector[K]) Estimate(key K) float64 {
	e, _ := v.find(key)
	return v.value(e)
}

// Has reports whether the key was released.
func (v *Vector[K]) Has(key K) bool {
	_, found := v.find(key)
	return found
}

func (v *Vector[K]) find(key K) (e Entry[K], found bool) {
	i, found := slices.BinarySearchFunc(v.values, key, func(e Entry[K], key K) int { return wire.Compare(e.Key, key) })
	if found {
		e = v.values[i]
	}
	return e, found
}

// Interval is threshold.Vector.Interval.
func (v *Vector[K]) Interval(key K, confidence float64) (lo, hi float64) {
	law := v.numbers
	if !check.Confidence(confidence) || law.method == Auto {
		return math.NaN(), math.NaN()
	}
	c := law.reach(1 - confidence)
	e, found := v.find(key)
	low, high := e.Steps-c, e.Steps+c
	switch {
	case found && law.method.pure():
	case law.method == DenseLaplace: // a key outside Dim
		low, high = 0, 0
	case !found:
		high = law.threshold - 1 + c
		low = -high
	case e.Steps > 0 && low <= law.from:
		low = law.least(confidence)
	case e.Steps < 0 && high >= -law.from:
		high = -law.least(confidence)
	}
	if !v.params.Signed {
		low, high = max(low, 0), max(high, 0)
	}
	return float64(low) * law.step, float64(high) * law.step
}

// least returns the least size that a released value is taken to have had, in steps.
func (c calibration) least(confidence float64) int64 {
	if c.from > 1 && c.laplace().Survival(float64(c.threshold-c.from)-0.5) <= 1-confidence {
		return c.from
	}
	return 1
}

// Steps returns the released keys, sorted, with their noisy values in steps, and the number beside
// them. They are the vector's own.
func (v *Vector[K]) Steps() (entries []Entry[K], beside int64) { return v.values, v.beside }

// VectorOf returns the vector that has these Steps.
func VectorOf[K wire.Key](l Law, entries []Entry[K], beside int64) *Vector[K] {
	return &Vector[K]{l, entries, beside}
}
