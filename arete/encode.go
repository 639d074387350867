package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Value, little-endian, version 3; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 8, version 3
//	1      Law, the one that was used
//	1      Objective
//	1      Relation
//	1      flags: 1 Integers, 2 a sum of shares
//	8      Epsilon
//	8      Sensitivity
//	8      Delta
//	8      Rho
//	4      Parties
//	8      Modulus, 0 for 2⁶⁴
//	8      H, the sensitivity in steps of the lattice
//	40     the distribution, five numbers:
//	         Jump            V, W, c, 2⁶⁴·(1−p), 2⁶⁴·q (the second and the last two are integers)
//	         DiscreteArete   α, s, r, 0, 0
//	         DiscreteLaplace the scale, 0, 0, 0, 0
//	         Gaussian        σ of the shares that are needed, 0, 0, 0, 0
//	4      number of parties whose shares of the noise are in the value
//	4      number of parties that make the calibrated distribution
//	8      the value, in steps, two's complement
//
// No other bytes decode to the same Value. A decoder cannot check that noise was added. It checks
// that all methods work with the numbers, and that the distribution can keep the promise: in full
// where that is quick, for DiscreteLaplace and Gaussian, else in the far tail. It does not
// calibrate again.
const (
	version     = 3
	encodedSize = wire.HeaderSize + 4 + 4*8 + 4 + 8 + 8 + 5*8 + 4 + 4 + 8
)

// encoded is a Value as its encoding has it.
type encoded struct {
	Value
	size  uint64    // H
	words [5]uint64 // the distribution
	point uint64
}

// fields are what follows the header.
func (e *encoded) fields() []wire.Field {
	p := &e.params
	fields := []wire.Field{
		wire.Byte(&p.Law), wire.Byte(&p.Objective), wire.Byte(&p.Relation), wire.Flags(&p.Integers, &e.shared),
		wire.Float(&p.Epsilon), wire.Float(&p.Sensitivity), wire.Float(&p.Delta), wire.Float(&p.Rho),
		wire.Int(&p.Parties, maxParties), wire.Uint(&p.Modulus), wire.Uint(&e.size),
	}
	for i := range e.words {
		fields = append(fields, wire.Uint(&e.words[i]))
	}
	return append(fields, wire.Int(&e.parties, maxParties), wire.Int(&e.need, maxParties), wire.Uint(&e.point))
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat].
func (v *Value) AppendBinary(dst []byte) ([]byte, error) {
	if !v.valid() {
		return dst, check.FormatError("arete", "a Value that was not released has no encoding")
	}
	e := encoded{*v, uint64(v.noise.size), v.noise.words(), uint64(v.point)}
	return wire.AppendFields(wire.AppendHeader(dst, wire.KindArete, version), e.fields()), nil
}

// words returns the numbers of the distribution.
func (s distribution) words() [5]uint64 {
	switch s.law {
	case Jump:
		return [5]uint64{math.Float64bits(s.jump.core), uint64(s.jump.width), math.Float64bits(s.jump.jumps), s.jump.beyond, s.jump.again}
	case DiscreteArete:
		return [5]uint64{math.Float64bits(s.arete.shape), math.Float64bits(s.arete.tail), math.Float64bits(s.arete.core)}
	}
	return [5]uint64{math.Float64bits(s.scale)}
}

// distributionOf is the inverse of words.
func distributionOf(law Law, size int64, w [5]uint64) distribution {
	s := distribution{law: law, size: size, copies: 1}
	switch law {
	case Jump:
		s.jump = jump{size, math.Float64frombits(w[0]), int64(w[1]), math.Float64frombits(w[2]), w[3], w[4]}
	case DiscreteArete:
		s.arete = discrete{size, math.Float64frombits(w[0]), math.Float64frombits(w[1]), math.Float64frombits(w[2])}
	case DiscreteLaplace, Gaussian:
		s.scale = math.Float64frombits(w[0])
	}
	return s
}

// sound reports whether all methods work with the numbers.
func (s distribution) sound() bool {
	scale := func(x float64) bool { return x >= leastScale && x <= 0x1p50 }
	switch {
	case s.size < 1 || s.size > maxSteps:
		return false
	case s.jumps():
		j := s.jump
		core := j.core == 0 && !math.Signbit(j.core) || j.core >= 0x1p-60 && j.core <= perParty*maxParties
		return core && j.width >= 1 && j.width <= 2*maxSteps && j.jumps >= 0x1p-60 && j.jumps <= maxCore && j.beyond > 0 && j.again > 0 &&
			j.beyond <= 1<<63 && j.again <= 1<<63
	case s.law == DiscreteArete:
		d := s.arete
		return d.shape >= 0x1p-60 && d.shape <= 1 && scale(d.tail) && scale(d.core) && d.core <= d.tail
	}
	return (s.law == DiscreteLaplace || s.law == Gaussian) && scale(s.scale)
}

// plausible reports whether the distribution can keep the promise of the Params, for this many
// shares: whether its tail does, and all of it where that takes no table.
func (p Params) plausible(s distribution, shares int) bool {
	switch s.law {
	case Jump:
		return s.jump.tailLoss() <= p.Epsilon
	case DiscreteArete:
		return float64(s.size)/s.arete.tail <= p.Epsilon
	case Gaussian:
		return p.gaussianHolds(s.scale, s.size, shares)
	}
	return s.loss(p.Epsilon) <= p.Epsilon
}

// MarshalBinary returns the encoding.
func (v *Value) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. For any other bytes it returns an error that
// wraps [ErrFormat], and leaves the receiver as it was.
func (v *Value) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("arete", data)
	r.Header(wire.KindArete, version)
	var e encoded
	r.Fields(e.fields())
	d := &e.Value
	d.noise, d.point = distributionOf(d.params.Law, int64(e.size), e.words), int64(e.point)
	switch {
	case r.Err() != nil:
	case d.params.validate() != nil || d.params.Law == Auto:
		r.Fail("invalid Params")
	case !d.noise.sound() || d.noise.words() != e.words:
		r.Fail("invalid noise")
	case d.need < 1 || d.parties < d.need || d.parties > 1 && !d.shared:
		r.Fail("an impossible number of parties")
	case !d.params.plausible(d.noise, d.need):
		r.Fail("noise that does not keep the promise")
	case d.point < -2*maxPoint || d.point > 2*maxPoint || d.shared && d.params.Modulus > 0 && uint64(max(d.point, -d.point)) > d.params.Modulus/2:
		r.Fail("a value out of range")
	case d.shared && !d.params.holds(d.parties, d.noise.size):
		r.Fail("a Modulus that is too small")
	}
	return wire.Decoded(r, v, *d)
}

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and the standard
// deviation, and in the member data the binary encoding.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(wire.Confidence)
	return wire.MarshalJSON(&v, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		wire.Estimated
		StdDev wire.Number `json:"stdDev"`
	}{v.Guarantee(), wire.EstimatedOf(v.Estimate(), low, high), wire.Number(v.StdDev())})
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, v) }

// MarshalText returns the name of the constant.
func (l Law) MarshalText() ([]byte, error) { return check.EnumText(l, lawNames, "Law") }

// UnmarshalText reads the name of a constant.
func (l *Law) UnmarshalText(text []byte) error { return check.ParseEnum(l, text, lawNames, "Law") }

// MarshalText returns the name of the constant.
func (o Objective) MarshalText() ([]byte, error) {
	return check.EnumText(o, objectiveNames, "Objective")
}

// UnmarshalText reads the name of a constant.
func (o *Objective) UnmarshalText(text []byte) error {
	return check.ParseEnum(o, text, objectiveNames, "Objective")
}
