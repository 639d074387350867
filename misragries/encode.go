package misragries

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// The encoding of a Histogram, little-endian, version 5; floating-point numbers are IEEE 754 bits,
// signed ones two's complement:
//
//	bytes  field
//	6      header: "dpsk", kind 1, version 5
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer, 3 array of 16 bytes
//	1      input: 0 one stream, 1 given counters, 2 merged, 3 a sum, 4 users
//	1      flags: 1 what is lost is known
//	1      Method
//	4      Counters
//	4      MaxElements
//	8      Epsilon
//	8      Delta
//	8      Dim
//	8      MaxLength
//	4      number of sketches, 1 unless they are summed
//
// SparseVector: then the encoding of a threshold.Vector, with D beside the keys. All others:
//
//	8      scale of the noise, in units
//	8      R, in units; 0 where nothing is rounded
//	8      threshold, in units; 0 where there is none
//	8      scale of the private shift, in units; 0 where there is none
//	8      offset of the private shift, in units
//	8      scale of the own noise of what is lost; 0 where that has none
//	8      what is lost, in units: noisy D or length, or W; 0 where it is not known
//	4      number of released keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      noisy count in units, at least the threshold
//
// A unit is 1/(k+1) of a count where sketches are reduced, 1/j where they are trimmed (j = min(k,
// max(16, ⌈k/4⌉))), and else a count. Nothing in it depends on the order of the stream, and no
// other bytes decode to the same histogram.
const version = 5

// head are the fields up to the number of sketches.
func (h *Histogram[K]) head(class *wire.KeyClass) []wire.Field {
	head := []wire.Field{wire.Byte(class), wire.Byte(&h.calibration.input), wire.Flags(&h.known)}
	return append(append(head, h.params.fields()...), wire.Int(&h.sketches, math.MaxInt32))
}

// numbers are the fields that the counts follow.
func (h *Histogram[K]) numbers() []wire.Field {
	c := &h.calibration
	return []wire.Field{
		wire.Float(&c.Scale), wire.Signed(&c.From), wire.Signed(&c.Threshold), wire.Float(&c.Shift), wire.Signed(&c.Offset),
		wire.Float(&c.lost), wire.Signed(&h.lost),
	}
}

// AppendBinary appends the encoding to dst. The error, for the zero Histogram, wraps [ErrFormat].
func (h *Histogram[K]) AppendBinary(dst []byte) ([]byte, error) {
	if h.calibration.method == Auto {
		return dst, check.FormatError("misragries", "a Histogram that was not released has no encoding")
	}
	keys := wire.KeysOf[K]()
	class := keys.Class()
	dst = wire.AppendHeader(dst, wire.KindMisraGries, version)
	dst = wire.AppendFields(dst, h.head(&class))
	if h.calibration.is().sparse {
		return toVector(h.calibration.sparse, h.counts, h.lost).AppendBinary(dst)
	}
	dst = wire.AppendFields(dst, h.numbers())
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h.counts)))
	for _, c := range h.counts {
		dst = keys.Append(dst, c.Key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Count))
	}
	return dst, nil
}

// toVector and fromVector exchange the released counts, in steps, with package sparse.
func toVector[K hashing.Key](l sparse.Law, counts []sketch.Counter[K], beside int64) *sparse.Vector[K] {
	entries := make([]sparse.Entry[K], len(counts))
	for i, c := range counts {
		entries[i] = sparse.Entry[K]{Key: c.Key, Steps: c.Count}
	}
	return sparse.VectorOf(l, entries, beside)
}

func fromVector[K hashing.Key](v *sparse.Vector[K]) (counts []sketch.Counter[K], beside int64) {
	entries, beside := v.Steps()
	counts = make([]sketch.Counter[K], len(entries))
	for i, e := range entries {
		counts[i] = sketch.Counter[K]{Key: e.Key, Count: e.Steps}
	}
	return counts, beside
}

// MarshalBinary returns the encoding.
func (h *Histogram[K]) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary decodes it, for the same key type or one of the same class that holds all keys
// (with Dim, Dim − 1). On an error, which wraps [ErrFormat], nothing changes.
func (h *Histogram[K]) UnmarshalBinary(data []byte) error {
	keys := wire.KeysOf[K]()
	r := wire.NewReader("misragries", data)
	r.Header(wire.KindMisraGries, version)
	var d Histogram[K]
	var class wire.KeyClass
	if r.Fields(d.head(&class)); class != keys.Class() {
		r.Fail("keys of another type")
	}
	if r.Err() == nil {
		d.checkHead(r)
	}
	if keys.CheckDim("misragries", d.params.Dim) != nil {
		r.Fail("keys that Dim is not for")
	}
	if r.Err() != nil {
		return r.Err()
	}
	if d.calibration.method = d.params.Method; d.calibration.is().sparse {
		d.readVector(r)
	} else {
		d.readCounts(r)
	}
	return wire.Decoded(r, h, d)
}

// checkHead fails unless the head is that of a release.
func (h *Histogram[K]) checkHead(r *wire.Reader) {
	p, in := h.params, h.calibration.input
	if in > lastInput || p.Method == Auto || p.Counters == 0 {
		r.Fail("invalid Params")
		return
	}
	switch _, err := p.named(in); {
	case err != nil:
		r.Fail("invalid Params")
	case h.sketches < 1 || h.sketches > 1 && in != summed:
		r.Fail("a wrong number of sketches")
	}
}

// readVector reads the law of package sparse and the counts.
func (h *Histogram[K]) readVector(r *wire.Reader) {
	v := new(sparse.Vector[K])
	if v.UnmarshalBinary(r.Bytes(r.Remaining())) != nil || !h.calibration.fits(h.params, v.Law) || h.known != v.Law.Params().Beside || v.Len() > h.params.Counters {
		r.Fail("a vector of other Params")
		return
	}
	h.calibration.use(v.Law)
	h.counts, h.lost = fromVector(v)
	if h.params.Dim > 0 && slices.ContainsFunc(h.counts, func(c sketch.Counter[K]) bool { return sketch.Outside(c.Key, h.params.Dim) }) {
		r.Fail("a key outside Dim")
	}
}

// readCounts reads the numbers, if they keep the promise, and the counts.
func (h *Histogram[K]) readCounts(r *wire.Reader) {
	r.Fields(h.numbers())
	p, c := h.params, &h.calibration
	c.per = p.per(c.method)
	if r.Err() == nil && !(c.keeps(p, h.known) && (h.known || h.lost == 0) && (!c.is().trimmed || h.lost >= 0 && h.lost <= sketch.Limit)) {
		r.Fail("invalid noise")
	}
	least, most := 0, int(min(uint64(p.Counters)*uint64(h.sketches), math.MaxInt32))
	if c.is().top {
		most = int(min(uint64(p.Counters), p.Dim))
		least = most
	}
	n := r.Count(most, wire.KeysOf[K]().MinSize()+8)
	if r.Err() == nil && n < least {
		r.Fail("a wrong number of keys")
	}
	if r.Err() != nil {
		return
	}
	h.counts = make([]sketch.Counter[K], n)
	wire.ReadKeys(r, n, func(i int, key K) {
		h.counts[i] = sketch.Counter[K]{Key: key, Count: r.Int64()}
		switch {
		case p.Dim > 0 && sketch.Outside(key, p.Dim):
			r.Fail("a key outside Dim")
		case c.Threshold > 0 && h.counts[i].Count < c.Threshold:
			r.Fail("a count below the threshold")
		}
	})
}
