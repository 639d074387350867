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

// hash returns 64 bits of which the high ones choose the slot. An integer x goes to the two halves of
// the 128-bit product (x ⊕ a)·b, added without carry, as in the hash of Go's maps where there are no AES instructions.
//
// K's underlying type is string or an integer of 4 or 8 bytes, so the key can be read as that.
func (h *hasher[K]) hash(key K) uint64 {
	p := unsafe.Pointer(&key)
	if h.text {
		return maphash.String(h.seed, *(*string)(p))
	}
	var x uint64
	if unsafe.Sizeof(key) == 4 {
		x = uint64(*(*uint32)(p))
	} else {
		x = *(*uint64)(p)
	}
	hi, lo := bits.Mul64(x^h.a, h.b)
	return hi ^ lo
}
