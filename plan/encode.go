package plan

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// The encoding of a Mean, little-endian, version 2; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 7, version 2
//	1      Method: 1 Adaptive, 2 TwoPass, 3 Thesis, 4 Plain, 5 InstanceOptimal
//	1      Relation
//	1      flags: 1 NonNegative, 2 Undivided, 4 Unshrunk, 8 Regularized, 16 scaled, 32 a centre,
//	       64 scales, 128 Symmetric
//	1      flags: 1 ranges, 2 Relative
//	4      Steps.Centre, Scaling, Spread, Base, one byte each
//	4      Steps.Group
//	4      Steps.Search
//	8      Params.Rows
//	112    Rho, Epsilon, Delta, Max, Resolution, P, Failure, Margin, Steps.Clip, Floor,
//	       Shares.Centre, Scale, Clip, Divisor
//	64     rows, C, divisor, Spent.Centre, Scale, Clip, Divisor, Sum
//	4      Dim
//	then Dim floats each: values, standard deviations of their noise, the centre if there is
//	one, the scales if there are any, the ends of the ranges if there are any, lower ones first
//
// No other bytes decode to the same Mean.
const (
	version   = 2
	fixedSize = wire.HeaderSize + 8 + 8 + 8 + 14*8 + 8*8 + 4
)

// head is the part of the encoding between the header and Dim. Steps, Shares and Failure are those
// of package plan/thesis.
func head(m *means.Mean, centre, scales, ranged *bool) []wire.Field {
	p := &m.Params
	s, h, spent := &p.Steps, &p.Shares, &m.Spent
	return []wire.Field{
		wire.Byte(&p.Method), wire.Byte(&p.Relation),
		wire.Flags(&p.NonNegative, &s.Undivided, &s.Unshrunk, &s.Regularized, &m.Scaled, centre, scales, &p.Symmetric), wire.Flags(ranged, &p.Relative),
		wire.Byte(&s.Centre), wire.Byte(&s.Scaling), wire.Byte(&s.Spread), wire.Byte(&s.Base),
		wire.Int(&s.Group, means.MaxGroup), wire.Int(&s.Search, means.MaxSearch), wire.Long(&p.Rows, means.MaxRows),
		wire.Float(&p.Rho), wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.Max), wire.Float(&p.Resolution), wire.Float(&p.P), wire.Float(&p.Failure), wire.Float(&p.Margin),
		wire.Float(&s.Clip), wire.Float(&s.Floor),
		wire.Float(&h.Centre), wire.Float(&h.Scale), wire.Float(&h.Clip), wire.Float(&h.Divisor),
		wire.Float(&m.Rows), wire.Float(&m.Limit), wire.Float(&m.Divisor),
		wire.Float(&spent.Centre), wire.Float(&spent.Scale), wire.Float(&spent.Clip), wire.Float(&spent.Divisor), wire.Float(&spent.Sum),
	}
}

// AppendBinary appends the encoding; the error wraps [ErrFormat], for the zero Mean.
func (m *Mean) AppendBinary(dst []byte) ([]byte, error) {
	of := m.of
	if of.Limit == 0 {
		return dst, check.FormatError("plan", "a Mean that was not released has no encoding")
	}
	if of.Params.Epsilon != 0 {
		of.Params.Rho = 0
	}
	centre, scales, ranged := of.Centres != nil, of.Scales != nil, of.Lower != nil
	dst = wire.AppendHeader(dst, wire.KindPLAN, version)
	dst = wire.AppendFields(dst, head(&of, &centre, &scales, &ranged))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(of.Values)))
	for _, list := range [][]float64{of.Values, of.Errors, of.Centres, of.Scales, of.Lower, of.Upper} {
		for _, x := range list {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	}
	return dst, nil
}

// MarshalBinary returns the encoding.
func (m *Mean) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary decodes it. On an error, which wraps [ErrFormat], nothing changes.
func (m *Mean) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("plan", data)
	r.Header(wire.KindPLAN, version)
	var d means.Mean
	var centre, scales, ranged bool
	r.Fields(head(&d, &centre, &scales, &ranged))
	if p := &d.Params; r.Err() == nil && check.EpsilonOrRho("plan", p.Epsilon, p.Delta, p.Rho) != nil {
		r.Fail("no budget, or two")
	} else if p.Epsilon != 0 {
		p.Rho = rhoOf(p.Epsilon, p.Delta)
	}
	d.Params.Dim = r.Count(means.MaxDim, 16)
	if r.Err() == nil {
		if wrong := d.Wrong(centre, ranged); wrong != "" {
			r.Fail(wrong)
		}
	}
	n := d.Params.Dim
	d.Values = readList(r, n, true, finite)
	d.Errors = readList(r, n, true, positive)
	d.Centres = readList(r, n, centre, finite)
	d.Scales = readList(r, n, scales, positive)
	d.Lower, d.Upper = readList(r, n, ranged, finite), readList(r, n, ranged, finite)
	if r.Err() == nil && ranged && !d.RangesFit() {
		r.Fail("impossible ranges")
	}
	return wire.Decoded(r, &m.of, d)
}

// readList reads n numbers that are all ok, if there are any.
func readList(r *wire.Reader, n int, there bool, ok func(float64) bool) []float64 {
	if !there {
		return nil
	}
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
