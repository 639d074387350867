package series

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
)

// The encoding of a Slice, little-endian, version 3; floating-point numbers are IEEE 754 bits,
// signed ones two's complement:
//
//	bytes  field
//	6      header: "dpsk", kind 18, version 3
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer, 3 array of 16 bytes
//	8      Epsilon
//	8      Delta
//	32     Spans, 4 bytes each
//	32     Discovery, 4 bytes each
//	4      Counters
//	4      Dim
//	4      MaxKnown
//	4      Retire
//	4      MaxElements
//	4      Burst
//	8      step
//	4      number of known keys
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      the first step in which it was known
//	8      its noisy count, for each of the Spans that ends with the step
//
// Then, with MaxElements, for each of the Spans that ends with the step:
//
//	8      noisy number of elements that count
//	8      noisy number of elements that are seen
//
// Then for each Discovery span that ends with the step, without Counters:
//
//	4      number of keys that are shown
//	then for each, in strictly ascending order: the key, and 8 bytes of noisy count
//
// or with Counters:
//
//	4      length of what follows
//	       the encoding of a misragries.Histogram
//
// Nothing depends on the order of the stream, and no other bytes decode to the same Slice.
const version = 3

// maxCount is more than any count and its noise.
const maxCount = 1 << 61

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	f := []wire.Field{wire.Float(&p.Epsilon), wire.Float(&p.Delta)}
	for _, spans := range []*[maxSpans]int{&p.Spans, &p.Discovery} {
		for i := range spans {
			f = append(f, wire.Int(&spans[i], maxSpan))
		}
	}
	return append(f, wire.Int(&p.Counters, maxCounters), wire.Int(&p.Dim, maxElements), wire.Int(&p.MaxKnown, maxKnown),
		wire.Int(&p.Retire, maxRetire), wire.Int(&p.MaxElements, maxElements), wire.Int(&p.Burst, maxElements))
}

