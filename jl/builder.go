package jl

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/hadamard"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// secret is the private data of a Builder.
type secret = private.State[state]

// Builder sums a vector, or its sketch: private data, which it never prints or encodes. One
// goroutine at a time may use it; concurrent use panics if it is detected. After Release, and on
// the zero Builder, adding does nothing.
type Builder struct {
	secret
	guarantee budget.Guarantee
}

// state is what is added up.
type state struct {
	setup
	sums   []fixed // of the rows, or
	vector held    // of the coordinates
	apart  bool    // rows have two sums each; see fits
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

// New returns an empty Builder, or an error that wraps [ErrParams]. It draws the transform, in up
// to 5 ns per coordinate and block of an SJLT with tables (Dim·s ≤ 2²²), 10 ns per entry of a
// Normal or FJLT matrix; under L2 in up to 20 ms more and, per coordinate, s² ns for an SJLT with s
// > 1, k²/200 ns for signs and k²/8 ns for normal entries. [Params.Guarantee] and [Params.Plan] may
// take as long. An ε above 20 or a δ above 0.01 protects hardly anybody.
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

// Sibling returns an empty Builder that shares the transform, for the next vector. Call it before
// Release: the error wraps [ErrReleased].
func (b *Builder) Sibling() (*Builder, error) {
	s := private.Enter(b.secret)
	if s == nil {
		_, err := private.Take(b.secret, "jl: Sibling: the Builder")
		return nil, err
	}
	defer private.Leave(b.secret)
	return s.setup.builder(), nil
}

// Guarantee returns what the release promises.
func (b *Builder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds value, in the units of the data, to coordinate index. NaN, and an index outside [0,
// Dim), add nothing; values and sums saturate at ±Plan.Max. With Integers a value is rounded to the
// nearest integer.
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

// AddSparse adds values[i] to coordinate indices[i], for each i within both slices.
func (b *Builder) AddSparse(indices []uint64, values []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addSparse(indices, values)
	private.Leave(b.secret)
}

// AddDense adds x[i] to coordinate i, for all i below Dim.
func (b *Builder) AddDense(x []float64) { private.Use(b.secret, (*state).addDense, x) }

// Merge adds what the other Builder holds, which gives up its data: parts of one vector spend one
// release. The error wraps [ErrMismatch] if the Params differ or other is b, and [ErrReleased] if
// either was released. After an error nothing has changed.
func (b *Builder) Merge(other *Builder) error {
	if other == nil {
		other = new(Builder)
	}
	return private.Merge(b.secret, other.secret, "jl: Merge", "Builder", func(s, o *state) error {
		if s.params != o.params {
			return cmp.Or(check.Equal("jl", s.params.settled(), o.params.settled()), check.MismatchError("jl", "Params", s.params, o.params))
		}
		s.merge(o)
		return nil
	})
}

// Released reports whether the data have been released or merged into another's.
func (b *Builder) Released() bool { return private.Released(b.secret) }

// Release spends the budget and the data, and returns the sketch. A second Release returns an error
// that wraps [ErrReleased].
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
		values = s.matrix.(applied).apply(values)
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

// How a Builder sums. Sums saturate, and whether one does is not asked of each sum each time: load
// is the sum of the sizes of all values so far, rounded up, and no sum is further from 0. As long
// as it is below room, where sums saturate, none has saturated or does now, and the plain sum is
// the same as the saturating one. Once it is not, which takes more than 2⁴⁰ times the sensitivity
// in rows, all that follows goes the slow way. The room of rows that no table points to is 0.
//
// Until then the rows of a table lie apart: row i is sums[2i] − sums[2i+1], what was added to it
// and what was taken away, and an entry of the table, which is twice the row and 1 more for a sign
// of −1, is the index of what a value is added to. Nobody looks at the sign.

// steps returns the value in steps.
func (p *setup) steps(value float64) fixed {
	if p.params.Integers {
		value = math.RoundToEven(value)
	}
	y := value * p.inverse
	if -p.bound < y && y < p.bound {
		return toFixed(y)
	}
	return saturated(y, p.limit)
}

// fits adds to the load and reports whether it is below room. Once it is not, it stays so.
func (s *state) fits(size uint64) bool {
	if s.load >= s.room {
		return false
	}
	if s.load += size; s.load < s.room {
		return true
	}
	s.load = s.room // so that it does not wrap around
	s.join()
	return false
}

// row returns the sum of a row, or of a coordinate where the vector is held.
func (s *state) row(i int) fixed {
	switch {
	case s.columns == nil:
		return s.vector.at(i)
	case s.apart:
		return s.sums[2*i].minus(s.sums[2*i+1])
	}
	return s.sums[i]
}

// size returns the number of rows, or of coordinates where the vector is held.
func (s *state) size() int {
	switch {
	case s.columns == nil:
		return len(s.vector.whole)
	case s.apart:
		return len(s.sums) / 2
	}
	return len(s.sums)
}

// join ends that rows lie apart.
func (s *state) join() {
	if !s.apart {
		return
	}
	n := s.size()
	for i := range n {
		s.sums[i] = s.row(i) // of which nothing before index 2i is read
	}
	s.sums, s.apart = s.sums[:n], false
}

// add adds value to coordinate index. Indices ≥ Dim are ignored.
func (s *state) add(index uint64, value float64) {
	if index >= s.params.Dim {
		return
	}
	v := s.steps(value)
	switch {
	case !s.fits(v.size()):
		s.saturate(index, v)
	case s.columns == nil:
		s.vector.set(int(index), s.vector.at(int(index)).add(v))
	default:
		accumulate(s.sums, s.table[index*s.width:][:s.width], &v)
	}
}

// accumulate adds v times a column to the rows, which lie apart.
func accumulate(sums []fixed, column []uint32, v *fixed) {
	for len(column) >= 4 {
		e := (*[4]uint32)(column)
		sums[e[0]].accumulate(v)
		sums[e[1]].accumulate(v)
		sums[e[2]].accumulate(v)
		sums[e[3]].accumulate(v)
		column = column[4:]
	}
	for _, e := range column {
		sums[e].accumulate(v)
	}
}

// saturate adds the value where sums may saturate, or wrap around.
func (s *state) saturate(index uint64, v fixed) {
	if s.columns != nil {
		s.columns.add(s.sums, index, v)
		return
	}
	s.vector.set(int(index), s.vector.at(int(index)).add(v).clamped(s.limit))
}

// merge adds the sums of the other one.
func (s *state) merge(o *state) {
	if !s.fits(o.load) {
		o.join()
	}
	for i, v := range o.sums {
		if s.sums[i] = s.sums[i].add(v); !s.params.wraps() {
			s.sums[i] = s.sums[i].clamped(most)
		}
	}
	for i := range o.vector.whole {
		s.vector.set(i, s.vector.at(i).add(o.vector.at(i)).clamped(s.limit))
	}
}

// accumulate adds v where that does not overflow.
func (s *fixed) accumulate(v *fixed) {
	frac, carry := bits.Add64(s.frac, v.frac, 0)
	whole, _ := bits.Add64(uint64(s.whole), uint64(v.whole), carry)
	s.whole, s.frac = int64(whole), frac
}

// addOrSubtract adds v for a sign of 0 and subtracts it for 1, where that does not overflow.
func (s *fixed) addOrSubtract(v *fixed, sign uint32) {
	mask := -uint64(sign)
	frac, carry := bits.Add64(s.frac, v.frac^mask, uint64(sign))
	whole, _ := bits.Add64(uint64(s.whole), uint64(v.whole)^mask, carry)
	s.whole, s.frac = int64(whole), frac
}

// minus returns v − w, where that does not overflow.
func (v fixed) minus(w fixed) fixed {
	frac, borrow := bits.Sub64(v.frac, w.frac, 0)
	return fixed{v.whole - w.whole - int64(borrow), frac}
}

// size returns an integer that is at least |v|.
func (v fixed) size() uint64 { return uint64(v.whole^v.whole>>63) + 1 }

// fixed is the number whole + frac/2⁶⁴, in steps of the grid. Values are kept to 2⁻⁶³ of a step
// while they are summed, and the sums are rounded to whole steps once, on release: so a release is
// off by a step for each sum, and not for each value. See sensitivity_proof.md.
type fixed struct {
	whole int64
	frac  uint64
}

// most is where sums of steps saturate.
const most = 1 << 61

// toFixed returns y, rounded towards 0 to a multiple of 2⁻⁶³, for |y| < 2⁶². It is odd, and moves
// no two values apart by more than 2⁻⁶³. The rest of y is exact, and is brought into the digits of
// frac as a number in two's complement, whose sign goes to whole.
func toFixed(y float64) fixed {
	whole := int64(y)
	rest := int64((y - float64(whole)) * 0x1p63)
	return fixed{whole + rest>>63, uint64(rest) << 1}
}

// quickFixed is toFixed for |y| ≤ 2⁴⁰, in fewer instructions. 1.5·2⁵² + y, rounded to an integer,
// has the nearest whole number in its last digits. What is left of y is exact, between −½ and ½,
// and y itself where that number is 0; else y has no digit beyond 2⁻⁵³, and nothing is cut.
func quickFixed(y float64) fixed {
	const middle = 0x1.8p52
	z := y + middle
	whole := int64(math.Float64bits(z) - math.Float64bits(middle))
	rest := int64((y - (z - middle)) * 0x1p63)
	return fixed{whole: whole + rest>>63, frac: uint64(rest) << 1}
}

// saturated returns ±limit for numbers beyond that, and 0 for NaN.
func saturated(y float64, limit int64) fixed {
	switch {
	case y > 0:
		return fixed{whole: limit}
	case y < 0:
		return fixed{whole: -limit}
	}
	return fixed{}
}

// add returns v + w, where that does not overflow.
func (v fixed) add(w fixed) fixed {
	frac, carry := bits.Add64(v.frac, w.frac, 0)
	return fixed{v.whole + w.whole + int64(carry), frac}
}

// subtractOrAdd returns v − w for a sign of 1 and v + w for 0, clamped to ±2⁶¹.
func (v fixed) subtractOrAdd(w fixed, sign uint64) fixed {
	v.addOrSubtract(&w, uint32(sign))
	if uint64(v.whole+most) >= 2*most {
		return fixed{max(min(v.whole, most), -most), 0}
	}
	return v
}

// clamped returns v, at most ±limit.
func (v fixed) clamped(limit int64) fixed {
	switch {
	case v.whole >= limit:
		return fixed{whole: limit}
	case v.whole < -limit:
		return fixed{whole: -limit}
	}
	return v
}

// rounded returns the nearest integer, halves upwards.
func (v fixed) rounded() int64 { return v.whole + int64(v.frac>>63) }

// held is a vector that is held until the release, as the sums of its coordinates. Whole numbers
// and digits are apart, so that the whole numbers become, in place, what is rounded and
// transformed.
type held struct {
	whole []int64 // with room for the coordinates that pad the vector
	frac  []int64 // nil for integers, which are whole numbers of steps
}

// newHeld returns the vector 0.
func newHeld(dim uint64, integers bool) held {
	size := hadamard.Size(dim)
	if integers {
		return held{whole: make([]int64, dim, size)}
	}
	words := make([]int64, size+dim) // one piece of memory takes less time than two
	return held{words[:dim:size], words[size:]}
}

// at returns the sum of a coordinate.
func (h *held) at(i int) fixed {
	if h.frac == nil {
		return fixed{whole: h.whole[i]}
	}
	return fixed{h.whole[i], uint64(h.frac[i])}
}

// set sets the sum of a coordinate.
func (h *held) set(i int, v fixed) {
	h.whole[i] = v.whole
	if h.frac != nil {
		h.frac[i] = int64(v.frac)
	}
}

// rounded returns the sums in whole steps. They are in the memory of the vector, which is gone.
func (h *held) rounded() []int64 {
	whole := h.whole[:len(h.frac)]
	for i, frac := range h.frac {
		whole[i] = fixed{whole[i], uint64(frac)}.rounded()
	}
	whole = h.whole
	*h = held{}
	return whole
}
