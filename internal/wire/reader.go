package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Reader reads one encoding from the front to the back. Its first failure sticks: see the package
// comment. A Reader is for one goroutine.
type Reader struct {
	pkg   string
	rest  []byte
	err   error
	texts []byte // where keys that are texts lie, many in one piece of memory
}

// NewReader returns a Reader of data. Its errors name pkg. It neither copies nor changes data.
func NewReader(pkg string, data []byte) *Reader {
	return &Reader{pkg: pkg, rest: data}
}

// Fail records a failure, such as "keys not in ascending order", unless there is one already.
// The problem may quote public numbers only.
func (r *Reader) Fail(problem string) {
	if r.err == nil {
		r.err = check.FormatError(r.pkg, problem)
		r.rest = nil
	}
}

// Err returns the first failure, or nil. A decoder asks it where it would loop for long; for the
// verdict on the whole input it asks [Reader.Done].
func (r *Reader) Err() error { return r.err }

// Done returns the first failure, or an error if bytes are left over, or nil.
func (r *Reader) Done() error {
	if r.err == nil && len(r.rest) > 0 {
		r.Fail(fmt.Sprintf("%d bytes after the end", len(r.rest)))
	}
	return r.err
}

// Remaining returns the number of bytes not read yet, 0 after a failure.
func (r *Reader) Remaining() int { return len(r.rest) }

// Header reads the magic, the kind and the version, and fails unless they are the given ones. Of
// several versions it returns the one that is there.
func (r *Reader) Header(kind Kind, versions ...uint8) (version uint8) {
	head := r.Bytes(HeaderSize)
	if head == nil {
		return 0
	}
	gotKind, gotVersion := Kind(head[len(magic)]), head[len(magic)+1]
	switch {
	case string(head[:len(magic)]) != magic:
		r.Fail("not an encoding of this library: wrong magic number")
	case gotKind != kind:
		r.Fail(fmt.Sprintf("holds an object of %v, want %v", gotKind, kind))
	case !slices.Contains(versions, gotVersion):
		r.Fail(fmt.Sprintf("has version %d, want %d", gotVersion, versions[len(versions)-1]))
	}
	return gotVersion
}

// Bytes reads n bytes and returns them as a part of the input, not a copy: a decoder that keeps
// them must clone them. It returns nil after a failure.
func (r *Reader) Bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.rest) {
		r.Fail(fmt.Sprintf("truncated: %d bytes left where %d are wanted", len(r.rest), n))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// String reads n bytes as a string of its own.
func (r *Reader) String(n int) string { return string(r.Bytes(n)) }

// textPiece is how many bytes of keys share a piece of memory: who keeps one key keeps that.
const textPiece = 1 << 14

// text is String for keys: many of them take one allocation, of no more bytes than are left to
// read.
func (r *Reader) text(n int) string {
	b := r.Bytes(n)
	if len(b) > cap(r.texts)-len(r.texts) {
		if len(b) > textPiece/8 {
			return string(b)
		}
		r.texts = make([]byte, 0, min(textPiece, len(b)+len(r.rest)))
	}
	start := len(r.texts)
	r.texts = append(r.texts, b...) // what lies before is never written again
	return unsafe.String(unsafe.SliceData(r.texts[start:]), len(b))
}

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int64 reads eight bytes in two's complement.
func (r *Reader) Int64() int64 { return int64(r.Uint64()) }

// Float64 reads eight bytes as IEEE 754 bits. It returns what stands there, so a NaN, an infinity
// or a negative zero too; a decoder for which these are not canonical must reject them.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Uint64()) }

// NegativeZero reports whether one of the values is −0, which == does not tell from 0.
func NegativeZero(values ...float64) bool {
	return slices.ContainsFunc(values, func(x float64) bool { return x == 0 && math.Signbit(x) })
}

// Count reads a number of items as a uint32. It fails if the number is greater than limit, or if so
// many items of at least minItemBytes bytes each do not fit into the rest of the input. So what a
// decoder allocates for n items is at most proportional to the bytes it was given, whatever they
// say. A minItemBytes below 1 counts as 1: an item of no bytes would leave the number unchecked.
func (r *Reader) Count(limit, minItemBytes int) int {
	n := uint64(r.Uint32())
	if r.err != nil {
		return 0
	}
	item := uint64(max(minItemBytes, 1))
	switch {
	case limit < 0 || n > uint64(limit):
		r.Fail(fmt.Sprintf("%d items, want at most %d", n, max(limit, 0)))
		return 0
	case n > uint64(len(r.rest))/item:
		r.Fail(fmt.Sprintf("truncated: %d bytes left where %d items are wanted", len(r.rest), n))
		return 0
	}
	return int(n)
}

// Decoded sets *to to what was read, unless the reader has failed or has bytes left: then *to stays
// as it was.
func Decoded[T any](r *Reader, to *T, read T) error {
	err := r.Done()
	if err == nil {
		*to = read
	}
	return err
}
