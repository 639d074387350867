package hashing

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Range is a hash function from 64-bit keys into [0, n) for any n from 1 to 2⁶⁴−1: ⌊U(x)·n/2⁶⁴⌋ of
// a pairwise independent uniform 64-bit U.
//
// The values of two distinct keys are independent. Each value i has a probability within 2⁻⁶⁴ of
// 1/n, and Pr[h(x) = h(y)] ≤ 1/n + n/2¹³⁰; for n ≤ 2³² the second term is below 2⁻⁹⁸. If n is a
// power of two, both are exact. As n/2¹³⁰ ≤ 1/n for all n here, the collision probability is always
// at most 2/n, so any theorem that asks for a 2-universal function into [n) may rest on it, and one
// that asks for pairwise independence gets it with the stated deviation from uniform.
//
// Proof. Let q = 2⁶⁴/n and f its fractional part. Exactly ⌊q⌋ or ⌈q⌉ of the 2⁶⁴ words are mapped to
// i; the counts sum to 2⁶⁴, so n·f cells have ⌈q⌉ and n·(1−f) have ⌊q⌋. Hence pᵢ − 1/n is (1−f)/2⁶⁴
// or −f/2⁶⁴, and by independence Pr[collision] = Σ pᵢ² = 1/n + Σ (pᵢ−1/n)² = 1/n + n·f·(1−f)/2¹²⁸ ≤
// 1/n + n/2¹³⁰. ∎
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
