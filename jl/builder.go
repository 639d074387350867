package jl

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// Builder sums a vector, or its sketch. It holds private data: it prints nothing of it, encodes nothing, and Release is the only way out. One goroutine
// at a time may use it.
type Builder struct {
	state **state // twice removed: fmt, slog and the encoders get no further than an address
}

// state is nil once released.
type state struct {
	*setup
	sums []fixed // of the rows, or of the coordinates where the vector is held
	src  noise.Source
}

// setup is what Builders of equal Params share. It holds no data.
type setup struct {
	params  Params // with the Noise that is used
	matrix  matrix
	columns columns // the matrix if the sketch is updated, nil if the vector is held
	sjlt    *sjlt   // the same if it is one: a direct call takes half the time
	law     law
	limit   int64   // where values saturate, in steps
	bound   float64 // the same
	inverse float64 // 1/step
}

// New returns an empty Builder, or an error that wraps [ErrParams]. It draws the transform, which takes up to 10 ns for each coordinate and block of an SJLT with tables (Dim·s ≤
// 2²²), and up to 20 ns for each entry of a Normal or an FJLT matrix. [Builder.Sibling] is the cheap way to further Builders.
func New(p Params) (*Builder, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	m := p.newMatrix()
	c, err := p.calibrate(m)
	if err != nil {
		return nil, err
	}
	p = p.withoutNegativeZeros()
	p.Noise = c.law.kind
	s := &setup{params: p, matrix: m, law: c.law, limit: c.limit, bound: float64(c.limit), inverse: 1 / c.law.step}
	if !p.holds() {
		s.columns = m.(columns)
		s.sjlt, _ = m.(*sjlt)
	}
	return s.builder(), nil
}

func (p *setup) builder() *Builder {
	n := p.params.Rows
	if p.columns == nil {
		n = int(p.params.Dim)
	}
	s := &state{setup: p, sums: make([]fixed, n)}
	return &Builder{&s}
}

// Sibling returns an empty Builder of the same Params that shares the transform, for the next vector. The error wraps [ErrReleased]: what is
// released has given up its transform, so ask before.
func (b *Builder) Sibling() (*Builder, error) {
	if b.Released() {
		return nil, released("Sibling")
	}
	return (*b.state).setup.builder(), nil
}

// Add adds the value, in the units of the data, to the coordinate. It takes O(s) for an SJLT, O(k) for Rademacher signs, O(1) where the vector is held, and
// allocates nothing. Negative values take away. NaN counts as 0, an index outside [0, Dim) is ignored, and values and sums saturate at ±[Params.Limit].
// With Integers a value is rounded to the nearest integer.
//
// What makes two inputs neighbours is the change of the values that are added: the sizes of all changes of a coordinate add up.
//
// After Release, and on a Builder that New did not make, Add does nothing: the release is final.
func (b *Builder) Add(index uint64, value float64) {
	if b.Released() {
		return
	}
	if s := *b.state; index < s.params.Dim {
		s.add(index, value)
	}
}

// AddDense adds a vector of all coordinates, the first being 0. Coordinates beyond Dim are ignored.
func (b *Builder) AddDense(x []float64) {
	if b.Released() {
		return
	}
	s := *b.state
	x = x[:min(uint64(len(x)), s.params.Dim)]
	var chunk [64]fixed
	for from := 0; from < len(x); from += len(chunk) {
		part := x[from:min(from+len(chunk), len(x))]
		for i, value := range part {
			chunk[i] = s.fixed(value)
		}
		s.addAll(from, chunk[:len(part)])
	}
}

// addAll adds the values to the coordinates from the given one on.
func (s *state) addAll(from int, values []fixed) {
	switch {
	case s.sjlt != nil:
		s.sjlt.addAll(s.sums, from, values)
	case s.columns != nil:
		for i, v := range values {
			s.columns.add(s.sums, uint64(from+i), v)
		}
	default:
		for i, v := range values {
			s.sums[from+i] = s.sums[from+i].add(v).clamped(s.limit)
		}
	}
}

// fixed returns the value in steps.
func (s *setup) fixed(value float64) fixed {
	if s.params.Integers {
		value = math.RoundToEven(value)
	}
	y := value * s.inverse
	if math.Abs(y) < s.bound {
		return toFixed(y)
	}
	return saturated(y, s.limit)
}

func (s *state) add(index uint64, value float64) {
	v := s.fixed(value)
	switch {
	case s.sjlt != nil:
		s.sjlt.add(s.sums, index, v)
	case s.columns != nil:
		s.columns.add(s.sums, index, v)
	default:
		s.sums[index] = s.sums[index].add(v).clamped(s.limit)
	}
}

// Merge adds what the other Builder holds, as if all had been added to this one; the other one stays as it is. It is for parts of one vector in hands that trust
// each other: nothing is released. The error wraps [ErrMismatch] if the Params differ, and [ErrReleased].
func (b *Builder) Merge(other *Builder) error {
	if b.Released() || other.Released() {
		return released("Merge")
	}
	s, o := *b.state, *other.state
	if s.params != o.params {
		return s.params.mismatch(o.params)
	}
	for i, v := range o.sums {
		s.sums[i] = s.sums[i].add(v).clamped(s.limit)
	}
	return nil
}

// Released reports whether the Builder has been released, and Add therefore ignores what it is given.
func (b *Builder) Released() bool { return b == nil || b.state == nil || *b.state == nil }

func released(method string) error {
	return fmt.Errorf("jl: %s: the Builder is %w", method, fault.ErrReleased)
}

// Release spends the budget and returns the private sketch. The Builder gives up its data; a second Release returns an error that wraps [ErrReleased].
func (b *Builder) Release() (*Sketch, error) {
	if b.Released() {
		return nil, released("Release")
	}
	s := *b.state
	*b.state = nil
	return s.release(), nil
}

// release rounds the sums, applies the matrix if that has not happened, and adds the noise on the side where it belongs.
func (s *state) release() *Sketch {
	values, draw := make([]int64, len(s.sums)), s.law.sampler(&s.src)
	for i, v := range s.sums {
		values[i] = v.rounded()
	}
	if s.law.input {
		for j := range values {
			values[j] = min(max(values[j]+draw(), -s.limit), s.limit)
		}
	}
	if s.columns == nil {
		values = s.matrix.apply(values)
	}
	if !s.law.input {
		for i := range values {
			values[i] += draw()
		}
	}
	return newSketch(s.params, s.law, values)
}

const redacted = "jl.Builder (private)"

// Format prints a fixed text under every verb.
func (b Builder) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue logs a fixed text.
func (b Builder) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (b Builder) MarshalText() ([]byte, error) { return []byte(redacted), nil }
