package distinct

import (
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// The encoding of a Sketch, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 12, version 1
//	8      Epsilon
//	8      CountShare, in (0, 1]
//	4      Cells, n
//	4      Levels, L
//	16     Seed
//	16     identity of the release, public randomness, not 0
//	8      number of ones with its noise, two's complement
//	if CountShare < 1, for each level:
//	8·⌈n/64⌉  bits, cell j being bit j mod 64 of word ⌊j/64⌋; those behind the last cell are 0
//
// No other bytes decode to the same sketch.
const (
	version   = 1
	fixedSize = wire.HeaderSize + 2*8 + 2*4 + 16 + 16 + 8

	maxOnes = 1 << 62
)

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	return []wire.Field{
		wire.Float(&p.Epsilon), wire.Float(&p.CountShare), wire.Int(&p.Cells, maxCells), wire.Int(&p.Levels, maxLevels), wire.Bytes(p.Seed[:]),
	}
}

// fields are what stands before the bits.
func (s *Sketch) fields() []wire.Field {
	return append(s.params.fields(), wire.Bytes(s.id[:]), wire.Signed(&s.ones))
}

// AppendBinary appends the encoding of the sketch to dst. The error, which wraps [ErrFormat], is
// for a Sketch that is neither released nor decoded.
func (s *Sketch) AppendBinary(dst []byte) ([]byte, error) {
	if !s.valid() {
		return dst, fault.Format("distinct", "a sketch that was not released has no encoding")
	}
	head := *s
	dst = slices.Grow(dst, fixedSize+8*len(s.bits))
	dst = wire.AppendHeader(dst, wire.KindDistinct, version)
	dst = wire.AppendFields(dst, head.fields())
	return appendWords(dst, s.bits), nil
}

// MarshalBinary returns the encoding of the sketch.
func (s *Sketch) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (s *Sketch) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("distinct", data)
	r.Header(wire.KindDistinct, version)
	var d Sketch
	r.Fields(d.fields())
	switch {
	case r.Err() != nil:
	case d.params.CountShare == 0 || d.params.validate() != nil:
		r.Fail("invalid Params")
	case d.id.IsZero():
		r.Fail("a release without identity")
	case d.ones > maxOnes || d.ones < -maxOnes:
		r.Fail("a count out of range")
	case d.params.published():
		d.bits = readTable(r, d.params)
	}
	if err := r.Done(); err != nil {
		return err
	}
	*s = d
	return nil
}

// appendFields appends an encoding that has nothing behind its fields.
func appendFields(dst []byte, kind wire.Kind, fields []wire.Field) []byte {
	return wire.AppendFields(wire.AppendHeader(dst, kind, version), fields)
}

// readFields reads one. The Params p are among the fields; all of ε is for the count, by a law of
// theirs.
func readFields(data []byte, kind wire.Kind, fields []wire.Field, p *Params, law func(Params) (noise.DiscreteLaplace, error), check func(*wire.Reader)) error {
	r := wire.NewReader("distinct", data)
	r.Header(kind, version)
	r.Fields(fields)
	if _, err := law(*p); r.Err() == nil && (err != nil || p.CountShare != 1) {
		r.Fail("invalid Params")
	}
	check(r)
	return r.Done()
}
