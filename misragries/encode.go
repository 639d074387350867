package misragries

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/threshold"
)

// The encoding of a Histogram, little-endian, version 2; floating-point numbers are IEEE 754 bits,
// signed ones two's complement:
//
//	bytes  field
//	6      header: "dpsk", kind 1, version 2
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer
//	1      Input
//	1      Mechanism of the Params
//	1      Mechanism that was used
//	1      Sparse
//	4      Counters
//	4      MaxKeys
//	8      Epsilon
//	8      Delta
//	8      Dim
//	8      MaxLength
//	4      number of sketches, 1 unless they are summed
//
// SparseVector: then the encoding of a threshold.Vector. All others:
//
//	8      ε of the noise for one element; 0 where no noise is shared
//	8      scale of the noise, in units
//	8      R, in units; 0 where nothing is rounded
//	8      threshold, in units; 0 where there is none
//	8      scale of the private shift, in units; 0 where there is none
//	8      offset of the private shift, in units
//	8      noisy number of decrements; 0 where it is not released
//	4      number of released keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      noisy count in units, at least the threshold
//
// A unit is 1/(k+1) of a count where sketches are reduced, and else a count. Nothing in it depends
// on the order of the stream, and no other bytes decode to the same histogram.
const version = 2

// numbers are the fields of the Params besides Mechanism and Sparse.
func (p *Params) numbers() []wire.Field {
	return []wire.Field{
		wire.Int(&p.Counters, math.MaxInt32), wire.Int(&p.MaxKeys, math.MaxInt32), wire.Float(&p.Epsilon), wire.Float(&p.Delta),
		wire.Uint(&p.Dim), wire.Uint(&p.MaxLength),
	}
}

// head are the fields up to the number of sketches.
func (h *Histogram[K]) head(class *wire.KeyClass) []wire.Field {
	p := &h.params
	first := []wire.Field{wire.Byte(class), wire.Byte(&h.input), wire.Byte(&p.Mechanism), wire.Byte(&h.law.mechanism), wire.Byte(&p.Sparse)}
	return append(append(first, p.numbers()...), wire.Int(&h.sketches, math.MaxInt32))
}

// noise are the fields up to the number of keys.
func (h *Histogram[K]) noise() []wire.Field {
	l := &h.law
	return []wire.Field{
		wire.Float(&l.epsilon), wire.Float(&l.sum.scale), wire.Signed(&l.sum.from), wire.Signed(&l.sum.threshold), wire.Float(&l.sum.shift),
		wire.Signed(&l.sum.offset), wire.Signed(&h.decrements),
	}
}

// AppendBinary appends the encoding of the histogram to dst. The error, which wraps [ErrFormat], is
// for the zero Histogram.
func (h *Histogram[K]) AppendBinary(dst []byte) ([]byte, error) {
	if h.law.mechanism == Auto {
		return dst, fault.Format("misragries", "a Histogram that was not released has no encoding")
	}
	keys := wire.KeysOf[K]()
	class := keys.Class()
	dst = wire.AppendHeader(dst, wire.KindMisraGries, version)
	dst = wire.AppendFields(dst, h.head(&class))
	if h.vector != nil {
		return h.vector.AppendBinary(dst)
	}
	dst = wire.AppendFields(dst, h.noise())
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h.counts)))
	for i := range h.counts {
		dst = keys.Append(dst, h.counts[i].key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h.counts[i].count))
	}
	return dst, nil
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
	if r.Err() == nil {
		d.checkHead(r)
	}
	if keys.CheckDim("misragries", d.params.Dim) != nil {
		r.Fail("keys that Dim is not for")
	}
	if r.Err() != nil {
		return r.Err()
	}
	if d.law.mechanism == SparseVector {
		d.law.per = 1
		d.vector = new(threshold.Vector[K])
		if err := d.vector.UnmarshalBinary(r.Bytes(r.Remaining())); err != nil {
			return err
		}
		if !d.fitsVector() {
			r.Fail("a vector of other Params")
		}
	} else {
		d.readCounts(r, keys)
	}
	if err := r.Done(); err != nil {
		return err
	}
	*h = d
	return nil
}

// fitsVector reports whether the vector is one that the Params lead to. It allows for a platform
// that rounds otherwise.
func (h *Histogram[K]) fitsVector() bool {
	want, err := h.params.sparse(h.input)
	v := h.vector.Params()
	close := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }
	if err != nil || !close(v.Epsilon, want.Epsilon) || !close(v.Delta, want.Delta) || h.vector.Len() > h.params.Counters {
		return false
	}
	for key := range h.vector.All() {
		if h.params.Dim > 0 && outside(key, h.params.Dim) {
			return false
		}
	}
	want.Epsilon, want.Delta = v.Epsilon, v.Delta
	if want.Mechanism == threshold.Auto {
		want.Mechanism = v.Mechanism
	}
	return v == want
}

