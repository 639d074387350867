package hashing_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
)

// Two parties who agree on a Seed place every key alike; other labels give functions of their own.
func Example() {
	seed := hashing.Seed{1, 2, 3} // hashing.NewSeed() draws one
	mine, err := hashing.NewRange(seed, 1000)
	if err != nil {
		panic(err)
	}
	theirs, err := hashing.NewRange(seed, 1000)
	if err != nil {
		panic(err)
	}
	key := hashing.Fingerprint(seed, "a key of any type")
	fmt.Println(mine.Hash(key) == theirs.Hash(key), seed.Derive(1) == seed.Derive(2))
	// Output: true false
}
