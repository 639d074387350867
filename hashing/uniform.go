package hashing

import "math/bits"

// Uniform is a hash function from 64-bit keys to 64-bit words, for sampling by key: keep x if
// Hash(x) < t, or work with the geometric [Uniform.Level] of x.
//
// The words of two distinct keys are independent and each is exactly uniform, so a key is kept with
// probability exactly t/2⁶⁴ and two keys are kept independently: the variance of a sampled count or sum is
// that of independent sampling. A theorem that asks for pairwise independent subsampling may rest on
// it; one that needs a Chernoff bound over the keys needs a [Polynomial]. The proof is that of
// [MultiplyShift] with l = 64. The zero value maps all keys to 0.
type Uniform struct{ f affine }

// NewUniform returns the function that the seed selects.
func NewUniform(seed Seed) Uniform { return Uniform{newAffine(seed, purposeUniform)} }

// Hash returns the word of x.
func (h Uniform) Hash(x uint64) uint64 { return h.f.upper(x) }

// Level returns the number of leading zeros of Hash(x), 0 to 64: Pr[Level(x) ≥ j] = 2⁻ʲ exactly, and the
// levels of two distinct keys are independent.
func (h Uniform) Level(x uint64) int { return bits.LeadingZeros64(h.f.upper(x)) }

// Sign is a hash function from 64-bit keys to {−1, +1}.
//
// The signs of two distinct keys are independent and each is exactly unbiased: E[σ(x)] = 0 and
// E[σ(x)·σ(y)] = 0 for x ≠ y. This makes a product of two sketches unbiased. A bound on the variance of a
// squared norm (AMS, CountSketch's second moment) takes a 4-wise family: use [Polynomial.Sign]. The
// proof is that of [MultiplyShift] with l = 1. The zero value gives +1 for all keys.
type Sign struct{ f affine }

// NewSign returns the function that the seed selects.
func NewSign(seed Seed) Sign { return Sign{newAffine(seed, purposeSign)} }

// Hash returns −1 or +1.
func (h Sign) Hash(x uint64) int { return 1 - 2*int(h.f.upper(x)>>63) }