// checkHead fails unless the head is that of a release.
func (h *Histogram[K]) checkHead(r *wire.Reader) {
	p, used := h.params, h.law.mechanism
	switch {
	case p.validate() != nil || h.input > lastInput || !slices.Contains(defaults[h.input], used) ||
		p.Mechanism != used && (p.Mechanism != Auto || used != KeptZeros || h.input != OneStream) ||
		used.universe() && p.Dim == 0 || used != PureUniverse && p.Delta == 0:
		r.Fail("invalid Params")
	case h.input == Users && (p.MaxKeys < 1 || p.MaxKeys > p.Counters):
		r.Fail("invalid MaxKeys")
	case h.sketches < 1 || h.sketches > 1 && h.input != Summed:
		r.Fail("a wrong number of sketches")
	}
}

// readCounts reads the noise and the noisy counts.
func (h *Histogram[K]) readCounts(r *wire.Reader, keys wire.Keys[K]) {
	if h.law.per = 1; h.law.mechanism.reduces() {
		h.law.per = float64(h.params.Counters) + 1
	}
	r.Fields(h.noise())
	l := h.law
	if r.Err() == nil && (!l.valid() || !h.keepsItsPromise() || h.decrements != 0 && !h.knowsDecrements()) {
		r.Fail("invalid noise")
	}
	most := uint64(h.params.Counters) * uint64(h.sketches)
	n := r.Count(int(min(most, math.MaxInt32)), keys.MinSize()+8)
	if r.Err() == nil && l.mechanism.universe() && uint64(n) != min(uint64(h.params.Counters), h.params.Dim) {
		r.Fail("a wrong number of keys")
	}
	if r.Err() != nil {
		return
	}
	h.counts = make([]counter[K], n)
	for i := range h.counts {
		c := &h.counts[i]
		c.key = keys.Read(r)
		c.count = r.Int64()
		switch {
		case i > 0 && !(h.counts[i-1].key < c.key):
			r.Fail("keys not in ascending order")
		case h.params.Dim > 0 && outside(c.key, h.params.Dim):
			r.Fail("a key outside Dim")
		case !l.mechanism.universe() && c.count < l.sum.threshold:
			r.Fail("a count below the threshold")
		}
		if r.Err() != nil {
			return
		}
	}
}

// keepsItsPromise reports whether the noise and the threshold can be what the ε and δ of the Params
// ask for. It computes no sums, so for FreedZeros and ReducedSum it looks at a part of δ. It allows
// for a platform that rounds otherwise.
func (h *Histogram[K]) keepsItsPromise() bool {
	p, l, s := h.params, h.law, h.law.sum
	p.Mechanism = l.mechanism
	epsilon, delta, ok := p.element(h.input)
	if !ok {
		return false
	}
	most, want, k := epsilon*(1+1e-9), math.Log(delta)*(1-1e-9), float64(p.Counters)
	if l.shared() && (math.Abs(l.epsilon-epsilon) > 1e-9*epsilon || math.Abs(s.scale*epsilon-1) > 1e-9) {
		return false
	}
	switch l.mechanism {
	case KeptZeros:
		return logDelta(p.Counters, l.epsilon, float64(s.threshold)) <= want
	case FreedZeros:
		return logSurvivalSum(l.epsilon, float64(s.threshold)-1) <= want
	case ReducedSum:
		return s.logEscape(p.Counters) <= want
	case ShiftedSum:
		return s.shiftLogDelta(p.Counters, most) <= want
	case PureUniverse:
		return (2*k-1)/s.scale <= most
	}
	return 1/s.shift+(k+1)/s.scale <= most && logs.Reach(s.shift, s.offset) <= want // ShiftedUniverse
}

// valid reports whether the numbers are of the kind that the mechanism has, and all methods work
// with them.
func (l scheme) valid() bool {
	s := l.sum
	zero := func(x float64) bool { return x == 0 && !math.Signbit(x) }
	const most = limit
	if !(s.scale > 0x1p-40) || !s.valid() || s.threshold < 0 || s.threshold >= most || s.from < 0 || s.offset < 0 || s.offset >= most {
		return false
	}
	if l.shared() != (l.epsilon >= limits.MinEpsilon/maxKeys && l.epsilon <= limits.MaxEpsilon) || !l.shared() && !zero(l.epsilon) {
		return false
	}
	if l.mechanism.shifts() != (s.shift > 0) || !l.mechanism.shifts() && (!zero(s.shift) || s.offset != 0) {
		return false
	}
	if l.mechanism.universe() {
		return s.from == 0 && s.threshold == 0
	}
	rounds := l.mechanism == ReducedSum || l.mechanism == ShiftedSum
	return s.threshold >= 1 && s.from < s.threshold && rounds == (s.from >= 1)
}
