package distinct

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// release is what all releases have in common.
type release struct {
	params  Params
	numbers numbers // what was released, none only in a zero value
}

// valid reports whether it is no zero value.
func (r *release) valid() bool { return len(r.numbers) > 0 }

// Params returns them, filled in.
func (r *release) Params() Params { return r.params }

// Guarantee returns what was spent.
func (r *release) Guarantee() budget.Guarantee { return r.params.twoMoves() }

// text says what was released under which guarantee.
func (r *release) text(name string, guarantee any, format string, args ...any) string {
	if !r.valid() {
		return name + " (empty)"
	}
	return fmt.Sprintf("%s: %s, %d levels of %d cells, %v", name, fmt.Sprintf(format, args...), r.params.Levels, r.params.Cells, guarantee)
}

// total is a released count of all keys.
type total struct {
	release
	slots int // number of slots in a running total, 0 in a Sketch
}

// count returns the count.
func (t *total) count() (c count) {
	switch {
	case !t.valid():
		return c
	case t.slots == 0:
		c.curve = newCurve(t.params)
	default:
		c.curve, _ = t.params.classCurve(draws{t.slots, 1}, draws{})
	}
	c.ones = float64(t.numbers[0])
	return c
}

// Estimate can be negative for small sets, so that sums stay unbiased.
func (t *total) Estimate() float64 { return t.count().Estimate() }

// StdErr returns the standard error, in keys.
func (t *total) StdErr() float64 { return t.count().StdErr() }

// Interval returns the sizes ≥ 0 that agree with the noisy count; hi is +Inf if the table is too
// full.
func (t *total) Interval(confidence float64) (lo, hi float64) { return t.count().Interval(confidence) }

// Sketch is the noisy count of a Builder and, with CountShare < 1, the noisy bits.
type Sketch struct {
	total
	id   hashing.Seed // of the release: public randomness
	bits []uint64     // the flipped bits, nil if CountShare is 1
}

// Guarantee returns what was spent.
func (s *Sketch) Guarantee() budget.Guarantee { return s.params.Guarantee() }

// erring returns an interval that errs so often, for few errors too.
func (s *Sketch) erring(errors float64) (lo, hi float64) {
	if 1-errors == 1 { // rounded
		return 0, math.Inf(1)
	}
	return s.Interval(1 - errors)
}

// String describes the release.
func (s *Sketch) String() string {
	bits := "no bits"
	if s.bits != nil {
		bits = "with bits"
	}
	return s.text("distinct.Sketch", s.Guarantee(), "a count of keys, %s", bits)
}
