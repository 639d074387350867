package sparse

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
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
	version = 1
	// FixedSize is the length of an encoding without keys and a number beside them.
	FixedSize = wire.HeaderSize + 4 + 6*8 + 2*4 + 5*8 + 4
)

// AppendBinary appends the encoding of the vector to dst. The error, which wraps [check.ErrFormat],
// is for a Vector that is neither released nor decoded.
func (v *Vector[K]) AppendBinary(dst []byte) ([]byte, error) {
	if v.numbers.method == Auto {
		return dst, check.FormatError("threshold", "a Vector that was not released has no encoding")
	}
	keys := wire.KeysOf[K]()
	head := head{keys.Class(), v.Law, v.beside}
	dst = wire.AppendHeader(dst, wire.KindThreshold, version)
	dst = wire.AppendFields(dst, head.fields())
	if head.params.Beside {
		dst = wire.AppendFields(dst, head.number())
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
// that holds all keys. It returns an error that wraps [check.ErrFormat], and leaves the receiver as
// it was, for any other bytes.
func (v *Vector[K]) UnmarshalBinary(data []byte) error {
	r, keys := wire.NewReader("threshold", data), wire.KeysOf[K]()
	r.Header(wire.KindThreshold, version)
	head := readHead(r)
	if r.Err() == nil && head.class != keys.Class() {
		r.Fail("keys of another type")
	}
	p, c := head.params, head.numbers
	ranged, dense := p.Dim > 0 && !p.Listed, c.method == DenseLaplace
	if ranged && !keys.Integers() {
		r.Fail("string keys with Dim")
	}
	n := r.Count(math.MaxInt32, keys.MinSize()+8)
	if r.Err() != nil {
		return r.Err()
	}
	values := make([]Entry[K], n)
	wire.ReadKeys(r, n, func(i int, key K) {
		e := Entry[K]{Key: key, Steps: r.Int64()}
		switch {
		case ranged && keys.Bits(key) >= p.Dim:
			r.Fail("a key outside Dim")
		case !dense && max(e.Steps, -e.Steps) < c.threshold:
			r.Fail("a value below the threshold")
		case e.Steps < -2*MaxTotal || e.Steps > 2*MaxTotal:
			r.Fail("a value that no total and noise make")
		case e.Steps < 0 && !dense && !p.Signed:
			r.Fail("a negative value")
		}
		values[i] = e
	})
	if dense && uint64(n) != p.Dim {
		r.Fail("not all keys of Dim")
	}
	return wire.Decoded(r, v, Vector[K]{head.Law, values, head.beside})
}

// head is all that precedes the keys.
type head struct {
	class wire.KeyClass
	Law
	beside int64
}

// fields is the head in the order of the encoding, without the number beside the keys.
func (h *head) fields() []wire.Field {
	p, c := &h.params, &h.numbers
	return []wire.Field{
		wire.Byte(&h.class), wire.Byte(&p.Method), wire.Byte(&p.Relation), wire.Flags(&p.Integers, &p.Signed, &p.Listed, &p.Beside),
		wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Uint(&p.Dim), wire.Float(&p.Sensitivity), wire.Float(&p.MaxValue), wire.Float(&p.FalseKeys),
		wire.Int(&p.MaxKeys, MaxKeys), wire.Int(&p.Stored, MaxKeys),
		wire.Float(&c.step), wire.Float(&c.scale), wire.Float(&c.shared), wire.Signed(&c.from), wire.Signed(&c.threshold),
	}
}

// number is the number beside the keys and its noise.
func (h *head) number() []wire.Field {
	return []wire.Field{wire.Float(&h.numbers.beside), wire.Signed(&h.beside)}
}

// readHead reads the head. It fails unless the Params are valid, name a mechanism that they allow,
// and all methods work with the numbers.
func readHead(r *wire.Reader) (h head) {
	r.Fields(h.fields())
	p, c := &h.params, &h.numbers
	if p.Beside {
		r.Fields(h.number())
	}
	c.method = p.Method
	switch {
	case r.Err() != nil:
	case p.validate() != nil || p.Method == Auto || p.lacks(p.Method) != "":
		r.Fail("invalid Params")
	case !c.valid() || p.Beside != (c.beside >= 0x1p-20 && c.beside <= maxScale):
		r.Fail("invalid noise")
	case h.beside < -2*MaxTotal || h.beside > 2*MaxTotal:
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
	positive := c.threshold > 0 && c.threshold < MaxTotal
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
