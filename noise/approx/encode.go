package approx

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of an Approximation, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 9, version 1
//	1      Noise, the one that was used
//	18     Unit, as package budget encodes it
//	4      Queries
//	8      Epsilon
//	8      Sensitivity
//	8      Error
//	8      Moment
//	8      Limit
//	8      scale of the noise
//	8      step of the grid, a power of two
//	8      released value in steps, two's complement
const approxVersion = 1

// AppendBinary appends the encoding to dst. The error, which wraps [ErrFormat], is for an Approximation that is neither released nor decoded.
func (a Approximation) AppendBinary(dst []byte) ([]byte, error) {
	if !a.released() {
		return dst, fault.Format("approx", "an Approximation that was not released has no encoding")
	}
	p := a.params
	dst = wire.AppendHeader(dst, wire.KindApprox, approxVersion)
	dst = append(dst, byte(p.Noise))
	dst, _ = p.Unit.AppendBinary(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(p.Queries))
	for _, x := range [...]float64{p.Epsilon, p.Sensitivity, p.Error, p.Moment, p.Limit, a.noise.scale, a.noise.step} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(a.steps)), nil
}

// MarshalBinary returns the encoding.
func (a Approximation) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat], and leaves the receiver as it was, for any other bytes.
func (a *Approximation) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("approx", data)
	r.Header(wire.KindApprox, approxVersion)
	var d Approximation
	p := &d.params
	p.Noise = ApproxNoise(r.Uint8())
	p.Unit = readUnit(r)
	queries := r.Uint32()
	p.Queries = int(min(queries, math.MaxInt32))
	p.Epsilon, p.Sensitivity, p.Error, p.Moment, p.Limit = r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()
	d.noise = approxNoise{p.Noise, p.Moment, r.Float64(), r.Float64()}
	d.steps = r.Int64()
	switch {
	case r.Err() != nil:
	case p.validate() != nil:
		r.Fail("invalid Params")
	case wire.NegativeZero(p.Sensitivity, p.Error, p.Moment, p.Limit):
		r.Fail("a negative zero")
	case !d.noise.valid(*p):
		r.Fail("invalid noise")
	case d.steps < -mostReleased || d.steps > mostReleased:
		r.Fail("a value that no estimate and noise make")
	}
	if err := r.Done(); err != nil {
		return err
	}
	*a = d
	return nil
}

// readUnit reads a Unit.
func readUnit(r *wire.Reader) (u budget.Unit) {
	if data := r.Bytes(budget.UnitSize); data != nil && u.UnmarshalBinary(data) != nil {
		r.Fail("no Unit")
	}
	return u
}
