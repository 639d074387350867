package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Key has the type set of hashing.Key, which lies above this package.
type Key interface {
	~string | ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~[16]byte
}

// KeyClass says how keys are encoded. The numbers are part of the format.
type KeyClass uint8

const (
	TextKey     KeyClass = 0 // 4 bytes of length, then the bytes
	SignedKey   KeyClass = 1 // 8 bytes, two's complement
	UnsignedKey KeyClass = 2 // 8 bytes
	ArrayKey    KeyClass = 3 // 16 bytes, such as a UUID
)

// Keys encodes and decodes keys of one type. An encoding can be read into any type of the same
// class that holds all its keys.
type Keys[K Key] struct {
	class  KeyClass
	narrow bool // 4 bytes in memory
}

// KeysOf returns the codec of the type K.
func KeysOf[K Key]() Keys[K] {
	c := Keys[K]{class: UnsignedKey, narrow: unsafe.Sizeof(*new(K)) == 4}
	switch reflect.TypeFor[K]().Kind() {
	case reflect.String:
		return Keys[K]{class: TextKey}
	case reflect.Array:
		return Keys[K]{class: ArrayKey}
	case reflect.Int, reflect.Int32, reflect.Int64:
		c.class = SignedKey
	}
	return c
}

// Class returns how the keys are encoded.
func (c Keys[K]) Class() KeyClass { return c.class }

// Integers reports whether the keys are integers.
func (c Keys[K]) Integers() bool { return c.class == SignedKey || c.class == UnsignedKey }

// MinSize returns the least number of bytes of an encoded key.
func (c Keys[K]) MinSize() int {
	switch c.class {
	case TextKey:
		return 4
	case ArrayKey:
		return 16
	}
	return 8
}

// Compare is [Keys.Compare] for a type of which no Keys are at hand.
func Compare[K Key](a, b K) int { return KeysOf[K]().Compare(a, b) }

// Compare returns −1, 0 or +1 as a is before, at or behind b: strings and arrays by their bytes,
// integers by their values.
func (c Keys[K]) Compare(a, b K) int {
	switch c.class {
	case TextKey:
		return strings.Compare(*(*string)(unsafe.Pointer(&a)), *(*string)(unsafe.Pointer(&b)))
	case ArrayKey:
		x, y := (*[16]byte)(unsafe.Pointer(&a)), (*[16]byte)(unsafe.Pointer(&b))
		return bytes.Compare(x[:], y[:])
	case SignedKey:
		return cmp.Compare(int64(c.Bits(a)), int64(c.Bits(b)))
	}
	return cmp.Compare(c.Bits(a), c.Bits(b))
}

// Word returns the eight bytes of a text or an array that begin at a byte, as a number in their
// order, with zeros behind the end; and whether there are more.
func (c Keys[K]) Word(key K, from int) (word uint64, more bool) {
	text := unsafe.Slice((*byte)(unsafe.Pointer(&key)), unsafe.Sizeof(key))
	if c.class == TextKey {
		s := *(*string)(unsafe.Pointer(&key))
		text = unsafe.Slice(unsafe.StringData(s), len(s))
	}
	if len(text) >= from+8 {
		return binary.BigEndian.Uint64(text[from:]), len(text) > from+8
	}
	var eight [8]byte
	copy(eight[:], text[min(from, len(text)):])
	return binary.BigEndian.Uint64(eight[:]), false
}

// Clone returns a copy of a key that shares no memory with it.
func Clone[K Key](key K) K {
	if KeysOf[K]().class != TextKey {
		return key
	}
	text := strings.Clone(*(*string)(unsafe.Pointer(&key)))
	return *(*K)(unsafe.Pointer(&text))
}

// Sort sorts keys as [Compare] orders them.
func Sort[K Key](keys []K) {
	switch c := KeysOf[K](); {
	case c.class == TextKey:
		slices.Sort(as[string](keys))
	case c.class == ArrayKey:
		slices.SortFunc(as[[16]byte](keys), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	case c.class == SignedKey && c.narrow:
		slices.Sort(as[int32](keys))
	case c.class == SignedKey:
		slices.Sort(as[int64](keys))
	case c.narrow:
		slices.Sort(as[uint32](keys))
	default:
		slices.Sort(as[uint64](keys))
	}
}

// as returns the keys as the basic type that lies under theirs.
func as[T any, K Key](keys []K) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys))
}

