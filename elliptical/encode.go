package elliptical

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Sum, little-endian, version 4; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 6, version 4
//	1      Relation
//	1      Shape
//	1      flags: 1 Count, 2 Ellipsoid in the place of Min and Max, 4 Weights, 8 Relative
//	8      Rho
//	8      Epsilon
//	8      Delta
//	8      2, the power of the error that noise is shaped for
//	8      NormBound, or 0
//	4      d
//	16d    Min, then Max; or 8·d(d+1)/2 of Ellipsoid; nothing with a NormBound
//	8d     Weights, if there are any
//	for Shape Box 4 bytes of the number of groups, and for each (see box.go):
//	1      bits of F
//	8      g
//	8      scale of the geometric variables
//	then for each coordinate, and at the end for the count if there is one:
//	8      step of the grid, a power of two
//	8      scale of the noise; for Box 4 bytes, the number of the group
//	16     noisy value in steps, two's complement: 8 bytes of high half, 8 of low half
//
// The steps and scales follow from the Params, but their last digits need not be the same on every
// machine, so they travel. No other bytes decode to the same Sum.
const version = 4

// head is the part of the encoding between the header and d.
func (p *Params) head(ellipsoid, weighted *bool, power *float64) []wire.Field {
	return []wire.Field{
		wire.Byte(&p.Relation), wire.Byte(&p.Shape), wire.Flags(&p.Count, ellipsoid, weighted, &p.Relative),
		wire.Float(&p.Rho), wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(power), wire.Float(&p.NormBound),
	}
}

// encoded returns the length of the encoding of a release.
func (m *Mechanism) encoded() int {
	p := m.params
	n := wire.HeaderSize + 3 + 5*8 + 4 + 8*(p.Min.Len()+p.Max.Len()+p.Ellipsoid.Len()+p.Weights.Len()) + 32*len(m.noise.coordinates)
	if m.noise.kind == uniform {
		n += 4 + 17*len(m.noise.groups) - 4*len(m.noise.coordinates)
	}
	return n
}

// AppendBinary appends the encoding; the error wraps [ErrFormat] if the Sum is neither released nor
// decoded.
func (s *Sum) AppendBinary(dst []byte) ([]byte, error) {
	if s.noise.dim == 0 {
		return dst, check.FormatError("elliptical", "a Sum that was not released has no encoding")
	}
	p, ellipsoid, weighted, power := s.params, s.params.Ellipsoid.Len() > 0, s.params.Weights.Len() > 0, 2.0
	dst = wire.AppendHeader(dst, wire.KindElliptical, version)
	dst = wire.AppendFields(dst, p.head(&ellipsoid, &weighted, &power))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.noise.dim))
	for _, v := range []Vector{p.Min, p.Max, p.Ellipsoid, p.Weights} {
		dst = append(dst, v.bits...)
	}
	if s.noise.kind == uniform {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.noise.groups)))
		for _, g := range s.noise.groups {
			dst = append(dst, byte(g.bits))
			dst = binary.LittleEndian.AppendUint64(dst, g.offset)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(g.scale))
		}
	}
	for i, c := range s.noise.coordinates {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.step))
		if s.noise.kind == uniform {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(c.group))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.scale))
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.steps[i].Hi))
		dst = binary.LittleEndian.AppendUint64(dst, s.steps[i].Lo)
	}
	return dst, nil
}

// MarshalBinary returns the encoding.
func (s *Sum) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes it. The error for other bytes wraps [ErrFormat]; the Sum stays as it was.
func (s *Sum) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("elliptical", data)
	r.Header(wire.KindElliptical, version)
	var d Sum
	d.params = readParams(r)
	if r.Err() != nil {
		return r.Err()
	}
	n := d.params.dim()
	d.noise = gridNoise{kind: d.params.kind(), replace: d.params.replace(), dim: n, coordinates: make([]coordinate, n, n+1)}
	if d.params.Count {
		d.noise.coordinates = append(d.noise.coordinates, coordinate{})
	}
	if d.noise.kind == uniform {
		d.noise.groups = readGroups(r)
	}
	d.steps = make([]exact.Int128, len(d.noise.coordinates))
	for i := range d.noise.coordinates {
		d.noise.coordinates[i] = d.noise.readCoordinate(r, d.params, i)
		d.steps[i] = exact.Int128{Hi: r.Int64(), Lo: r.Uint64()}
	}
	if r.Err() == nil && d.noise.kind == uniform {
		d.noise.gather(r, d.params.Epsilon)
	}
	err := r.Done()
	switch {
	case err != nil:
	case d.params.NormBound > 0:
		err = d.noise.readBall(d.params)
	case d.params.Ellipsoid.Len() > 0:
		err = d.noise.readEllipsoid(d.params.Ellipsoid)
	}
	if err != nil {
		return err
	}
	*s = d
	return nil
}

// readGroups reads the groups of Box without their members.
func readGroups(r *wire.Reader) []group {
	groups := make([]group, r.Count(maxGroups, 17))
	for i := range groups {
		g := group{bits: uint(r.Uint8()), offset: r.Uint64(), scale: r.Float64()}
		if r.Err() == nil && !(g.bits >= 1 && g.bits <= 40 && g.offset < 1<<g.bits && g.epsilon() >= minLoss/2 && g.epsilon() <= check.MaxEpsilon) {
			r.Fail("an impossible group")
		}
		groups[i] = g
	}
	return groups
}

