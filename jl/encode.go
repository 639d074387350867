package jl

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Sketch, little-endian, version 4; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 5, version 4
//	1      Transform
//	1      norm of Change: 0 L1 and OneCoordinate, 1 L2
//	1      Noise, the kind that was used
//	1      flags: 1 Integers, 2 Input, 4 OneCoordinate
//	8      Dim
//	4      Sparsity
//	4      Independence
//	16     Seed
//	8      Epsilon
//	8      Delta
//	8      Rho
//	8      size of Change
//	8      step of the grid, a power of two
//	4      number of terms: 1, or more of a sum
//	then for each
//	8      ε
//	8      δ
//	8      ρ
//	16     identity of the release
//	1      kind of noise
//	1      1 if the noise is on the input, else 0
//	8      scale of the noise, or σ, in steps
//	then
//	4      Rows
//	8      for each, in steps, two's complement
//
// No other bytes decode to the same sketch.
const (
	version   = 4
	fixedSize = wire.HeaderSize + 4 + 8 + 4 + 4 + 16 + 4*8 + 8 + 4 + 4
	termSize  = 3*8 + 16 + 2 + 8
	maxValue  = 2*most - 1 // of a row, in steps
)

// AppendBinary appends the encoding. The error wraps [ErrFormat], for the zero Sketch.
func (s *Sketch) AppendBinary(dst []byte) ([]byte, error) {
	if len(s.terms) == 0 {
		return dst, check.FormatError("jl", "a Sketch that was not released has no encoding")
	}
	head := *s
	dst = wire.AppendHeader(dst, wire.KindJL, version)
	dst = wire.AppendFields(dst, head.head())
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.terms)))
	for _, t := range s.terms {
		steps := t.noise.Steps()
		dst = wire.AppendFields(dst, t.fields(&steps))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.values)))
	for _, v := range s.values {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst, nil
}

// head is the part of the encoding between the header and the number of terms.
func (s *Sketch) head() []wire.Field {
	p := &s.params
	return []wire.Field{
		wire.Byte(&p.Transform), wire.Byte(&p.Change.norm), wire.Byte(&p.Noise), wire.Flags(&p.Integers, &p.Input, &p.Change.one),
		wire.Uint(&p.Dim), wire.Int(&p.Sparsity, maxRows), wire.Int(&p.Independence, hashing.MaxIndependence), wire.Bytes(p.Seed[:]),
		wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.Rho),
		wire.Float(&p.Change.size), wire.Float(&s.step),
	}
}

// fields is the encoding of a term; steps is the scale of its noise in steps.
func (t *term) fields(steps *float64) []wire.Field {
	return []wire.Field{
		wire.Float(&t.epsilon), wire.Float(&t.delta), wire.Float(&t.rho), wire.Bytes(t.release[:]),
		wire.Byte(&t.noise.Kind), wire.Flags(&t.input), wire.Float(steps),
	}
}

// MarshalBinary returns the encoding.
func (s *Sketch) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes it. The error for other bytes wraps [ErrFormat]; nothing changes then.
func (s *Sketch) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("jl", data)
	r.Header(wire.KindJL, version)
	var d Sketch
	r.Fields(d.head())
	if fraction, _ := math.Frexp(d.step); r.Err() == nil && !(fraction == 0.5 && d.step >= 0x1p-300 && d.step <= 0x1p300) {
		r.Fail("a grid that is no power of two")
	}
	terms := r.Count(maxTerms, termSize)
	if r.Err() == nil && terms == 0 {
		r.Fail("no noise")
	}
	for range terms {
		d.terms = append(d.terms, readTerm(r, d.params, d.step))
	}
	if d.releases = identities(d.terms); repeated(d.releases) {
		r.Fail("a release twice")
	}
	d.params.Rows = r.Count(maxRows, 8)
	if r.Err() != nil {
		return r.Err()
	}
	d.values = make([]int64, d.params.Rows)
	for i := range d.values {
		d.values[i] = r.Int64()
		if d.values[i] > maxValue || d.values[i] < -maxValue {
			r.Fail("a value that no sum and noise make")
		}
	}
	p, first := d.params, d.terms[0]
	switch {
	case p.validate() != nil || p.Noise == AutoNoise:
		r.Fail("invalid Params")
	case Noise(first.noise.Kind) != p.Noise || first.input != p.Input || first.epsilon != p.Epsilon || first.delta != p.Delta ||
		first.rho != p.Rho:
		r.Fail("the first term is not that of the Params")
	}
	return wire.Decoded(r, s, d)
}

// readTerm reads the guarantee and the noise of a term, and fails unless they fit each other and
// the Params.
func readTerm(r *wire.Reader, params Params, step float64) (t term) {
	steps, least := 0.0, minScale
	r.Fields(t.fields(&steps))
	t.noise.Step, t.noise.Scale = step, steps*step
	p := Params{Dim: 1, Rows: 1, Seed: hashing.Seed{1}, Epsilon: t.epsilon, Delta: t.delta, Rho: t.rho, Noise: Noise(t.noise.Kind),
		Integers: params.Integers, Change: Change{one: params.Change.one}}
	switch p.Noise {
	case Staircase:
		t.noise.Shape = t.epsilon
	case DiscreteLaplace:
		least = 0x1p-11
	}
	switch {
	case r.Err() != nil:
	case p.validate() != nil || p.Noise == AutoNoise:
		r.Fail("an invalid guarantee")
	case !t.noise.OnGrid(least, maxScale) || p.Noise == DiscreteLaplace && step != 1:
		r.Fail("invalid noise")
	}
	return t
}

// MarshalJSON returns the guarantee, the number of rows and the squared norm with its interval at
// .95, and the encoding as the member data.
func (s Sketch) MarshalJSON() ([]byte, error) {
	low, high := s.SquaredNormInterval(wire.Confidence)
	return wire.MarshalJSON(&s, struct {
		Guarantee   budget.Guarantee `json:"guarantee"`
		Rows        int              `json:"rows"`
		SquaredNorm wire.Estimated   `json:"squaredNorm"`
	}{s.Guarantee(), s.Params().Rows, wire.EstimatedOf(s.SquaredNorm(), low, high)})
}

// UnmarshalJSON decodes the member data.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalText returns the name.
func (t Transform) MarshalText() ([]byte, error) {
	return check.EnumText(t, transformNames, "Transform")
}

// UnmarshalText reads a name.
func (t *Transform) UnmarshalText(text []byte) error {
	return check.ParseEnum(t, text, transformNames, "Transform")
}

// MarshalText returns the call that makes the change.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.call(c.size)), nil }

// UnmarshalText reads what MarshalText writes. The error wraps [ErrParams].
func (c *Change) UnmarshalText(text []byte) error {
	name, number, _ := strings.Cut(string(text), "(")
	size, err := strconv.ParseFloat(strings.TrimSuffix(number, ")"), 64)
	makers := map[string]func(float64) Change{"L1": L1, "L2": L2, "OneCoordinate": OneCoordinate}
	if err != nil || makers[name] == nil || !strings.HasSuffix(number, ")") {
		return bad("Change", string(text), "L1(Δ), L2(Δ) or OneCoordinate(Δ)")
	}
	*c = makers[name](size)
	return nil
}

// MarshalText returns the name.
func (n Noise) MarshalText() ([]byte, error) { return check.EnumText(n, noiseNames, "Noise") }

// UnmarshalText reads a name.
func (n *Noise) UnmarshalText(text []byte) error {
	return check.ParseEnum(n, text, noiseNames, "Noise")
}
