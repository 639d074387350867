package misragries

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Histogram, little-endian, version 4; floating-point numbers are IEEE 754 bits,
// signed ones two's complement:
//
//	bytes  field
//	6      header: "dpsk", kind 1, version 4
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer, 3 array of 16 bytes
//	1      Input
//	1      Method
//	1      Sparse
//	4      Counters
//	4      MaxElements
//	4      MaxKeys
//	8      Epsilon
//	8      Delta
//	8      Dim
//	8      MaxLength
//	4      number of sketches, 1 unless they are summed
//
// SparseVector: then the encoding of a threshold.Vector, with D beside the keys. All others:
//
//	8      ε of the noise for one element; 0 where no noise is shared
//	8      scale of the noise, in units
//	8      R, in units; 0 where nothing is rounded
//	8      threshold, in units; 0 where there is none
//	8      scale of the private shift, in units; 0 where there is none
//	8      offset of the private shift, in units
//	8      scale of the own noise of what is lost; 0 where that has none
//	8      noisy D, or length in units, see units.go; 0 where it is not released
//	4      number of released keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      noisy count in units, at least the threshold
//
// A unit is 1/(k+1) of a count where sketches are reduced, and else a count. Nothing in it depends
// on the order of the stream, and no other bytes decode to the same histogram.
const version = 4

// numbers are the fields of the Params besides Method and Sparse.
func (p *Params) numbers() []wire.Field {
	return []wire.Field{
		wire.Int(&p.Counters, math.MaxInt32), wire.Int(&p.MaxElements, math.MaxInt32), wire.Int(&p.MaxKeys, math.MaxInt32), wire.Float(&p.Epsilon), wire.Float(&p.Delta),
		wire.Uint(&p.Dim), wire.Uint(&p.MaxLength),
	}
}

// head are the fields up to the number of sketches.
func (h *Histogram[K]) head(class *wire.KeyClass) []wire.Field {
	p := &h.params
	first := []wire.Field{wire.Byte(class), wire.Byte(&h.law.input), wire.Byte(&p.Method), wire.Byte(&p.Sparse)}
	return append(append(first, p.numbers()...), wire.Int(&h.sketches, math.MaxInt32))
}

// AppendBinary appends the encoding of the histogram to dst. The error, which wraps [ErrFormat], is
// for the zero Histogram.
func (h *Histogram[K]) AppendBinary(dst []byte) ([]byte, error) {
	if h.law.method == Auto {
		return dst, fault.Format("misragries", "a Histogram that was not released has no encoding")
	}
	keys := wire.KeysOf[K]()
	class := keys.Class()
	dst = wire.AppendHeader(dst, wire.KindMisraGries, version)
	dst = wire.AppendFields(dst, h.head(&class))
	return h.by().encode(h, dst)
}

// MarshalBinary returns the encoding of the histogram.
func (h *Histogram[K]) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, for the same key type or one of the same class
// that holds all keys, and Dim − 1 where Dim is given. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (h *Histogram[K]) UnmarshalBinary(data []byte) error {
	keys := wire.KeysOf[K]()
	r := wire.NewReader("misragries", data)
	r.Header(wire.KindMisraGries, version)
	var d Histogram[K]
	var class wire.KeyClass
	if r.Fields(d.head(&class)); class != keys.Class() {
		r.Fail("keys of another type")
	}
	if d.law.method = d.params.Method; r.Err() == nil {
		d.checkHead(r)
	}
	if keys.CheckDim("misragries", d.params.Dim) != nil {
		r.Fail("keys that Dim is not for")
	}
	if r.Err() != nil {
		return r.Err()
	}
	d.by().decode(&d, r)
	if err := r.Done(); err != nil {
		return err
	}
	*h = d
	return nil
}

// checkHead fails unless the head is that of a release.
func (h *Histogram[K]) checkHead(r *wire.Reader) {
	p, used, in := h.params, h.law.method, h.law.input
	switch {
	case p.validate() != nil || in > lastInput || !slices.Contains(possible[in], used) ||
		p.Delta == 0 && !h.by().pure():
		r.Fail("invalid Params")
	case p.checkUnit(in) != nil:
		r.Fail("invalid MaxKeys or MaxElements")
	case h.sketches < 1 || h.sketches > 1 && in != Summed:
		r.Fail("a wrong number of sketches")
	}
}
