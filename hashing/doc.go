// Package hashing holds the public randomness of the library: seeds that parties share, key
// fingerprints, and hash families with stated independence.
//
//	seed := hashing.NewSeed() // published, the same at every party
//	cells, err := hashing.NewRange(seed, 1000)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(cells.Hash(hashing.Fingerprint(seed, "a key of any type")))
//
// Nothing here is secret and nothing here protects privacy. A [Seed] is encoded with a release, and
// sketches that are merged or compared need the same one. Secret randomness is noise.Source's.
//
// # Which function for which theorem
//
//	type           values      independence over the draw of the seed
//	Fingerprint    64 bits     none proved; integers: a permutation
//	Range          [0, n)      pairwise, each value within 2⁻⁶⁴ of uniform
//	Polynomial     [0, 2⁶¹−1)  k-wise, k from 2 to 1024; see its own text
//
//	type           collision of two distinct keys
//	Fingerprint    integers: never; else heuristic, ≈ 2⁻⁶⁴
//	Range          ≤ 1/n + n/2¹³⁰ (≤ 2/n always)
//	Polynomial     exactly 1/(2⁶¹−1) for keys below 2⁶¹−1
//
// A proof that needs "universal" or "pairwise independent" may rest on Range; one that takes fourth
// moments (AMS signs) or k-th moments needs [Polynomial]. Of Fingerprint it may only use the
// permutation: that is for tables and for keys that are not integers.
//
// # What the statements assume
//
// They hold exactly for coefficients that are independent and uniform. Coefficients are expanded
// from the 128-bit seed by SHA-256, so a statement holds for a random seed up to the advantage of
// telling SHA-256 in counter mode from random bits. They also need keys that are fixed before the
// seed is drawn: an adversary who knows the seed can choose keys that collide.
//
// Families of different types built from one seed are independent of each other. Two values of one
// type built from one seed are the same function: use [Seed.Derive] to give each its own seed.
//
// All functions are deterministic, equal on every platform, free of allocation, and safe for
// concurrent use. They do not change within a version of an encoding.
package hashing
