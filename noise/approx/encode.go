package approx

import (
	"encoding/binary"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Value, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 9, version 1
//	18     Protects, as package budget encodes it
//	1      Noise, the one that was used
//	4      Queries
//	8      Epsilon
//	8      Sensitivity
//	8      Error
//	8      Moment
//	8      Max
//	8      scale of the noise
//	8      step of the grid, a power of two
//	8      released value in steps, two's complement
const (
	valueVersion = 1
	valueSize    = wire.HeaderSize + 18 + 1 + 4 + 8*8
)

// fields are what lies between Protects and the released value.
func (v *Value) fields() []wire.Field {
	p := &v.params
	return []wire.Field{
		wire.Byte(&p.Noise), wire.Int(&p.Queries, mostQueries), wire.Float(&p.Epsilon), wire.Float(&p.Sensitivity), wire.Float(&p.Error),
		wire.Float(&p.Moment), wire.Float(&p.Max), wire.Float(&v.noise.scale), wire.Float(&v.noise.step),
	}
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat] if the Value is neither
// released nor decoded.
func (v Value) AppendBinary(dst []byte) ([]byte, error) {
	if !v.released() {
		return dst, check.FormatError("approx", "a Value that was not released has no encoding")
	}
	dst = wire.AppendHeader(dst, wire.KindApprox, valueVersion)
	dst, _ = v.params.Protects.AppendBinary(dst) // it has no errors
	return binary.LittleEndian.AppendUint64(wire.AppendFields(dst, v.fields()), uint64(v.steps)), nil
}

// MarshalBinary returns the encoding.
func (v Value) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (v *Value) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("approx", data)
	r.Header(wire.KindApprox, valueVersion)
	var d Value
	d.params.Protects = readUnit(r)
	r.Fields(d.fields())
	d.steps = r.Int64()
	d.noise.noise, d.noise.shape = d.params.Noise, d.params.Moment
	switch {
	case r.Err() != nil:
	case d.params.validate() != nil:
		r.Fail("invalid Params")
	case !d.noise.valid(d.params):
		r.Fail("invalid noise")
	case d.steps < -mostReleased || d.steps > mostReleased:
		r.Fail("a value that no estimate and noise make")
	}
	return wire.Decoded(r, v, d)
}

// readUnit reads a Unit.
func readUnit(r *wire.Reader) (u budget.Unit) {
	if data := r.Bytes(budget.UnitSize); data != nil && u.UnmarshalBinary(data) != nil {
		r.Fail("no Unit")
	}
	return u
}
