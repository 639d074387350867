package threshold

import (
	"fmt"
	"iter"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Vector is a released sparse vector: public, immutable, safe for concurrent readers. Reading it
// costs no budget.
type Vector[K hashing.Key] struct{ v sparse.Vector[K] }

// Params returns the parameters of the release, with the Method that was used.
func (v *Vector[K]) Params() Params { return outer(v.v.Params()) }

// Guarantee returns the guarantee of the release.
func (v *Vector[K]) Guarantee() budget.Guarantee { return v.v.Guarantee() }

// Len returns the number of released keys.
func (v *Vector[K]) Len() int { return v.v.Len() }

// Has reports whether the key was released.
func (v *Vector[K]) Has(key K) bool { return v.v.Has(key) }

// All yields the released keys and their noisy values, sorted by key.
func (v *Vector[K]) All() iter.Seq2[K, float64] { return v.v.All() }

// Top yields the n released keys with the largest noisy values, the largest first; equal ones are
// sorted by key.
func (v *Vector[K]) Top(n int) iter.Seq2[K, float64] { return wire.TopKeys(v.All(), n) }

// Estimate returns the noisy value of the key, in the units of the data, or 0 if it was not
// released. A released value has passed the threshold, so it tends to be a little high. A value
// below R that rounding raised to R is overestimated as well.
func (v *Vector[K]) Estimate(key K) float64 { return v.v.Estimate(key) }

// Interval returns bounds that contain the true value of the key, as it is on the grid, with at
// least the given confidence over the noise. This holds for any one key fixed before the release,
// released or not. Rounding may have raised a value below R to R before the noise: then the
// interval includes such values too. NaN for a confidence outside [0, 1).
func (v *Vector[K]) Interval(key K, confidence float64) (lo, hi float64) {
	return v.v.Interval(key, confidence)
}

// ErrorBound is [Plan.ErrorBound] for this release.
func (v *Vector[K]) ErrorBound(stored int, confidence float64) float64 {
	return v.v.ErrorBound(stored, confidence)
}

// String says what was released under which guarantee, and by which mechanism.
func (v *Vector[K]) String() string {
	if v.Params() == (Params{}) {
		return "threshold.Vector (not released)"
	}
	return fmt.Sprintf("threshold.Vector: %d keys of value ≥ %.6g by %v, %v", v.Len(), v.v.Threshold(), v.v.Params().Method, v.Guarantee())
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat], for the zero Vector.
func (v *Vector[K]) AppendBinary(dst []byte) ([]byte, error) { return v.v.AppendBinary(dst) }

// MarshalBinary returns the encoding.
func (v *Vector[K]) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, for the same key type or one of the same class
// that holds all keys. It returns an error that wraps [ErrFormat], and leaves the receiver as it
// was, for any other bytes.
func (v *Vector[K]) UnmarshalBinary(data []byte) error {
	var d sparse.Vector[K]
	if err := d.UnmarshalBinary(data); err != nil {
		return err
	}
	if d.Params().Beside {
		return check.FormatError("threshold", "a number beside the keys, which is part of a sketch")
	}
	v.v = d
	return nil
}

// MarshalJSON returns the guarantee, the threshold and the keys with their estimates and intervals
// at .95. A key that is not UTF-8, or that begins with \x, is \x and its bytes in hexadecimal
// digits. The member data is the binary encoding.
func (v Vector[K]) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&v, struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Threshold wire.Number        `json:"threshold"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{v.Guarantee(), wire.Number(v.v.Threshold()), wire.KeyEstimates(v.All(), v.Interval)})
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary does.
func (v *Vector[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, v) }
