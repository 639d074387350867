package hashing

import (
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
