package hashing

import (
	"encoding/binary"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Range is a hash function from 64-bit keys into [0, n) for any n from 1 to 2⁶⁴−1: ⌊U(x)·n/2⁶⁴⌋ of
// a pairwise independent uniform 64-bit U.
//
// The values of two distinct keys are independent. Each value i has a probability within 2⁻⁶⁴ of
// 1/n, and Pr[h(x) = h(y)] ≤ 1/n + n/2¹³⁰ ≤ 2/n (hashing_proof.md). If n is a power of two, both
// are exact.
//
// The zero value maps all keys to 0.
type Range struct {
	f affine
	n uint64
}

// NewRange returns the function into [0, n) that the seed selects. The error wraps [ErrParams] if n
// is 0.
func NewRange(seed Seed, n uint64) (Range, error) {
	if n == 0 {
		return Range{}, check.ParamsError("hashing", "n", n, "an integer in [1, 2⁶⁴−1]")
	}
	return Range{f: newAffine(seed, purposeRange), n: n}, nil
}

// Hash returns the value of x in [0, n).
func (h Range) Hash(x uint64) uint64 {
	hi, _ := bits.Mul64(h.f.upper(x), h.n)
	return hi
}

// N returns n.
func (h Range) N() uint64 { return h.n }

// affine is x ↦ (a·x + b) mod 2¹²⁸ on 64-bit x, with 128-bit a and b; a = aHi·2⁶⁴ + aLo. [Range] is
// read off the upper 64 bits of its value.
//
// Theorem (Dietzfelbinger, STACS 1996). For a, b independent and uniform on [2¹²⁸] and x ≠ y, the
// upper 64 bits X of a·x + b and Y of a·y + b are independent and uniform on [2⁶⁴].
//
// Proof. Let y − x = 2ˢ·o, o odd, so 0 ≤ s ≤ 63. b is uniform and independent of a, so u = a·x + b
// is uniform and independent of a. a·(y−x) mod 2¹²⁸ = 2ˢ·(a·o) is uniform on the multiples of 2ˢ,
// because a ↦ a·o is a permutation. So, given u, v = a·y + b = u + a·(y−x) is uniform among the
// numbers that agree with u in the lowest s bits. As s < 64, these bits do not reach the upper
// half, and Y is uniform given u, hence given X. ∎
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
