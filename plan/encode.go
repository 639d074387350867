package plan

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Mean, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 7, version 1
//	1      Method
//	1      Relation
//	1      flags: 1 NonNegative, 2 Undivided, 4 Unshrunk, 8 Regularized, 16 scaled, 32 a centre, 64 scales
//	4      Steps.Centre, Scaling, Spread, Base, one byte each
//	4      Steps.Group
//	4      Steps.Search
//	8      Params.Rows
//	88     Rho, Max, Unit, P, Failure, Steps.Clip, Floor, Shares.Centre, Scale, Clip, Divisor
//	64     rows, C, divisor, Spent.Centre, Scale, Clip, Divisor, Sum
//	4      Dim
//	then Dim floats each: values, standard deviations of their noise, the centre if there is one, the scales if there are any
//
// No other bytes decode to the same Mean.
const (
	version   = 1
	fixedSize = wire.HeaderSize + 7 + 8 + 8 + 11*8 + 8*8 + 4
)

const (
	flagNonNegative = 1 << iota
	flagUndivided
	flagUnshrunk
	flagRegularized
	flagScaled
	flagCentre
	flagScales
	allFlags = flagScales<<1 - 1
)

// flags packs the truth values.
func (m *Mean) flags() (b byte) {
	s := m.params.Steps
	for i, set := range []bool{m.params.NonNegative, s.Undivided, s.Unshrunk, s.Regularized, m.scaled, m.centre != nil, m.scales != nil} {
		if set {
			b |= 1 << i
		}
	}
	return b
}

// numbers returns the floating-point Params in the order of the encoding.
func (p *Params) numbers() []*float64 {
	s, h := &p.Steps, &p.Shares
	return []*float64{&p.Rho, &p.Max, &p.Unit, &p.P, &p.Failure, &s.Clip, &s.Floor, &h.Centre, &h.Scale, &h.Clip, &h.Divisor}
}

// numbers returns the single numbers of the release in the order of the encoding.
func (m *Mean) numbers() []*float64 {
	s := &m.spent
	return []*float64{&m.rows, &m.limit, &m.divisor, &s.Centre, &s.Scale, &s.Clip, &s.Divisor, &s.Sum}
}

// AppendBinary appends the encoding of the mean to dst. The error, which wraps [ErrFormat], is for a Mean that is neither released nor decoded.
func (m *Mean) AppendBinary(dst []byte) ([]byte, error) {
	if m.limit == 0 {
		return dst, fault.Format("plan", "a Mean that was not released has no encoding")
	}
	p := m.params
	s := p.Steps
	dst = wire.AppendHeader(dst, wire.KindPLAN, version)
	dst = append(dst, byte(p.Method), byte(p.Relation), m.flags(), byte(s.Centre), byte(s.Scaling), byte(s.Spread), byte(s.Base))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Group))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Search))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Rows))
	for _, x := range append(p.numbers(), m.numbers()...) {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(*x))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.values)))
	for _, list := range [][]float64{m.values, m.errors, m.centre, m.scales} {
		for _, x := range list {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the mean.
func (m *Mean) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat], and leaves the receiver as it was, for any other bytes.
func (m *Mean) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("plan", data)
	r.Header(wire.KindPLAN, version)
	var d Mean
	flags := d.readParams(r)
	for _, x := range d.numbers() {
		*x = r.Float64()
	}
	d.params.Dim = r.Count(maxDim, 16)
	d.scaled = flags&flagScaled != 0
	if r.Err() == nil {
		d.check(r)
	}
	d.values = readList(r, d.params.Dim, finite)
	d.errors = readList(r, d.params.Dim, positive)
	if flags&flagCentre != 0 {
		d.centre = readList(r, d.params.Dim, finite)
	}
	if flags&flagScales != 0 {
		d.scales = readList(r, d.params.Dim, positive)
	}
	if err := r.Done(); err != nil {
		return err
	}
	*m = d
	return nil
}

// readParams reads what stands before the single numbers of the release, and returns the flags.
func (m *Mean) readParams(r *wire.Reader) byte {
	p := &m.params
	p.Method, p.Relation = Method(r.Uint8()), budget.Relation(r.Uint8())
	flags := r.Uint8()
	s := &p.Steps
	s.Centre, s.Scaling, s.Spread, s.Base = Centre(r.Uint8()), Scaling(r.Uint8()), Spread(r.Uint8()), Base(r.Uint8())
	group, search, rows := r.Uint32(), r.Uint32(), r.Uint64()
	s.Group, s.Search, p.Rows = int(min(group, math.MaxInt32)), int(min(search, math.MaxInt32)), int(min(rows, math.MaxInt))
	p.NonNegative, s.Undivided = flags&flagNonNegative != 0, flags&flagUndivided != 0
	s.Unshrunk, s.Regularized = flags&flagUnshrunk != 0, flags&flagRegularized != 0
	for _, x := range p.numbers() {
		*x = r.Float64()
		if wire.NegativeZero(*x) {
			r.Fail("a negative zero")
		}
	}
	if flags > allFlags || (flags&flagCentre != 0) != (s.Centre == Median) {
		r.Fail("flags that no release has")
	}
	return flags
}

// check fails unless the Params are what a release returns, and the single numbers of the release are possible.
func (m *Mean) check(r *wire.Reader) {
	p, s := m.params, m.spent
	sum := s.Centre + s.Scale + s.Clip + s.Divisor + s.Sum
	switch {
	case p.validate() != nil || p.resolved() != p || p.Steps.Centre == AutoCentre:
		r.Fail("invalid Params")
	case !(m.rows >= 0 && m.rows <= 2*maxRows) || !p.privateRows() && m.rows != float64(p.Rows):
		r.Fail("an impossible number of rows")
	case !(m.limit > 0 && m.limit <= math.MaxFloat64) || !(m.divisor >= 1 && m.divisor <= 2*maxRows):
		r.Fail("an impossible C or γ")
	case !(s.Centre >= 0 && s.Scale >= 0 && s.Clip >= 0 && s.Divisor >= 0 && s.Sum > 0 && sum <= p.Rho*(1+0x1p-40)):
		r.Fail("an impossible use of the budget")
	}
	for _, x := range m.numbers() {
		if wire.NegativeZero(*x) {
			r.Fail("a negative zero")
		}
	}
}

// readList reads n numbers that are all ok.
func readList(r *wire.Reader, n int, ok func(float64) bool) []float64 {
	if r.Err() != nil || r.Remaining() < 8*n {
		r.Fail("too short")
		return nil
	}
	list := make([]float64, n)
	for i := range list {
		if list[i] = r.Float64(); !ok(list[i]) {
			r.Fail("a number that no release has")
			return nil
		}
	}
	return list
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

func positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// Size returns the most bytes that the encoding of a Mean of these Params has.
func (p Params) Size() int { return fixedSize + 4*8*max(p.Dim, 0) }
