package dptest

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Codable is the pointer type of a released object.
type Codable[T any] interface {
	*T
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Codec puts the codec of a released object through what the design demands of it. valid is an
// object whose encoding should be a few hundred to a few thousand bytes long, as the time grows
// with the square. equal compares two objects in every way their methods can; where no field is a
// cache, [DeepEqual] does.
//
//   - decode ∘ encode gives an equal object with the same bytes, and it keeps no reference to its
//     input;
//   - AppendBinary keeps the prefix and appends what MarshalBinary returns;
//   - every truncation and every extension is rejected with check.ErrFormat;
//   - every flip of one bit is rejected so, or decodes to an object that encodes to exactly these
//     bytes;
//   - the same for every 4-byte and 8-byte window replaced by large numbers, and such a decode
//     allocates at most 64 KiB + 32 bytes for each byte of the input;
//   - a rejected decode leaves the receiver equal to what it was, and no decode panics.
func Codec[T any, PT Codable[T]](t testing.TB, valid PT, equal func(a, b PT) bool) {
	t.Helper()
	for _, problem := range codecProblems(valid, equal) {
		t.Errorf("%T: %s", valid, problem)
	}
}

// DeepEqual compares all that two objects hold.
func DeepEqual[T any](a, b *T) bool { return reflect.DeepEqual(a, b) }

// mostProblems is where a torture stops: further findings only repeat the first.
const mostProblems = 10

// torture is the state of one [Codec] call.
type torture[T any, PT Codable[T]] struct {
	data     []byte // the valid encoding
	equal    func(a, b PT) bool
	witness  PT // decoded from data, never decoded into again
	receiver PT // decoded from data, the target of decodes that are rejected
	used     PT // decoded from data, the target of one in eight that are accepted
	accepted int
	problems []string
}

func codecProblems[T any, PT Codable[T]](valid PT, equal func(a, b PT) bool) []string {
	data, err := valid.MarshalBinary()
	if err != nil {
		return []string{fmt.Sprintf("MarshalBinary: %v", err)}
	}
	c := &torture[T, PT]{data: data, equal: equal}
	if !c.roundTrip(valid) {
		return c.problems
	}
	for n := range data {
		c.mustReject(fmt.Sprintf("truncation to %d bytes", n), data[:n:n])
	}
	for _, tail := range [][]byte{{0}, {0xff}, make([]byte, 8), data} {
		c.mustReject(fmt.Sprintf("%d trailing bytes", len(tail)), append(bytes.Clone(data), tail...))
	}
	for bit := range 8 * len(data) {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		c.mayAccept(fmt.Sprintf("flip of bit %d of byte %d", bit%8, bit/8), flipped)
	}
	for _, window := range []string{"\xff\xff\xff\xff", "\xff\xff\xff\x7f", "\x00\x00\x00\x10", "\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		for at := 0; at+len(window) <= len(data); at++ {
			hostile := bytes.Clone(data)
			copy(hostile[at:], window)
			what, before := fmt.Sprintf("%x at byte %d", window, at), allocatedBytes()
			c.mayAccept(what, hostile)
			if allocatedBytes()-before > mostAllocated(hostile)/2 {
				c.allocates(what, hostile)
			}
		}
	}
	return c.problems
}

// report adds a problem, up to the limit.
func (c *torture[T, PT]) report(format string, args ...any) {
	if len(c.problems) < mostProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// roundTrip checks the valid encoding and sets up witness and receiver; false if it is no use to go
// on.
func (c *torture[T, PT]) roundTrip(valid PT) bool {
	if !c.encodes(valid, c.data) {
		c.report("a second MarshalBinary gives other bytes")
	}
	prefix := append(make([]byte, 0, 64+2*len(c.data)), "prefix"...)
	if out, err := valid.AppendBinary(prefix); err != nil || string(out) != "prefix"+string(c.data) {
		c.report("AppendBinary to a prefix: not the prefix and the bytes of MarshalBinary (error %v)", err)
	}
	for _, target := range []*PT{&c.witness, &c.receiver, &c.used} {
		input := bytes.Clone(c.data)
		object, err := c.decode(new(T), input)
		clear(input)
		switch {
		case err != nil:
			c.report("round trip: %v", err)
			return false
		case !c.encodes(object, c.data):
			c.report("round trip: the decoded object encodes to other bytes, or depends on the input after decoding")
			return false
		case !c.equal(object, valid) || !c.equal(valid, object):
			c.report("round trip: the decoded object is not equal")
			return false
		}
		*target = object
	}
	return true
}

// mustReject checks that the decoder refuses the bytes.
func (c *torture[T, PT]) mustReject(what string, data []byte) {
	if c.mayAccept(what, data) {
		c.report("%s: accepted", what)
	}
}

// mayAccept checks that the decoder refuses the bytes properly or accepts exactly them.
func (c *torture[T, PT]) mayAccept(what string, data []byte) (accepted bool) {
	if len(c.problems) >= mostProblems {
		return false
	}
	object, err := c.decode(new(T), data)
	if err == nil {
		if !c.encodes(object, data) {
			c.report("%s: accepted, but encodes to other bytes", what)
		}
		if c.accepted++; c.accepted%8 == 1 {
			if _, err := c.decode(c.used, data); err != nil || !c.encodes(c.used, data) {
				c.report("%s: accepted, but not so by an object that holds another", what)
			}
		}
		return true
	}
	if _, again := c.decode(c.receiver, data); again == nil {
		c.report("%s: rejected, but accepted by an object that holds another", what)
	}
	if !errors.Is(err, check.ErrFormat) {
		c.report("%s: the error does not wrap ErrFormat: %v", what, err)
	}
	if !c.encodes(c.receiver, c.data) || !c.equal(c.receiver, c.witness) {
		c.report("%s: rejected, but the receiver has changed", what)
		c.restore(what)
	}
	return false
}

// restore gives a new receiver.
func (c *torture[T, PT]) restore(what string) {
	object, err := c.decode(new(T), c.data)
	if err != nil {
		c.report("%s: after it the valid encoding is rejected: %v", what, err)
		return
	}
	c.receiver = object
}

// decode decodes into the receiver; a panic becomes an error that does not wrap ErrFormat.
func (c *torture[T, PT]) decode(receiver PT, data []byte) (object PT, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return receiver, receiver.UnmarshalBinary(data)
}

func (c *torture[T, PT]) encodes(object PT, want []byte) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	got, err := object.MarshalBinary()
	return err == nil && bytes.Equal(got, want)
}

// mostAllocated returns how many bytes the decoder may allocate.
func mostAllocated(data []byte) uint64 { return uint64(64<<10 + 32*len(data)) }

// allocatedBytes returns how many bytes the program has allocated, apart from small objects of the
// last few KiB of each size: those the runtime counts later. It costs a hundredth of
// runtime.ReadMemStats.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// allocates measures exactly the bytes that one decode allocates. Other goroutines allocate too, so
// only the least of several measurements is blamed on the decoder.
func (c *torture[T, PT]) allocates(what string, data []byte) {
	if len(c.problems) >= mostProblems {
		return
	}
	var used uint64
	for range 5 {
		var before, after runtime.MemStats
		receiver := new(T)
		runtime.ReadMemStats(&before)
		_, _ = c.decode(receiver, data)
		runtime.ReadMemStats(&after)
		if used = after.TotalAlloc - before.TotalAlloc; used <= mostAllocated(data) {
			return
		}
	}
	c.report("%s: decoding allocates %d bytes, more than %d", what, used, mostAllocated(data))
}