// Append appends the encoding of the key to dst.
func (c Keys[K]) Append(dst []byte, key K) []byte {
	switch c.class {
	case TextKey:
		text := *(*string)(unsafe.Pointer(&key))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
		return append(dst, text...)
	case ArrayKey:
		return append(dst, (*[16]byte)(unsafe.Pointer(&key))[:]...)
	}
	return binary.LittleEndian.AppendUint64(dst, c.Bits(key))
}

// Bits returns an integer key as 64 bits, in two's complement if it is signed. K must be an
// integer type.
func (c Keys[K]) Bits(key K) uint64 {
	switch {
	case !c.narrow:
		return *(*uint64)(unsafe.Pointer(&key))
	case c.class == SignedKey:
		return uint64(*(*int32)(unsafe.Pointer(&key)))
	}
	return uint64(*(*uint32)(unsafe.Pointer(&key)))
}

// FromBits is the inverse of [Keys.Bits]. It returns false if no key of type K has these bits.
func (c Keys[K]) FromBits(bits uint64) (key K, ok bool) {
	switch {
	case !c.narrow:
		*(*uint64)(unsafe.Pointer(&key)) = bits
	case c.class == SignedKey:
		if int64(bits) != int64(int32(bits)) {
			return key, false
		}
		*(*int32)(unsafe.Pointer(&key)) = int32(bits)
	default:
		if bits > math.MaxUint32 {
			return key, false
		}
		*(*uint32)(unsafe.Pointer(&key)) = uint32(bits)
	}
	return key, true
}

// CheckDim returns an error unless dim is 0 or the integers 0, …, dim−1 are keys of type K: a fault
// of the field Dim of pkg's Params.
func (c Keys[K]) CheckDim(pkg string, dim uint64) error {
	if dim == 0 {
		return nil
	}
	if !c.Integers() {
		return check.ParamsError(pkg, "Dim", dim, "0 for keys that are not integers: with Dim the keys are 0, …, Dim − 1")
	}
	if key, ok := c.FromBits(dim - 1); !ok || c.class == SignedKey && dim > 1<<63 {
		return check.ParamsError(pkg, "Dim", dim, fmt.Sprintf("such that Dim − 1 is a key of type %T", key))
	}
	return nil
}

// Read reads a key. It fails if the key does not fit into the type K.
func (c Keys[K]) Read(r *Reader) (key K) {
	switch c.class {
	case TextKey:
		length := r.Uint32()
		*(*string)(unsafe.Pointer(&key)) = r.text(int(min(length, math.MaxInt32)))
		return key
	case ArrayKey:
		array := (*[16]byte)(unsafe.Pointer(&key))
		binary.LittleEndian.PutUint64(array[:8], r.Uint64())
		binary.LittleEndian.PutUint64(array[8:], r.Uint64())
		return key
	}
	key, ok := c.FromBits(r.Uint64())
	if !ok {
		r.Fail("a key too large for the key type")
	}
	return key
}

// AllKeys yields n keys with their numbers, as at gives them.
func AllKeys[K any](n int, at func(i int) (K, float64)) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for i := range n {
			if !yield(at(i)) {
				return
			}
		}
	}
}

// TopKeys yields the n keys with the largest numbers of all, the largest first; equal ones, and
// those with NaN, which come last, stay in the order of all. If there are fewer than n, it yields
// all.
func TopKeys[K any](all iter.Seq2[K, float64], n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		type pair struct {
			key    K
			number float64
		}
		var sorted []pair
		for key, x := range all {
			sorted = append(sorted, pair{key, x})
		}
		slices.SortStableFunc(sorted, func(a, b pair) int { return cmp.Compare(b.number, a.number) })
		for _, p := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(p.key, p.number) {
				return
			}
		}
	}
}

// ReadKeys reads n entries of an encoding: keys in strictly ascending order, and behind each what
// entry reads. It stops at the first failure.
func ReadKeys[K Key](r *Reader, n int, entry func(i int, key K)) {
	keys := KeysOf[K]()
	var last K
	for i := 0; i < n && r.Err() == nil; i++ {
		key := keys.Read(r)
		if i > 0 && keys.Compare(last, key) >= 0 {
			r.Fail("keys not in ascending order")
		}
		entry(i, key)
		last = key
	}
}
