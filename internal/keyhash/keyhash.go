// Package keyhash hashes keys for hash tables in memory.
package keyhash

import (
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// Hasher hashes the keys of one table. It is keyed by the operating system's randomness, so nobody
// can choose keys that collide, and two Hashers agree on nothing: what it returns must leave no
// trace in what is released.
type Hasher[K wire.Key] struct {
	text bool         // K is a string type
	seed maphash.Seed // for strings: the hash of Go's maps
	a, b uint64       // for integers and arrays
}

// New returns a Hasher under a new key.
func New[K wire.Key]() Hasher[K] {
	var key [16]byte
	rand.Read(key[:])
	return Hasher[K]{
		text: reflect.TypeFor[K]().Kind() == reflect.String,
		seed: maphash.MakeSeed(),
		a:    binary.LittleEndian.Uint64(key[:8]),
		b:    binary.LittleEndian.Uint64(key[8:]) | 1,
	}
}

// IsText reports whether K is a string type. Where strings are larger than integers the compiler
// knows.
func (h *Hasher[K]) IsText() bool {
	var key K
	return unsafe.Sizeof(key) == unsafe.Sizeof("") && h.text
}

// IsArray reports whether K is an array of 16 bytes.
func (h *Hasher[K]) IsArray() bool {
	var key K
	return unsafe.Sizeof(key) == 16 && !h.text
}

// Hash returns 64 bits, of which the high ones are the best.
func (h *Hasher[K]) Hash(key K) uint64 {
	switch {
	case h.IsText():
		return h.OfString(key)
	case h.IsArray():
		return h.OfArray(key)
	}
	return h.OfInteger(key)
}

// OfString is Hash where K is a string type: the hash of Go's maps.
func (h *Hasher[K]) OfString(key K) uint64 {
	return maphash.String(h.seed, *(*string)(unsafe.Pointer(&key)))
}

// OfInteger is Hash where K is an integer type: the two halves of the 128-bit product (x ⊕ a)·b,
// added without carry, as in the hash of Go's maps where there are no AES instructions. It is
// small enough to be inlined, which OfArray would undo.
func (h *Hasher[K]) OfInteger(key K) uint64 {
	if unsafe.Sizeof(key) == 4 {
		return h.product(uint64(*(*uint32)(unsafe.Pointer(&key))))
	}
	return h.product(*(*uint64)(unsafe.Pointer(&key)))
}

// OfArray is Hash where K is an array of 16 bytes: x is the hash of their halves, under the same
// key turned.
func (h *Hasher[K]) OfArray(key K) uint64 {
	array := (*[16]byte)(unsafe.Pointer(&key)) // which need not be aligned
	first, second := binary.NativeEndian.Uint64(array[:8]), binary.NativeEndian.Uint64(array[8:])
	hi, lo := bits.Mul64(first^h.b, second^bits.RotateLeft64(h.a, 32))
	return h.product(hi ^ lo ^ second)
}

// product is the hash of 64 bits.
func (h *Hasher[K]) product(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.a, h.b)
	return hi ^ lo
}

// Reduce maps a hash to [0, n), evenly, through its high bits; to 0 if n = 0.
func Reduce(h uint64, n int) uint64 {
	hi, _ := bits.Mul64(h, uint64(n))
	return hi
}
