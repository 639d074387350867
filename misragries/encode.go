package misragries

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Histogram, little-endian, version 1:
//
//	bytes  field
//	6      header: "dpsk", kind 1, version 1
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer
//	4      Counters
//	8      Epsilon, IEEE 754 bits
//	8      Delta, IEEE 754 bits
//	8      noisy number of decrements, two's complement
//	4      number of released keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      noisy count, at least the threshold
//
// Nothing in it depends on the order of the stream, and no other bytes decode to the same histogram.
const version = 1

// AppendBinary appends the encoding of the histogram to dst.
func (h *Histogram[K]) AppendBinary(dst []byte) ([]byte, error) {
	keys := wire.KeysOf[K]()
	dst = wire.AppendHeader(dst, wire.KindMisraGries, version)
	dst = append(dst, byte(keys.Class()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.params.Counters))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.params.Epsilon))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.params.Delta))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.decrements))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h.counts)))
	for i := range h.counts {
		dst = keys.Append(dst, h.counts[i].key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h.counts[i].count))
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the histogram.
func (h *Histogram[K]) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, for the same key type or one of the same class that
// holds all keys. It returns an error that wraps [ErrFormat], and leaves the receiver as it was, for
// any other bytes.
func (h *Histogram[K]) UnmarshalBinary(data []byte) error {
	keys := wire.KeysOf[K]()
	r := wire.NewReader("misragries", data)
	r.Header(wire.KindMisraGries, version)
	if wire.KeyClass(r.Uint8()) != keys.Class() {
		r.Fail("keys of another type")
	}
	var d Histogram[K]
	counters := r.Uint32()
	d.params = Params{int(min(counters, math.MaxInt32)), r.Float64(), r.Float64()}
	if r.Err() == nil && d.params.validate() != nil {
		r.Fail("invalid Params")
	}
	d.decrements = r.Int64()
	n := r.Count(d.params.Counters, keys.MinSize()+8)
	if r.Err() != nil {
		return r.Err()
	}
	tau := d.params.threshold()
	d.counts = make([]counter[K], n)
	for i := range d.counts {
		c := &d.counts[i]
		c.key = keys.Read(r)
		c.count = r.Int64()
		if i > 0 && !(d.counts[i-1].key < c.key) {
			r.Fail("keys not in ascending order")
		}
		if c.count < tau {
			r.Fail("a count below the threshold")
		}
		if r.Err() != nil {
			return r.Err()
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	*h = d
	return nil
}
