package hashing

import "math/bits"

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