// gather adds the members of the groups and what follows from them. It fails where a group is empty
// or the groups spend more than ε.
func (l *gridNoise) gather(r *wire.Reader, epsilon float64) {
	for i, c := range l.coordinates {
		l.groups[c.group].members = append(l.groups[c.group].members, i)
	}
	spent := 0.0
	for i := range l.groups {
		g := &l.groups[i]
		if len(g.members) == 0 {
			r.Fail("a group without members")
			return
		}
		spent += g.epsilon()
		g.square = math.Exp(g.logMoment(2))
	}
	if !(spent <= epsilon) {
		r.Fail("groups that spend more than ε")
	}
}

// readBall adds the radius. It fails unless all coordinates have one grid and noise.
func (l *gridNoise) readBall(p Params) error {
	radius, count := p.ballSteps(l.coordinates[0].step)
	for i, c := range l.coordinates {
		if i < l.dim && c != l.coordinates[0] || i == l.dim && c.step != 1/float64(count) {
			return check.FormatError("elliptical", "a ball with unequal noise")
		}
	}
	if radius < 1 || radius > 1<<ballBits {
		return check.FormatError("elliptical", "a ball with another grid")
	}
	l.radius = radius
	for i := range l.dim {
		l.coordinates[i].low, l.coordinates[i].high = -radius, radius
	}
	return nil
}

// readEllipsoid adds what follows from the matrix. It fails unless that is positive definite and
// all coordinates have one grid and noise.
func (l *gridNoise) readEllipsoid(matrix Vector) error {
	for _, c := range l.coordinates {
		if c != l.coordinates[0] {
			return check.FormatError("elliptical", "an Ellipsoid with unequal noise")
		}
	}
	var ok bool
	if l.lower, ok = factor(matrix); !ok {
		return check.FormatError("elliptical", "an Ellipsoid that is not positive definite")
	}
	return nil
}

// readParams reads the Params. It fails unless they are valid, have their defaults filled in and
// are encoded in the one way they can be.
func readParams(r *wire.Reader) (p Params) {
	ellipsoid, weighted, power := false, false, 0.0
	r.Fields(p.head(&ellipsoid, &weighted, &power))
	n := r.Count(maxDim, 28) // step, group and value of each, or more
	switch {
	case p.NormBound != 0:
		if p.Dim = n; ellipsoid || weighted {
			r.Fail("a ball with an Ellipsoid or Weights")
		}
	case !ellipsoid:
		p.Min, p.Max = Vector{r.String(8 * n)}, Vector{r.String(8 * n)}
	case n <= maxEllipsoid:
		p.Ellipsoid = Vector{r.String(8 * (n * (n + 1) / 2))}
	}
	if weighted {
		p.Weights = Vector{r.String(8 * n)}
	}
	switch {
	case r.Err() != nil:
	case power != 2 || p.resolved() != p || p.validate() != nil || p.pure() && p.Shape == Optimal:
		r.Fail("invalid Params")
	case wire.NegativeZero(p.Min.Values()...) || wire.NegativeZero(p.Max.Values()...) || wire.NegativeZero(p.Ellipsoid.Values()...):
		r.Fail("a negative zero")
	}
	return p
}

// readCoordinate reads the grid and the noise of coordinate i, or of the count. It fails unless
// every method works with them.
func (l *gridNoise) readCoordinate(r *wire.Reader, p Params, i int) coordinate {
	c := coordinate{step: r.Float64()}
	fraction, _ := math.Frexp(c.step)
	valid := fraction == 0.5 && c.step >= 0x1p-400 && c.step <= 0x1p400
	if l.kind == uniform {
		group := r.Uint32()
		valid = valid && uint64(group) < uint64(len(l.groups))
		c.group = int(group)
	} else {
		c.scale = r.Float64()
		valid = valid && c.scale >= c.step*0x1p-20 && c.scale <= c.step*maxScale
	}
	if r.Err() == nil && !valid {
		r.Fail("invalid noise")
	}
	if r.Err() != nil {
		return coordinate{}
	}
	if p.Ellipsoid.Len() > 0 {
		c.low, c.high = -radiusSteps, radiusSteps
		return c
	}
	if p.NormBound > 0 && i < p.Dim {
		return c
	}
	if i == p.dim() {
		c.high = int64(math.Ceil(1 / max(c.step, 0x1p-60)))
		return c
	}
	if most := max(math.Abs(p.Min.At(i)), math.Abs(p.Max.At(i))); most > c.step*0x1p52 {
		r.Fail("a grid that is too fine")
		return coordinate{}
	}
	return p.box(p.interval(i), c)
}

// MarshalJSON returns the guarantee and the coordinates with their intervals at .95. UnmarshalJSON
// reads its member data, the binary encoding.
func (s Sum) MarshalJSON() ([]byte, error) {
	values := make([]wire.Estimated, s.Len())
	for i := range values {
		low, high := s.Interval(i, wire.Confidence)
		values[i] = wire.EstimatedOf(s.Estimate(i), low, high)
	}
	return wire.MarshalJSON(&s, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Values    []wire.Estimated `json:"values"`
	}{s.Guarantee(), values})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sum) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalText returns the name.
func (s Shape) MarshalText() ([]byte, error) { return check.EnumText(s, shapeNames, "Shape") }

// UnmarshalText reads a name.
func (s *Shape) UnmarshalText(text []byte) error {
	return check.ParseEnum(s, text, shapeNames, "Shape")
}

// MarshalJSON returns the numbers as an array. It returns an error if one of them is not finite.
func (v Vector) MarshalJSON() ([]byte, error) { return json.Marshal(v.Values()) }

// UnmarshalJSON reads an array of numbers.
func (v *Vector) UnmarshalJSON(encoded []byte) error {
	var values []float64
	if err := json.Unmarshal(encoded, &values); err != nil {
		return fmt.Errorf("elliptical: a Vector: %w: %w", ErrFormat, err)
	}
	*v = VectorOf(values...)
	return nil
}
