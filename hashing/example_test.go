package hashing_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
)

// Two parties that share a seed get the same fingerprints, whatever integer type and machine they use.
func ExampleFingerprint() {
	seed := hashing.Seed{1, 2, 3}
	fmt.Println(hashing.Fingerprint(seed, 5) == hashing.Fingerprint(seed, int64(5)))
	fmt.Println(hashing.Fingerprint(seed, 5) == hashing.Fingerprint(seed, "5"))
	fmt.Println(hashing.Fingerprint(seed, "moses") == hashing.Fingerprint(hashing.Seed{4}, "moses"))
	// Output:
	// true
	// false
	// false
}

// A CountSketch row: a place from a pairwise independent family and a sign from another, both from one seed.
func ExampleNewRange() {
	seed := hashing.Seed{1, 2, 3}.Derive(0) // row 0
	place, err := hashing.NewRange(seed, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	sign := hashing.NewSign(seed)
	row := make([]int, place.N())
	for key := range uint64(5) {
		row[place.Hash(key)] += sign.Hash(key) * 10
	}
	fmt.Println("estimate of key 3:", row[place.Hash(3)]*sign.Hash(3))
	// Output:
	// estimate of key 3: 10
}

// Counting distinct keys by sampling: keep a key if its level is at least 4, so with probability 1/16.
func ExampleUniform_Level() {
	h := hashing.NewUniform(hashing.Seed{1, 2, 3})
	kept := 0
	for key := range uint64(100_000) {
		if h.Level(key) >= 4 {
			kept++
		}
	}
	fmt.Println(kept*16 > 97_000 && kept*16 < 103_000) // standard deviation √(10⁵·15) ≈ 1225
	// Output:
	// true
}

// A family of independence 4 has signs good enough for the variance of a squared norm.
func ExampleNewPolynomial() {
	h, err := hashing.NewPolynomial(hashing.Seed{1, 2, 3}, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	sign := h.Sign(42)
	fmt.Println(sign*sign, h.Into(42, 10) < 10, h.Independence())
	_, err = hashing.NewPolynomial(hashing.Seed{}, 0)
	fmt.Println(err)
	// Output:
	// 1 true 4
	// hashing: k = 0: want an integer in [1, 1024]: parameter out of range
}
