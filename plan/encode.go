package plan

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Mean, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 7, version 1
//	1      Method
//	1      Relation
//	1      flags: 1 NonNegative, 2 Undivided, 4 Unshrunk, 8 Regularized, 16 scaled, 32 a centre,
//	       64 scales, 128 Symmetric
//	1      flags: 1 ranges
//	4      Steps.Centre, Scaling, Spread, Base, one byte each
//	4      Steps.Group
//	4      Steps.Search
//	8      Params.Rows
//	96     Rho, Max, Unit, P, Failure, Margin, Steps.Clip, Floor, Shares.Centre, Scale, Clip,
//	       Divisor
//	64     rows, C, divisor, Spent.Centre, Scale, Clip, Divisor, Sum
//	4      Dim
//	then Dim floats each: values, standard deviations of their noise, the centre if there is
//	one, the scales if there are any, the ends of the ranges if there are any, lower ones first
//
// No other bytes decode to the same Mean.
const (
	version   = 1
	fixedSize = wire.HeaderSize + 8 + 8 + 8 + 12*8 + 8*8 + 4
)

// head is the part of the encoding between the header and Dim.
func (m *Mean) head(centre, scales, ranged *bool) []wire.Field {
	p := &m.params
	s, h, spent := &p.Steps, &p.Shares, &m.spent
	return []wire.Field{
		wire.Byte(&p.Method), wire.Byte(&p.Relation),
		wire.Flags(&p.NonNegative, &s.Undivided, &s.Unshrunk, &s.Regularized, &m.scaled, centre, scales, &p.Symmetric), wire.Flags(ranged),
		wire.Byte(&s.Centre), wire.Byte(&s.Scaling), wire.Byte(&s.Spread), wire.Byte(&s.Base),
		wire.Int(&s.Group, maxGroup), wire.Int(&s.Search, maxSearch), wire.Long(&p.Rows, maxRows),
		wire.Float(&p.Rho), wire.Float(&p.Max), wire.Float(&p.Unit), wire.Float(&p.P), wire.Float(&p.Failure), wire.Float(&p.Margin),
		wire.Float(&s.Clip), wire.Float(&s.Floor),
		wire.Float(&h.Centre), wire.Float(&h.Scale), wire.Float(&h.Clip), wire.Float(&h.Divisor),
		wire.Float(&m.rows), wire.Float(&m.limit), wire.Float(&m.divisor),
		wire.Float(&spent.Centre), wire.Float(&spent.Scale), wire.Float(&spent.Clip), wire.Float(&spent.Divisor), wire.Float(&spent.Sum),
	}
}

// AppendBinary appends the encoding of the mean to dst. The error, which wraps [ErrFormat], is for
// a Mean that is neither released nor decoded.
func (m *Mean) AppendBinary(dst []byte) ([]byte, error) {
	if m.limit == 0 {
		return dst, fault.Format("plan", "a Mean that was not released has no encoding")
	}
	centre, scales, ranged := m.centre != nil, m.scales != nil, m.ranges != nil
	dst = wire.AppendHeader(dst, wire.KindPLAN, version)
	dst = wire.AppendFields(dst, m.head(&centre, &scales, &ranged))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.values)))
	lists := [][]float64{m.values, m.errors, m.centre, m.scales}
	if ranged {
		lists = append(lists, m.ranges.min, m.ranges.max)
	}
	for _, list := range lists {
		for _, x := range list {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the mean.
func (m *Mean) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (m *Mean) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("plan", data)
	r.Header(wire.KindPLAN, version)
	var d Mean
	var centre, scales, ranged bool
	r.Fields(d.head(&centre, &scales, &ranged))
	d.params.Dim = r.Count(maxDim, 16)
	if r.Err() == nil {
		d.check(r, centre, ranged)
	}
	d.values = readList(r, d.params.Dim, finite)
	d.errors = readList(r, d.params.Dim, positive)
	if centre {
		d.centre = readList(r, d.params.Dim, finite)
	}
	if scales {
		d.scales = readList(r, d.params.Dim, positive)
	}
	if ranged {
		d.ranges = &ranges{readList(r, d.params.Dim, finite), readList(r, d.params.Dim, finite)}
		if r.Err() == nil && !d.rangesFit() {
			r.Fail("impossible ranges")
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	*m = d
	return nil
}

// check fails unless the Params are what a release returns, and the single numbers of the release
// are possible. centre and ranged say whether such lists follow.
func (m *Mean) check(r *wire.Reader, centre, ranged bool) {
	p, s := m.params, m.spent
	sum := s.Centre + s.Scale + s.Clip + s.Divisor + s.Sum
	switch {
	case p.validate() != nil || p.resolved() != p || p.Steps.Centre == AutoCentre || p.Method == Auto || p.Margin == 0:
		r.Fail("invalid Params")
	case centre != (p.Steps.Centre == Median || ranged && p.Method == Plain && !p.NonNegative):
		r.Fail("a centre without medians, or none with them")
	case !(m.rows >= 0 && m.rows <= 2*maxRows) || !p.privateRows() && m.rows != float64(p.Rows):
		r.Fail("an impossible number of rows")
	case !(m.limit > 0 && m.limit <= math.MaxFloat64) || !(m.divisor >= 1 && m.divisor <= 2*maxRows):
		r.Fail("an impossible C or γ")
	case !(s.Centre >= 0 && s.Scale >= 0 && s.Clip >= 0 && s.Divisor >= 0 && s.Sum > 0 && sum <= p.Rho*(1+0x1p-40)):
		r.Fail("an impossible use of the budget")
	}
}

// rangesFit reports whether the ranges are such as WithRanges makes, and the centre is what Plain
// makes of them.
func (m *Mean) rangesFit() bool {
	if !m.ranges.valid(m.params) {
		return false
	}
	if !m.ranges.centred(m.params) {
		return true
	}
	middle, _ := m.ranges.middles()
	return slices.Equal(middle, m.centre)
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

// Size returns the most bytes that the encoding of a Mean of these Params has; 0 for invalid
// Params.
func (p Params) Size() int {
	if p.validate() != nil {
		return 0
	}
	return fixedSize + 6*8*p.Dim
}
