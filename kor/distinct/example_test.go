package distinct_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

// Two servers see the visits of one site, and one number is published: how many visitors there were.
func Example() {
	p, err := distinct.Plan(1, 0.02, 1e9, 1) // ε = 1, 2 % up to 10⁹ visitors
	if err != nil {
		panic(err)
	}
	p.Seed = hashing.Seed{1, 2, 3} // public: hashing.NewSeed()
	server := func(from, to int) *distinct.Builder {
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		for visit := range 3 * (to - from) { // everybody comes three times
			distinct.AddKey(b, fmt.Sprintf("user %d", from+visit/3))
		}
		return b
	}
	all := server(0, 30_000)
	if err := all.Merge(server(20_000, 50_000)); err != nil {
		panic(err)
	}
	s, err := all.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Interval(1 - 1e-9)
	fmt.Println("between 43000 and 57000:", s.Estimate() > 43_000 && s.Estimate() < 57_000)
	fmt.Println("50000 is in the interval:", lo <= 50_000 && 50_000 <= hi)
	fmt.Println(s)
	// Output:
	// between 43000 and 57000: true
	// 50000 is in the interval: true
	// distinct.Sketch: a count of keys, no bits, 22 levels of 1216 cells, ε = 1 for one key with all its occurrences, added or removed
}
