package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Key has the type set of hashing.Key, which lies above this package.
type Key interface {
	~string | ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64
}

// KeyClass says how keys are encoded. The numbers are part of the format.
type KeyClass uint8

const (
	TextKey     KeyClass = 0 // 4 bytes of length, then the bytes
	SignedKey   KeyClass = 1 // 8 bytes, two's complement
	UnsignedKey KeyClass = 2 // 8 bytes
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
	case reflect.Int, reflect.Int32, reflect.Int64:
		c.class = SignedKey
	}
	return c
}

// Class returns how the keys are encoded.
func (c Keys[K]) Class() KeyClass { return c.class }

// MinSize returns the least number of bytes of an encoded key.
func (c Keys[K]) MinSize() int {
	if c.class == TextKey {
		return 4
	}
	return 8
}

// Append appends the encoding of the key to dst.
func (c Keys[K]) Append(dst []byte, key K) []byte {
	if c.class == TextKey {
		text := *(*string)(unsafe.Pointer(&key))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
		return append(dst, text...)
	}
	return binary.LittleEndian.AppendUint64(dst, c.Bits(key))
}

// Bits returns an integer key as 64 bits, in two's complement if it is signed. K must not be a
// string type.
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
	if c.class == TextKey {
		return fault.Params(pkg, "Dim", dim, "0 for keys that are strings: with Dim the keys are integers")
	}
	if key, ok := c.FromBits(dim - 1); !ok || c.class == SignedKey && dim > 1<<63 {
		return fault.Params(pkg, "Dim", dim, fmt.Sprintf("such that Dim − 1 is a key of type %T", key))
	}
	return nil
}

// Read reads a key. It fails if the key does not fit into the type K.
func (c Keys[K]) Read(r *Reader) (key K) {
	if c.class == TextKey {
		length := r.Uint32()
		*(*string)(unsafe.Pointer(&key)) = r.String(int(min(length, math.MaxInt32)))
		return key
	}
	key, ok := c.FromBits(r.Uint64())
	if !ok {
		r.Fail("a key too large for the key type")
	}
	return key
}
