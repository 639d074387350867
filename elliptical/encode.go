package elliptical

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Sum, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 6, version 1
//	1      Relation
//	1      Shape
//	1      flags: 1 Count, 2 Ellipsoid in the place of Min and Max
//	8      Rho
//	8      Epsilon
//	8      Delta
//	8      Power
//	4      d
//	16d    Min, then Max; or 8·d(d+1)/2 of Ellipsoid
//	8d     Weights, if Shape is Weighted
//	then for each coordinate, and at the end for the count if there is one:
//	8      step of the grid, a power of two
//	8      scale of the noise
//	8      noisy value in steps, two's complement
//
// The steps and scales follow from the Params, but their last digits need not be the same on every
// machine, so they travel. No other bytes decode to the same Sum.
const (
	version  = 1
	maxSteps = 1 << 62 // more than any total with noise
)

// head is the part of the encoding between the header and d.
func (p *Params) head(ellipsoid *bool) []wire.Field {
	return []wire.Field{
		wire.Byte(&p.Relation), wire.Byte(&p.Shape), wire.Flags(&p.Count, ellipsoid),
		wire.Float(&p.Rho), wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.Power),
	}
}

// AppendBinary appends the encoding of the Sum to dst. The error, which wraps [ErrFormat], is for a
// Sum that is neither released nor decoded.
func (s *Sum) AppendBinary(dst []byte) ([]byte, error) {
	if s.law.dim == 0 {
		return dst, fault.Format("elliptical", "a Sum that was not released has no encoding")
	}
	p, ellipsoid := s.params, s.params.Ellipsoid.Len() > 0
	dst = wire.AppendHeader(dst, wire.KindElliptical, version)
	dst = wire.AppendFields(dst, p.head(&ellipsoid))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.law.dim))
	for _, v := range []Vector{p.Min, p.Max, p.Ellipsoid, p.Weights} {
		dst = append(dst, v.bits...)
	}
	for i, c := range s.law.at {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.step))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.scale))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.steps[i]))
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the Sum.
func (s *Sum) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (s *Sum) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("elliptical", data)
	r.Header(wire.KindElliptical, version)
	var d Sum
	d.params = readParams(r)
	if r.Err() != nil {
		return r.Err()
	}
	n := d.params.dim()
	d.law = law{laplace: d.params.laplace(), dim: n, at: make([]coordinate, n, n+1)}
	if d.params.Count {
		d.law.at = append(d.law.at, coordinate{})
	}
	d.steps = make([]int64, len(d.law.at))
	for i := range d.law.at {
		d.law.at[i] = readCoordinate(r, d.params, i)
		if d.steps[i] = r.Int64(); d.steps[i] < -maxSteps || d.steps[i] > maxSteps {
			r.Fail("a value that no total and noise make")
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	if d.params.Ellipsoid.Len() > 0 {
		if err := d.law.readEllipsoid(d.params.Ellipsoid); err != nil {
			return err
		}
	}
	*s = d
	return nil
}

// readEllipsoid adds what follows from the matrix. It fails unless that is positive definite and
// all coordinates have one grid and noise.
func (l *law) readEllipsoid(matrix Vector) error {
	for _, c := range l.at {
		if c != l.at[0] {
			return fault.Format("elliptical", "an Ellipsoid with unequal noise")
		}
	}
	var ok bool
	if l.lower, ok = factor(matrix); !ok {
		return fault.Format("elliptical", "an Ellipsoid that is not positive definite")
	}
	return nil
}

// readParams reads the Params. It fails unless they are valid, have their defaults filled in and
// are encoded in the one way they can be.
func readParams(r *wire.Reader) (p Params) {
	ellipsoid := false
	r.Fields(p.head(&ellipsoid))
	n := r.Count(maxDim, 24) // step, scale and value of each
	switch {
	case !ellipsoid:
		p.Min, p.Max = Vector{r.String(8 * n)}, Vector{r.String(8 * n)}
	case n <= maxEllipsoid:
		p.Ellipsoid = Vector{r.String(8 * (n * (n + 1) / 2))}
	}
	if p.Shape == Weighted {
		p.Weights = Vector{r.String(8 * n)}
	}
	switch {
	case r.Err() != nil:
	case p.resolved() != p || p.validate() != nil:
		r.Fail("invalid Params")
	case wire.NegativeZero(p.Min.Values()...) || wire.NegativeZero(p.Max.Values()...) || wire.NegativeZero(p.Ellipsoid.Values()...):
		r.Fail("a negative zero")
	}
	return p
}

// readCoordinate reads the grid and the noise of coordinate i, or of the count. It fails unless
// every method works with them.
func readCoordinate(r *wire.Reader, p Params, i int) coordinate {
	c := coordinate{step: r.Float64(), scale: r.Float64()}
	fraction, _ := math.Frexp(c.step)
	if r.Err() == nil && !(fraction == 0.5 && c.step >= 0x1p-400 && c.step <= 0x1p400 && c.scale >= c.step*0x1p-20 && c.scale <= c.step*maxScale) {
		r.Fail("invalid noise")
	}
	if r.Err() != nil {
		return coordinate{}
	}
	if p.Ellipsoid.Len() > 0 {
		c.low, c.high = -radiusSteps, radiusSteps
		return c
	}
	if i == p.Min.Len() {
		c.high = int64(math.Ceil(1 / max(c.step, 0x1p-60)))
		return c
	}
	if most := max(math.Abs(p.Min.At(i)), math.Abs(p.Max.At(i))); most > c.step*0x1p52 {
		r.Fail("a grid that is too fine")
		return coordinate{}
	}
	return p.box(i, c)
}