// AppendBinary appends the encoding to dst. The error, for the zero Slice, wraps [ErrFormat].
func (r *Slice[K]) AppendBinary(dst []byte) ([]byte, error) {
	if !r.valid() {
		return dst, check.FormatError("series", "a Slice that was not released has no encoding")
	}
	keys, p, step := wire.KeysOf[K](), r.params, r.step
	class := keys.Class()
	dst = wire.AppendHeader(dst, wire.KindSeries, version)
	dst = wire.AppendFields(dst, append([]wire.Field{wire.Byte(&class)}, append(p.fields(), wire.Long(&step, maxSteps))...))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.keys)))
	for i, key := range r.keys {
		dst = keys.Append(dst, key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(r.since[i]))
		for _, values := range r.values {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(values[i]))
		}
	}
	for _, n := range r.elements {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n[0]))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n[1]))
	}
	for _, shown := range r.found {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(shown)))
		for _, c := range shown {
			dst = binary.LittleEndian.AppendUint64(keys.Append(dst, c.key), uint64(c.count))
		}
	}
	for _, h := range r.sketches {
		at := len(dst)
		var err error
		if dst, err = h.AppendBinary(append(dst, 0, 0, 0, 0)); err != nil {
			return dst[:at], err
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// MarshalBinary returns the encoding.
func (r *Slice[K]) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// UnmarshalBinary decodes it, for the same key type or one of the same class that holds all keys.
// On an error, which wraps [ErrFormat], nothing changes.
func (r *Slice[K]) UnmarshalBinary(data []byte) error {
	in, keys := wire.NewReader("series", data), wire.KeysOf[K]()
	in.Header(wire.KindSeries, version)
	var d Slice[K]
	var class wire.KeyClass
	in.Fields(append([]wire.Field{wire.Byte(&class)}, append(d.params.fields(), wire.Long(&d.step, maxSteps-1))...))
	if in.Err() != nil {
		return in.Err()
	}
	p, c, err := checked[K](d.params)
	switch d.calibration = c; {
	case class != keys.Class():
		in.Fail("keys of another type")
	case err != nil || p != d.params:
		in.Fail("invalid Params")
	}
	d.readKnown(in, keys)
	d.readElements(in)
	for j := range ended(used(&d.params.Discovery), d.step+1) {
		if in.Err() != nil {
			break
		}
		if d.params.Counters > 0 {
			d.readSketch(in)
		} else {
			d.readFound(in, keys, j)
		}
	}
	if err := in.Done(); err != nil {
		return err
	}
	*r = d
	return nil
}

// readKnown reads the counts of the known keys.
func (r *Slice[K]) readKnown(in *wire.Reader, keys wire.Keys[K]) {
	spans := ended(used(&r.params.Spans), r.step+1)
	n := in.Count(max(r.params.MaxKnown, r.params.Dim), keys.MinSize()+8+8*spans)
	if in.Err() != nil {
		return
	}
	if r.params.Dim > 0 && n != r.params.Dim {
		in.Fail("not all keys")
	}
	r.keys, r.since, r.values = make([]K, n), make([]int, n), make([][]int64, spans)
	for l := range r.values {
		r.values[l] = make([]int64, n)
	}
	for i := range r.keys {
		r.keys[i], r.since[i] = readSince(in, keys, &r.params, i, r.keys[max(i-1, 0)], r.step)
		for l := range r.values {
			if r.values[l][i] = in.Int64(); beyond(r.values[l][i]) {
				in.Fail("a count that no stream and noise make")
			}
		}
		if in.Err() != nil {
			return
		}
	}
}

// readElements reads the numbers of elements.
func (r *Slice[K]) readElements(in *wire.Reader) {
	if r.params.MaxElements == 0 || in.Err() != nil {
		return
	}
	r.elements = make([][2]int64, len(r.values))
	for l := range r.elements {
		for i := range r.elements[l] {
			if r.elements[l][i] = in.Int64(); beyond(r.elements[l][i]) {
				in.Fail("a number that no stream and noise make")
			}
		}
	}
}

// readFound reads what a node of exact discovery shows: all keys that were not known in all of it,
// and others from the threshold on.
func (r *Slice[K]) readFound(in *wire.Reader, keys wire.Keys[K], j int) {
	n := in.Count(math.MaxInt32, keys.MinSize()+8)
	if in.Err() != nil {
		return
	}
	late := map[K]bool{}
	for i, key := range r.keys {
		if r.since[i] > r.step+1-r.params.Discovery[j] {
			late[key] = true
		}
	}
	for _, shown := range r.found {
		for _, c := range shown {
			late[c.key] = true
		}
	}
	shown, unannounced := make([]counted[K], n), 0
	for i := range shown {
		c := counted[K]{keys.Read(in), in.Int64()}
		_, known := slices.BinarySearchFunc(r.keys, c.key, wire.Compare[K])
		switch {
		case i > 0 && keys.Compare(shown[i-1].key, c.key) >= 0:
			in.Fail("keys not in ascending order")
		case beyond(c.count):
			in.Fail("a count that no stream and noise make")
		case late[c.key]:
			unannounced++
		case known || c.count < r.calibration.threshold:
			in.Fail("a key that is not shown")
		}
		if in.Err() != nil {
			return
		}
		shown[i] = c
	}
	if unannounced != len(late) {
		in.Fail("a key that is not corrected")
	}
	r.found = append(r.found, shown)
}

// readSketch reads what a sketch shows.
func (r *Slice[K]) readSketch(in *wire.Reader) {
	data := in.Bytes(int(min(in.Uint32(), math.MaxInt32)))
	if in.Err() != nil {
		return
	}
	h := new(misragries.Histogram[K])
	if h.UnmarshalBinary(data) != nil || h.Params() != r.calibration.sketch {
		in.Fail("an impossible histogram")
	}
	r.sketches = append(r.sketches, h)
}

// beyond reports whether no count with its noise is that large.
func beyond(x int64) bool { return x > maxCount || x < -maxCount }
