package hashing

import (
	"encoding/binary"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// affine is x ↦ (a·x + b) mod 2¹²⁸ on 64-bit x, with 128-bit a and b; a = aHi·2⁶⁴ + aLo. All pairwise
// independent families of the package are read off the upper 64 bits of its value.
//
// Theorem (Dietzfelbinger, STACS 1996). For a, b independent and uniform on [2¹²⁸] and x ≠ y, the
// upper 64 bits X of a·x + b and Y of a·y + b are independent and uniform on [2⁶⁴].
//
// Proof. Let y − x = 2ˢ·o, o odd, so 0 ≤ s ≤ 63. b is uniform and independent of a, so u = a·x + b is
// uniform and independent of a. a·(y−x) mod 2¹²⁸ = 2ˢ·(a·o) is uniform on the multiples of 2ˢ, because
// a ↦ a·o is a permutation. So, given u, v = a·y + b = u + a·(y−x) is uniform among the numbers
// that agree with u in the lowest s bits. As s < 64, these bits do not reach the upper half, and Y is
// uniform given u, hence given X. ∎
type affine struct{ aHi, aLo, bHi, bLo uint64 }

func newAffine(seed Seed, p purpose) affine {
	block := seed.expand(p, 0)
	return affine{
		aHi: binary.LittleEndian.Uint64(block[0:]),
		aLo: binary.LittleEndian.Uint64(block[8:]),
		bHi: binary.LittleEndian.Uint64(block[16:]),
		bLo: binary.LittleEndian.Uint64(block[24:]),
	}
}

// upper returns the upper 64 bits of (a·x + b) mod 2¹²⁸.
func (f affine) upper(x uint64) uint64 {
	hi, lo := bits.Mul64(f.aLo, x)
	_, carry := bits.Add64(lo, f.bLo, 0)
	return hi + f.aHi*x + f.bHi + carry
}

// MultiplyShift is a hash function from 64-bit keys to [0, 2ˡ): the upper l bits of (a·x + b) mod 2¹²⁸
// with random 128-bit a and b.
//
// It is pairwise independent (strongly universal): for keys x ≠ y and all values i, j,
// Pr[h(x) = i and h(y) = j] = 2⁻²ˡ exactly, so Pr[h(x) = h(y)] = 2⁻ˡ exactly, which is better than the
// 2/2ˡ of the multiply-shift scheme without b and with a 64-bit a. Any theorem that asks for a
// universal, 2-universal or pairwise independent function into a power of two may rest on it. It is not
// 3-wise independent.
//
// The proof stands with the affine map in the source: the upper 64 bits are pairwise independent and
// uniform, and l of these bits are as well.
//
// Functions from one seed into different powers of two are nested: h into 2ˡ is h into 2ˡ⁺¹ without
// its lowest bit. The zero value maps all keys to 0.
type MultiplyShift struct {
	f     affine
	shift uint8
}

// NewMultiplyShift returns the function into [0, 2^bits) that the seed selects. bits is 1 to 64, else
// the error wraps [ErrParams].
func NewMultiplyShift(seed Seed, bits int) (MultiplyShift, error) {
	if bits < 1 || bits > 64 {
		return MultiplyShift{}, fault.Params("hashing", "bits", bits, "an integer in [1, 64]")
	}
	return MultiplyShift{f: newAffine(seed, purposeMultiplyShift), shift: uint8(64 - bits)}, nil
}

// Hash returns the value of x in [0, 2^bits).
func (h MultiplyShift) Hash(x uint64) uint64 { return h.f.upper(x) >> (h.shift & 63) }

// Bits returns the number l of bits of a value.
func (h MultiplyShift) Bits() int { return 64 - int(h.shift) }
