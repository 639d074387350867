package distinct

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sketch is a released sketch: public, immutable, safe for concurrent readers. All that it computes
// is post-processing and costs no budget. Its methods answer NaN on the zero Sketch.
type Sketch struct {
	params Params
	id     hashing.Seed // of the release: public randomness, 0 only in a zero value
	ones   int64        // the noisy number of ones
	bits   []uint64     // the flipped bits, nil if CountShare is 1
}

// valid reports whether it is no zero value.
func (s *Sketch) valid() bool { return s != nil && !s.id.IsZero() }

// Params returns the parameters of the release, with all defaults filled in.
func (s *Sketch) Params() Params { return s.params }

// Guarantee returns the guarantee of the release, ε-differential privacy for one key with all its
// occurrences, added or removed.
func (s *Sketch) Guarantee() budget.Guarantee { return s.params.Guarantee() }

// count returns the count.
func (s *Sketch) count() (c count) {
	if s.valid() {
		c = count{newCurve(s.params), float64(s.ones)}
	}
	return c
}

// Estimate returns the estimated number of distinct keys: the number whose expected count of ones
// is the released one, with a second-order correction for bias. For small sets it can be negative,
// so that sums of estimates stay unbiased.
//
// If the noise, of standard deviation √2/(CountShare·ε), is at most a fifth of Cells, the bias is
// at most 0.07 standard errors for sizes up to Plan.Largest. If the noise is as large as Cells, the
// estimate is now and then many times too large: then rely on the interval.
func (s *Sketch) Estimate() float64 {
	c := s.count()
	return c.Estimate()
}

// StdErr returns the standard error of the estimate, in keys; see [Plan.StdErr].
func (s *Sketch) StdErr() float64 {
	c := s.count()
	return c.StdErr()
}

// Interval returns the range of sizes ≥ 0 that are consistent with the noisy count and include the
// estimate; each end may err with probability (1 − confidence)/2. hi is +Inf if the table is too
// full to bound the size. NaN for a confidence outside [0, 1).
//
// The coverage at 0.95 is between 0.94 and 0.994. It is above the confidence if few keys and little
// noise make the distribution discrete.
func (s *Sketch) Interval(confidence float64) (lo, hi float64) {
	c := s.count()
	return c.Interval(confidence)
}

// erring returns an interval that errs so often, for few errors too.
func (s *Sketch) erring(errors float64) (lo, hi float64) {
	if 1-errors == 1 { // rounded
		return 0, math.Inf(1)
	}
	return s.Interval(1 - errors)
}

// String says what was released under which guarantee.
func (s *Sketch) String() string {
	if !s.valid() {
		return "distinct.Sketch (empty)"
	}
	bits := "no bits"
	if s.bits != nil {
		bits = "with bits"
	}
	return fmt.Sprintf("distinct.Sketch: a count of keys, %s, %d levels of %d cells, %v", bits, s.params.Levels, s.params.Cells, s.Guarantee())
}
