package misragries

import (
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/dpsketch/dpsketch/hashing"
)

// hasher places keys in the index of one sketch. It is keyed by the operating system's randomness, once a
// sketch, so nobody can choose keys that collide, and it leaves no trace in what is released.
type hasher[K hashing.Key] struct {
	text bool         // K is a string type
	seed maphash.Seed // for strings: the hash of Go's maps
	a, b uint64       // for integers
}

func newHasher[K hashing.Key]() hasher[K] {
	var key [16]byte
	rand.Read(key[:])
	return hasher[K]{
		text: reflect.TypeFor[K]().Kind() == reflect.String,
		seed: maphash.MakeSeed(),
		a:    binary.LittleEndian.Uint64(key[:8]),
		b:    binary.LittleEndian.Uint64(key[8:]) | 1,
	}
}

// isText reports whether K is a string type. Where strings are larger than integers the compiler knows.
func (h *hasher[K]) isText() bool {
	var key K
	return unsafe.Sizeof(key) == unsafe.Sizeof("") && h.text
}

// hash returns 64 bits of which the high ones choose the slot.
func (h *hasher[K]) hash(key K) uint64 {
	if h.isText() {
		return h.ofString(key)
	}
	return h.ofInteger(key)
}

// ofString is the hash of Go's maps. K is a string type.
func (h *hasher[K]) ofString(key K) uint64 {
	return maphash.String(h.seed, *(*string)(unsafe.Pointer(&key)))
}

// ofInteger adds, without carry, the two halves of the 128-bit product (x ⊕ a)·b, as the hash of Go's
// maps does where there are no AES instructions. K is an integer type of 4 or 8 bytes.
func (h *hasher[K]) ofInteger(key K) uint64 {
	var x uint64
	if unsafe.Sizeof(key) == 4 {
		x = uint64(*(*uint32)(unsafe.Pointer(&key)))
	} else {
		x = *(*uint64)(unsafe.Pointer(&key))
	}
	hi, lo := bits.Mul64(x^h.a, h.b)
	return hi ^ lo
}
