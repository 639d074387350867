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
	fmt.Println(mine.Hash(key) == theirs.Hash(key), mine.N(), seed.Derive(1) == seed.Derive(2))
	again, err := hashing.ParseSeed(seed.String())
	fmt.Println(again == seed, again.IsZero(), err)
	// Output:
	// true 1000 false
	// true false <nil>
}

// A 4-wise independent function gives AMS signs, and places in a table: all at once for keys in a
// row.
func ExampleNewPolynomial() {
	h, err := hashing.NewPolynomial(hashing.Seed{1}, 4)
	if err != nil {
		panic(err)
	}
	values, sum := make([]uint64, 1000), 0
	h.Fill(values, 0)
	for key, value := range values {
		sum += h.Sign(uint64(key))
		if value != h.Hash(uint64(key)) || h.Into(uint64(key), 10) >= 10 {
			panic("never")
		}
	}
	fmt.Println("signs are balanced:", -150 < sum && sum < 150)
	// Output: signs are balanced: true
}
