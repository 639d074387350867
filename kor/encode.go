package kor

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// The encoding of a Sketch or a StreamSketch, little-endian, version 1; floating-point numbers are
// IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 4, version 1
//	1      flags: 1 stream, 2 with a count
//	8      Epsilon
//	8      CountShare
//	4      Cells, n
//	4      Levels, L
//	16     Seed
//	8      count, the sum of the weights in units of 2⁻²⁰, two's complement; 0 without a count
//	4      number of releases
//	then for each release, in strictly ascending order of the identities:
//	16     identity
//	8      its ε
//	8      k: every flip of a bit had probability k/2⁶⁴
//	4      number of flips of each bit
//	then for each level:
//	8·⌈n/64⌉  bits, cell j being bit j mod 64 of word ⌊j/64⌋; those behind the last cell are 0
//
// No other bytes decode to the same sketch.
const (
	version    = 1
	fixedSize  = wire.HeaderSize + 1 + 2*8 + 2*4 + 16 + 8 + 4
	partSize   = 16 + 8 + 8 + 4
	flagStream = 1
	flagCount  = 2
)

// head is what stands before the releases.
type head struct {
	*release
	noisy    uint64 // the count
	releases int
}

// fields are those of the head.
func (h *head) fields() []wire.Field {
	return append(append([]wire.Field{wire.Flags(&h.stream, &h.counted)}, h.params.fields()...), wire.Uint(&h.noisy), wire.Int(&h.releases, maxParts))
}

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	return []wire.Field{
		wire.Float(&p.Epsilon), wire.Float(&p.CountShare), wire.Int(&p.Cells, maxCells), wire.Int(&p.Levels, maxLevels), wire.Bytes(p.Seed[:]),
	}
}

// AppendBinary appends the encoding.
func (r *release) AppendBinary(dst []byte) ([]byte, error) {
	if !r.valid() {
		return dst, check.FormatError("kor", "a sketch that was not released has no encoding")
	}
	copied := *r
	h := head{&copied, uint64(r.count), len(r.parts)}
	dst = slices.Grow(dst, fixedSize+partSize*len(r.parts)+8*len(r.bits))
	dst = wire.AppendHeader(dst, wire.KindKOR, version)
	dst = wire.AppendFields(dst, h.fields())
	for _, part := range r.parts {
		dst = append(dst, part.id[:]...)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(part.epsilon))
		dst = binary.LittleEndian.AppendUint64(dst, part.k)
		dst = binary.LittleEndian.AppendUint32(dst, part.flips)
	}
	return sets.AppendTable(dst, r.bits), nil
}

// MarshalBinary returns the encoding.
func (r *release) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// decode reads a sketch of a stream or of a set.
func (r *release) decode(data []byte, stream bool) error {
	from := wire.NewReader("kor", data)
	from.Header(wire.KindKOR, version)
	var d release
	h := head{release: &d}
	from.Fields(h.fields())
	d.count = int64(h.noisy)
	switch {
	case from.Err() != nil:
	case d.stream != stream:
		from.Fail("a sketch of a stream where one of a set is wanted, or the reverse")
	case d.params.validate() != nil || stream && d.params.validateStream() != nil:
		from.Fail("invalid Params")
	}
	d.parts = readParts(from, h.releases, stream)
	d.bits = sets.ReadTable(from, d.params.words(), d.params.Cells)
	if from.Err() == nil {
		d.check(from)
	}
	err := from.Done()
	if err == nil {
		*r = d
	}
	return err
}

// readParts reads the records of n releases.
func readParts(r *wire.Reader, n int, stream bool) []part {
	if r.Err() == nil && n > r.Remaining()/partSize {
		r.Fail("fewer releases than it says")
	}
	if r.Err() != nil {
		return nil
	}
	parts := make([]part, n)
	for i := range parts {
		p := &parts[i]
		copy(p.id[:], r.Bytes(len(hashing.Seed{})))
		p.epsilon, p.k, p.flips = r.Float64(), r.Uint64(), r.Uint32()
		switch {
		case i > 0 && compareParts(parts[i-1], *p) >= 0:
			r.Fail("releases not in ascending order")
		case !p.valid(stream):
			r.Fail("a release with less noise than its ε needs")
		}
	}
	return parts
}

// valid reports whether the release has the noise of its ε, which need not be that of the Params:
// [XOR] merges releases of different ε. The tolerance is for the rounding of the calibration.
func (p part) valid(stream bool) bool {
	if !(p.epsilon >= check.MinEpsilon && p.epsilon <= maxEpsilon) || p.k == 0 || p.k >= 1<<63 || p.flips < 1 || p.flips > maxParties {
		return false
	}
	e := math.Exp(-p.epsilon)
	most := math.Log1p(-e) - math.Log1p(e) // ln tanh(ε/2)
	if stream {
		most = math.Log1p(-e)
	}
	return p.logSign() <= most*(1-1e-9)
}

// check fails unless the fields go together.
func (d *release) check(r *wire.Reader) {
	switch {
	case d.counted && !d.releasedWithCount():
		r.Fail("a count that no release makes")
	case !d.counted && d.count != 0 || d.count > maxCount || d.count < -maxCount:
		r.Fail("a count out of range")
	case d.stream && len(d.parts) == 0:
		r.Fail("a stream without releases")
	case largestEpsilon(d.parts) > d.params.Epsilon:
		r.Fail("a release of more ε than the Params say")
	case len(d.parts) == 0 && slices.ContainsFunc(d.bits, func(w uint64) bool { return w != 0 }):
		r.Fail("bits without noise")
	}
}

// releasedWithCount reports whether one release of the Params made it, with bits that have the
// noise of their share of ε.
func (d *release) releasedWithCount() bool {
	if len(d.parts) != 1 || d.params.CountShare == 0 || d.parts[0].epsilon != d.params.Epsilon {
		return false
	}
	bits := d.parts[0]
	bits.epsilon, _ = d.params.split()
	return bits.valid(false)
}

// UnmarshalBinary decodes a Sketch, no StreamSketch.
func (s *Sketch) UnmarshalBinary(data []byte) error { return s.decode(data, false) }

// UnmarshalBinary decodes a StreamSketch, no Sketch.
func (s *StreamSketch) UnmarshalBinary(data []byte) error { return s.decode(data, true) }

// MarshalJSON returns the guarantee and the estimate.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// MarshalJSON returns the guarantee and the estimate.
func (s StreamSketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON returned.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// UnmarshalJSON decodes what MarshalJSON returned.
func (s *StreamSketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the estimate; what is not known or not bounded is null. It is not read back.
func (c Cardinality) MarshalJSON() ([]byte, error) { return json.Marshal(wire.SizeOf(c)) }

// MarshalJSON returns the four sizes as [Cardinality.MarshalJSON] does.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Union        Cardinality `json:"union"`
		Intersection Cardinality `json:"intersection"`
		OnlyA        Cardinality `json:"onlyA"`
		OnlyB        Cardinality `json:"onlyB"`
	}{c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB()})
}
