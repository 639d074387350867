package hashing

import (
	"encoding/binary"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
)

// MaxIndependence is the greatest k of a [Polynomial].
const MaxIndependence = 1024

// Polynomial is a k-wise independent hash function: a random polynomial of degree below k over the
// field of p = 2⁶¹ − 1 elements. It costs k − 1 multiplications per key.
//
// On keys below p it is exactly k-wise independent: the values of any k distinct keys are
// independent and uniform on [0, p). For any k distinct 64-bit keys the values are
// within total variation distance k(k−1)/2p < k²/2⁶² of that, which a theorem that asks for k-wise
// independence adds to its failure probability; two keys collide with probability at most 2/p.
// hashing_proof.md has the proofs.
//
// The zero value maps all keys to 0.
type Polynomial struct {
	alpha uint64
	coef  []uint64 // cₖ₋₁ … c₀, each in [0, p); never changed
}

// NewPolynomial returns the k-wise independent function that the seed selects. The error wraps
// [ErrParams] unless k is in [2, MaxIndependence].
func NewPolynomial(seed Seed, k int) (Polynomial, error) {
	if k < 2 || k > MaxIndependence {
		return Polynomial{}, check.ParamsError("hashing", "k", k, "an integer in [2, 1024]")
	}
	s := fieldStream{seed: seed}
	h := Polynomial{alpha: s.next(), coef: make([]uint64, k)}
	for i := len(h.coef) - 1; i >= 0; i-- { // c₀ first: a greater k keeps the lower coefficients
		h.coef[i] = s.next()
	}
	return h, nil
}

// Hash returns the value of x in [0, 2⁶¹−1).
func (h Polynomial) Hash(x uint64) uint64 {
	quo, z := divMod(x)
	if quo != 0 {
		z = canonical(mulAdd(h.alpha, quo, z))
	}
	return h.at(z)
}

// Into returns ⌊Hash(x)·n/2⁶¹⌋, a value in [0, n), for n ≥ 1; it returns 0 for n = 0. It keeps the
// independence of Hash. For keys below p each value has a probability within 2/p of 1/n, and
// Pr[Into(x, n) = Into(y, n)] ≤ 1/n + 4n/p² for x ≠ y; for other keys the distance stated above is
// added.
func (h Polynomial) Into(x, n uint64) uint64 {
	hi, _ := bits.Mul64(h.Hash(x)<<3, n)
	return hi
}

// Sign returns +1 or −1 by the lowest bit of Hash(x). The signs of k distinct keys below p are
// independent, each of expectation 1/p ≈ 4.3·10⁻¹⁹, as (p+1)/2 values give +1.
func (h Polynomial) Sign(x uint64) int { return 1 - 2*int(h.Hash(x)&1) }

// fieldStream yields independent uniform elements of the field: 61 bits of each word of the seed's
// stream, and the next word in the one case of 2⁶¹ where they are p.
type fieldStream struct {
	seed    Seed
	block   [32]byte
	counter uint64
	left    int // bytes of block not used yet
}

func (s *fieldStream) next() uint64 {
	for {
		if s.left == 0 {
			s.block, s.left = s.seed.expand(purposePolynomial, s.counter), len(s.block)
			s.counter++
		}
		word := binary.LittleEndian.Uint64(s.block[len(s.block)-s.left:]) & mersenne
		s.left -= 8
		if word != mersenne {
			return word
		}
	}
}

// mersenne is the prime p = 2⁶¹ − 1. As 2⁶¹ ≡ 1 mod p, a number is reduced by adding its parts
// above and below bit 61.
const mersenne = 1<<61 - 1

// mulAdd returns a number congruent to a·z + c mod p, for a < 2⁶², z < 2⁶¹ and c < 2⁶¹. The result
// is below 2⁶², so it can be a again; canonical finishes the reduction.
//
// The product is below 2¹²³, its part above bit 61 below 2⁶² and its part below less than 2⁶¹; with
// c the sum is below 2⁶³ and folds once more to at most (2⁶¹−1) + 3 < 2⁶².
func mulAdd(a, z, c uint64) uint64 {
	hi, lo := bits.Mul64(a, z)
	s := lo&mersenne + (hi<<3 | lo>>61) + c
	return s&mersenne + s>>61
}

// canonical returns the residue of a in [0, p), for a < 2·p.
func canonical(a uint64) uint64 {
	if a >= mersenne {
		a -= mersenne
	}
	return a
}

// divMod returns x = quo·p + rem with rem in [0, p) and quo in [0, 8].
//
// x = h·2⁶¹ + l = h·p + (h + l) with h ≤ 7, l ≤ p, so h + l exceeds p by at most 7.
func divMod(x uint64) (quo, rem uint64) {
	quo = x >> 61
	rem = quo + x&mersenne
	if rem >= mersenne {
		rem -= mersenne
		quo++
	}
	return quo, rem
}
