package threshold

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Vector, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 2, version 1
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer, 3 array of 16 bytes
//	1      Method, the one that was used
//	1      Relation
//	1      flags: 1 Integers, 2 Signed, 4 Listed, 8 Beside
//	8      Epsilon
//	8      Delta
//	8      Dim
//	8      Sensitivity
//	8      MaxValue
//	8      FalseKeys
//	4      MaxKeys
//	4      Stored
//	8      step of the grid, a power of two
//	8      scale of the noise, or σ, in steps
//	8      standard deviation of the shared noise, in steps
//	8      R, in steps
//	8      threshold, in steps
//	8      with Beside: scale or own standard deviation of the noise of that number, in steps
//	8      with Beside: the noisy number in steps, two's complement
//	4      number of released keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      noisy value in steps, two's complement
//
// Nothing in it depends on the order of arrival, and no other bytes decode to the same vector.
const (
	version   = 1
	fixedSize = wire.HeaderSize + 4 + 6*8 + 2*4 + 5*8 + 4
)

// AppendBinary appends the encoding of the vector to dst. The error, which wraps [ErrFormat], is
// for a Vector that is neither released nor decoded.
func (v *Vector[K]) AppendBinary(dst []byte) ([]byte, error) {
	if v.law.method == Auto {
		return dst, fault.Format("threshold", "a Vector that was not released has no encoding")
	}
	keys := wire.KeysOf[K]()
	head := head{class: keys.Class(), params: v.params, law: v.law, beside: v.beside}
	dst = wire.AppendHeader(dst, wire.KindThreshold, version)
	dst = wire.AppendFields(dst, head.fields())
	if v.params.Beside {
		dst = wire.AppendFields(dst, []wire.Field{wire.Float(&head.law.beside), wire.Signed(&head.beside)})
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.values)))
	for _, e := range v.values {
		dst = keys.Append(dst, e.Key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.Steps))
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the vector.
func (v *Vector[K]) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, for the same key type or one of the same class
// that holds all keys. It returns an error that wraps [ErrFormat], and leaves the receiver as it
// was, for any other bytes.
func (v *Vector[K]) UnmarshalBinary(data []byte) error {
	r, keys := wire.NewReader("threshold", data), wire.KeysOf[K]()
	r.Header(wire.KindThreshold, version)
	head := readHead(r)
	if r.Err() == nil && head.class != keys.Class() {
		r.Fail("keys of another type")
	}
	d := Vector[K]{params: head.params, law: head.law, beside: head.beside}
	ranged := d.params.Dim > 0 && !d.params.Listed
	if ranged && !keys.Integers() {
		r.Fail("string keys with Dim")
	}
	n := r.Count(math.MaxInt32, keys.MinSize()+8)
	if r.Err() != nil {
		return r.Err()
	}
	d.values = make([]entry[K], n)
	for i := range d.values {
		e := &d.values[i]
		*e = entry[K]{Key: keys.Read(r), Steps: r.Int64()}
		switch {
		case i > 0 && keys.Compare(d.values[i-1].Key, e.Key) >= 0:
			r.Fail("keys not in ascending order")
		case ranged && keys.Integers() && keys.Bits(e.Key) >= d.params.Dim:
			r.Fail("a key outside Dim")
		case d.law.method != DenseLaplace && max(e.Steps, -e.Steps) < d.law.threshold:
			r.Fail("a value below the threshold")
		case e.Steps < -2*maxTotal || e.Steps > 2*maxTotal:
			r.Fail("a value that no total and noise make")
		case e.Steps < 0 && d.law.method != DenseLaplace && !d.params.Signed:
			r.Fail("a negative value")
		}
		if r.Err() != nil {
			return r.Err()
		}
	}
	if d.law.method == DenseLaplace && uint64(n) != d.params.Dim {
		r.Fail("not all keys of Dim")
	}
	if err := r.Done(); err != nil {
		return err
	}
	*v = d
	return nil
}

// head is all that precedes the keys.
type head struct {
	class  wire.KeyClass
	params Params
	law    calibration
	beside int64
}

// fields is the head in the order of the encoding.
func (h *head) fields() []wire.Field {
	p, c := &h.params, &h.law
	return []wire.Field{
		wire.Byte(&h.class), wire.Byte(&p.Method), wire.Byte(&p.Relation), wire.Flags(&p.Integers, &p.Signed, &p.Listed, &p.Beside),
		wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Uint(&p.Dim), wire.Float(&p.Sensitivity), wire.Float(&p.MaxValue), wire.Float(&p.FalseKeys),
		wire.Int(&p.MaxKeys, maxKeys), wire.Int(&p.Stored, maxKeys),
		wire.Float(&c.step), wire.Float(&c.scale), wire.Float(&c.shared), wire.Signed(&c.from), wire.Signed(&c.threshold),
	}
}

// readHead reads the head. It fails unless the Params are valid, name a mechanism that they allow,
// and all methods work with the numbers.
func readHead(r *wire.Reader) (h head) {
	r.Fields(h.fields())
	if h.params.Beside {
		r.Fields([]wire.Field{wire.Float(&h.law.beside), wire.Signed(&h.beside)})
	}
	h.law.method = h.params.Method
	switch {
	case r.Err() != nil:
	case h.params.validate() != nil || h.params.Method == Auto || h.params.lacks(h.params.Method) != "":
		r.Fail("invalid Params")
	case !h.law.valid() || h.params.Beside != (h.law.beside >= 0x1p-20 && h.law.beside <= maxScale):
		r.Fail("invalid noise")
	case h.beside < -2*maxTotal || h.beside > 2*maxTotal:
		r.Fail("a number that no total and noise make")
	}
	return h
}

// valid reports whether all methods work with the numbers.
func (c calibration) valid() bool {
	fraction, _ := math.Frexp(c.step)
	shared := c.shared == 0 && !math.Signbit(c.shared)
	if c.method == CorrelatedGaussian {
		// 0 too: with a single stored key there is nothing to share
		shared = shared || c.shared > 0 && c.shared <= maxScale
	}
	positive := c.threshold > 0 && c.threshold < maxTotal
	rounding := c.from >= 1 && c.from < c.threshold
	switch c.method {
	case DenseLaplace:
		positive, rounding = c.threshold == 0, c.from == 1
	case PureLaplace: // no rounding, and the threshold of weak noise may be a single step
		rounding = c.from == 1
	}
	return fraction == 0.5 && c.step >= 0x1p-300 && c.step <= 0x1p300 && c.scale >= 0x1p-20 && c.scale <= maxScale && shared &&
		positive && rounding
}
