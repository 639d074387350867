package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// secret is the private data of a Builder.
type secret = private.State[state]

// Builder sums a vector, or its sketch. It holds private data, which it never prints or encodes:
// Release is the only way out. One goroutine at a time may use it; concurrent use panics if it is
// detected.
type Builder struct {
	secret
	guarantee budget.Guarantee
}

// state is what is added up.
type state struct {
	setup
	sums   []fixed // of the rows, or
	vector held    // of the coordinates
	apart  bool    // rows have two sums each; see accumulate.go
	load   uint64  // no sum is further from 0, in steps
	src    noise.Source
}

// setup is what Builders of equal Params share. It holds no data.
type setup struct {
	params  Params // with the Noise that is used
	matrix  matrix
	columns columns  // the matrix if the sketch is updated, nil if the vector is held
	table   []uint32 // of an SJLT that has one
	width   uint64   // its entries for a coordinate
	singles []uint32 // the table if that is one
	noise   calibrated.Noise
	limit   int64   // where values saturate, in steps
	room    uint64  // of the load
	bound   float64 // the limit
	inverse float64 // 1/step
	promise budget.Guarantee
}

// New returns an empty Builder, or an error that wraps [ErrParams]. It draws the transform, which
// takes up to 5 ns per coordinate and block of an SJLT with tables (Dim·s ≤ 2²²), and up to 10 ns
// per entry of a Normal or an FJLT matrix. Under L2 it also computes the norm of the matrix. This
// takes up to 20 ms plus, per coordinate, s² ns for an SJLT with s > 1, k²/200 ns for signs and
// k²/8 ns for normal entries.
//
// These results are public and are cached: the last 64 calibrations and norms, and the matrices
// drawn last, up to 33 MiB of matrices in all. So a second New with equal Params takes
// microseconds. [Builder.Sibling] draws and computes nothing.
//
// For experiments, values that protect hardly anybody are accepted: ε above 20, δ above 0.01.
func New(p Params) (*Builder, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	m := p.drawn()
	c, err := calibrations.Get(p, func() (calibration, error) { return p.calibrate(m) })
	if err != nil {
		return nil, err
	}
	return p.setup(m, c).builder(), nil
}

// setup returns what Builders with the matrix and the noise share.
func (p Params) setup(m matrix, c calibration) setup {
	p = p.withoutNegativeZeros()
	p.Noise = Noise(c.noise.Kind)
	s := setup{params: p, matrix: m, noise: c.noise, limit: c.limit, bound: float64(c.limit), inverse: 1 / c.noise.Step}
	s.promise = newTerm(p, c.noise).guarantee(p.Change.unit())
	if !p.holds() {
		s.columns = m.(columns)
	}
	if m, ok := m.(*sjlt); ok {
		s.table, s.width = m.table, uint64(m.sparsity)
	}
	if s.width == 1 {
		s.singles = s.table
	}
	switch {
	case s.columns == nil:
		s.room = uint64(s.limit)
	case s.table != nil:
		s.room = most
	}
	return s
}

func (p setup) builder() *Builder {
	n, vector, apart := p.params.Rows, held{}, p.table != nil
	switch {
	case p.columns == nil:
		n, vector = 0, newHeld(p.params.Dim, p.params.Integers)
	case apart:
		n *= 2
	}
	return &Builder{private.New(state{setup: p, sums: make([]fixed, n), vector: vector, apart: apart}), p.promise}
}

// Sibling returns an empty Builder of the same Params that shares the transform, for the next
// vector. The error wraps [ErrReleased]: a released Builder has given up its transform, so call
// Sibling before.
func (b *Builder) Sibling() (*Builder, error) {
	s := private.Enter(b.secret)
	if s == nil {
		_, err := private.Take(b.secret, "jl: Sibling: the Builder")
		return nil, err
	}
	defer private.Leave(b.secret)
	return s.setup.builder(), nil
}

// Guarantee returns what the release promises, before and after Release. The zero Builder promises
// nothing.
func (b *Builder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds value, in the units of the data, to coordinate index. It takes O(s) for an SJLT, O(k)
// for Rademacher signs, O(1) where the vector is held, and allocates nothing. Negative values
// subtract. NaN is no entry: it adds nothing. An index outside [0, Dim) is ignored, and values and
// sums saturate at plus or minus [Plan.Max]. With Integers a value is rounded to the nearest
// integer.
//
// Whether two inputs are neighbours depends on the values that are added: the absolute values of
// all changes to a coordinate add up.
//
// After Release, and on the zero Builder, Add does nothing: the release is final.
func (b *Builder) Add(index uint64, value float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	y := value * s.inverse
	if s.params.Integers {
		y = math.RoundToEven(value) * s.inverse
	}
	if index >= uint64(len(s.singles)) || s.load >= most/2 || !(-0x1p40 < y && y < 0x1p40) {
		s.add(index, value)
	} else {
		v := quickFixed(y)
		s.load += v.size()
		s.sums[s.singles[index]].accumulate(&v)
	}
	private.Leave(b.secret)
}

// AddSparse adds values[i] to coordinate indices[i], for each i that is within both slices. It
// equals a call of [Builder.Add] for each, in less time: values of one index are added.
func (b *Builder) AddSparse(indices []uint64, values []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addSparse(indices, values)
	private.Leave(b.secret)
}

// AddDense adds x[i] to coordinate i, for all i. Coordinates beyond Dim are ignored.
func (b *Builder) AddDense(x []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addDense(x[:min(uint64(len(x)), s.params.Dim)])
	private.Leave(b.secret)
}

// Merge adds what the other Builder holds, as if all of it had been added to this one. The other
// Builder gives up its data, and counts as released. Use Merge for parts of one vector, held by
// parties that trust each other: nothing is released, and the sum spends only one release.
//
// The error wraps [ErrMismatch] if the Params differ or the other Builder is this one, and
// [ErrReleased] if either was released. After an error nothing has changed.
func (b *Builder) Merge(other *Builder) error {
	if other == nil {
		other = new(Builder)
	}
	return private.Merge(b.secret, other.secret, "jl: Merge", "Builder", func(s, o *state) error {
		if s.params != o.params {
			return s.params.mismatch(o.params)
		}
		s.merge(o)
		return nil
	})
}

// Released reports whether the Builder has been released, so that Add ignores its arguments.
func (b *Builder) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private sketch. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder) Release() (*Sketch, error) {
	s, err := private.Take(b.secret, "jl: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.release(), nil
}

// release rounds the sums, applies the matrix if that has not happened, and adds the noise on the
// side where it belongs.
func (s *state) release() *Sketch {
	values, draw := s.rounded(), s.noise.Sampler(&s.src)
	if s.params.Input {
		for j := range values {
			values[j] = min(max(values[j]+draw(), -s.limit), s.limit)
		}
	}
	if s.columns == nil {
		values = s.matrix.apply(values)
	}
	if !s.params.Input {
		for i := range values {
			values[i] += draw()
		}
	}
	if s.params.wraps() { // modulo 2⁶⁴ so far, and a row beyond 2⁶¹ has no meaning
		for i, v := range values {
			values[i] = min(max(v, -maxValue), maxValue)
		}
	}
	return newSketch(s.params, s.noise, values)
}

// rounded returns the sums in whole steps, for the last time where the vector is held, and with
// room to pad it.
func (s *state) rounded() []int64 {
	if s.columns == nil {
		return s.vector.rounded()
	}
	values := make([]int64, s.size())
	for i := range values {
		values[i] = s.row(i).rounded()
	}
	return values
}
