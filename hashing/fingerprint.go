package hashing

import (
	"math/bits"
	"reflect"

	"github.com/zeebo/xxh3"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// Key is what the sketches accept as a key: a string, an integer, an array of 16 bytes such as a
// UUID, or a type defined as one of these.
type Key interface {
	~string | ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~[16]byte
}

// Fingerprint returns 64 bits that depend on the whole key and the whole seed.
//
// An integer counts as the 64-bit integer of the same value, negative ones in two's complement:
// int(5), int32(5), int64(5) and uint64(5) have one fingerprint, on every platform. For a fixed
// seed the fingerprint is a permutation of the 64-bit integers, so two integers never collide.
//
// A string is hashed by its bytes. Two strings collide with a probability of about 2⁻⁶⁴ over the
// seed; this is what XXH3 is tested for, not a theorem. The string of an integer's eight bytes has
// another fingerprint than the integer, an array that of the string of its bytes.
//
// It is not a cryptographic hash: an adversary who knows the seed can find strings that collide. A
// type defined on a basic type costs a few nanoseconds more than the basic type.
func Fingerprint[K Key](seed Seed, key K) uint64 {
	// With seed = s₀ ‖ s₁ (little-endian words), A = the avalanche permutation of XXH64 and c a
	// constant, both halves of the seed decide every fingerprint, and which strings collide:
	//
	//	integer x:  A(XXH3₆₄(x in 8 bytes; s₀) ⊕ s₁)
	//	string w:   lo ⊕ A(hi ⊕ s₁ ⊕ c),  hi ‖ lo = XXH3₁₂₈(w; s₀)
	s0, s1 := seed.halves()
	switch k := any(key).(type) {
	case string:
		return fingerprintString(s0, s1, k)
	case uint64:
		return fingerprintInt(s0, s1, k)
	case [16]byte:
		return fingerprintString(s0, s1, string(k[:]))
	case int64:
		return fingerprintInt(s0, s1, uint64(k))
	case int:
		return fingerprintInt(s0, s1, uint64(k))
	}
	keys, array := wire.KeysOf[K](), [16]byte{}
	switch {
	case keys.Integers():
		return fingerprintInt(s0, s1, keys.Bits(key))
	case keys.Class() == wire.ArrayKey:
		return fingerprintString(s0, s1, string(keys.Append(array[:0], key)))
	}
	return fingerprintString(s0, s1, reflect.ValueOf(key).String()) // of a type defined on string
}

// stringTag separates strings from integers. Its value is ⌊2⁶⁴·(√5−1)/2⌋, which has no meaning
// here.
const stringTag = 0x9e3779b97f4a7c15

// fingerprintString has XXH3₁₂₈ of 9 to 16 bytes written out, the length of most identifiers, which
// is faster than the call (a test compares the two). The constants are those of XXH3_len_9to16_128b
// in xxhash.h.
func fingerprintString(s0, s1 uint64, key string) uint64 {
	n := uint64(len(key))
	if n < 9 || n > 16 {
		h := xxh3.HashString128Seed(key, s0)
		return h.Lo ^ avalanche(h.Hi^s1^stringTag)
	}
	const prime = 0xc2b2ae3d27d4eb4f // PRIME64_2
	last := eight(key[n-8:])
	hi, lo := bits.Mul64(eight(key)^last^(0x78e5c0cc4ee679cb^0x2172ffcc7dd05a82-s0), 0x9e3779b185ebca87)
	last ^= 0x8e2443f7744608b8 ^ 0x4c263a81e69035e0 + s0
	hi += last + uint64(uint32(last))*0x85ebca76
	high, low := bits.Mul64(lo+(n-1)<<54^bits.ReverseBytes64(hi), prime)
	return finish(low) ^ avalanche(finish(high+hi*prime)^s1^stringTag)
}

// eight returns the first eight bytes of a string, little-endian.
func eight(s string) uint64 {
	return uint64(s[7])<<56 | uint64(s[6])<<48 | uint64(s[5])<<40 | uint64(s[4])<<32 | uint64(s[3])<<24 | uint64(s[2])<<16 | uint64(s[1])<<8 | uint64(s[0])
}

// finish is XXH3_avalanche.
func finish(h uint64) uint64 {
	h ^= h >> 37
	h *= 0x165667919e3779f9
	return h ^ h>>32
}

func fingerprintInt(s0, s1, key uint64) uint64 {
	return avalanche(xxh3Word(s0, key) ^ s1)
}

// xxh3Word is XXH3₆₄ with a seed on the eight little-endian bytes of x, written out because this is
// several times as fast as the call (a test compares the two). The constants are those of
// XXH3_len_4to8_64b and XXH3_rrmxmx in xxhash.h.
//
// It is a permutation of the words x: swapping the halves and ⊕ a constant are; h ⊕ (h≪≫49) ⊕
// (h≪≫24) is, as 1 + z⁴⁹ + z²⁴ has no factor z + 1 in common with z⁶⁴ + 1 = (z + 1)⁶⁴ over GF(2);
// multiplying by an odd number is; h ⊕ ((h≫35) + 8) is, as it keeps the top 34 bits and these
// determine the rest of what is added; h ⊕ (h≫28) is.
func xxh3Word(seed, x uint64) uint64 {
	const (
		secret = 0xc73ab174c5ecd5a2 // bytes 8 to 15 ⊕ bytes 16 to 23 of the default secret
		prime  = 0x9fb21c651e98df25 // PRIME_MX2
	)
	seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
	h := bits.RotateLeft64(x, 32) ^ (secret - seed)
	h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
	h *= prime
	h ^= h>>35 + 8
	h *= prime
	return h ^ h>>28
}

// avalanche is XXH64_avalanche: each bit of the argument changes about half of the bits of the
// result. It is a permutation of the 64-bit words, as x ⊕ (x≫j) and multiplying by an odd number
// are.
func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xc2b2ae3d27d4eb4f // PRIME64_2
	h ^= h >> 29
	h *= 0x165667b19e3779f9 // PRIME64_3
	return h ^ h>>32
}
