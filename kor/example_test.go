package kor_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
)

// Two parties that agree on Params publish sketches; anyone compares the sets.
func Example() {
	// ε = 2, 5 % for the symmetric difference of up to a million keys
	p, err := kor.Params{Epsilon: 2, CountShare: 0.05}.Fit(0.05, 1e6, 2)
	if err != nil {
		panic(err)
	}
	// public, agreed on before anybody looks at data: hashing.NewSeed()
	p.Seed = hashing.Seed{1, 2, 3}
	sketch := func(from, to uint64) []byte {
		b, err := kor.New(p)
		if err != nil {
			panic(err)
		}
		for key := from; key < to; key++ {
			b.Add(key) // private data
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		data, err := s.MarshalBinary()
		if err != nil {
			panic(err)
		}
		return data
	}
	var a, b kor.Sketch
	if a.UnmarshalBinary(sketch(0, 60_000)) != nil || b.UnmarshalBinary(sketch(10_000, 70_000)) != nil {
		panic("not a sketch")
	}
	difference, err := a.SymmetricDifference(&b)
	if err != nil {
		panic(err)
	}
	compared, err := kor.Compare(&a, &b)
	if err != nil {
		panic(err)
	}
	d, i := difference.Estimate(), compared.Intersection().Estimate()
	fmt.Println("20000 are in one of the sets:", d > 13_000 && d < 27_000)
	fmt.Println("50000 are in both:", i > 46_500 && i < 53_500)
	fmt.Println(a.Guarantee())
	// Output:
	// 20000 are in one of the sets: true
	// 50000 are in both: true
	// ε = 2 for one key with all its occurrences, added or removed
}

// How many cells and levels an error takes, and what error they give.
func ExampleParams_Fit() {
	p, err := kor.Params{Epsilon: 1}.Fit(0.02, 1e9, 1)
	if err != nil {
		panic(err)
	}
	plan, err := p.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	fmt.Printf("%.4f for a symmetric difference of 10⁷ keys\n", plan.StdErr(1e7, 2)/1e7)
	// Output:
	// 18 levels of 30656 cells, 69071 bytes a release: error 2 %, up to 1e+09 keys
	// 0.0443 for a symmetric difference of 10⁷ keys
}

// The distinct keys of a stream in which keys repeat.
func ExampleNewStreamBuilder() {
	b, err := kor.NewStreamBuilder(kor.Params{Epsilon: 4, Cells: 4096, Levels: 20, Seed: hashing.NewSeed()})
	if err != nil {
		panic(err)
	}
	for i := range uint64(1_000_000) {
		b.Add(i % 20_000)
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Estimate() > 17_000 && s.Estimate() < 23_000)
	// Output: true
}

// Keys of any type go in by their fingerprints; so a word that is toggled twice is gone.
func ExampleAddKey() {
	b, err := kor.New(kor.Params{Epsilon: 8, Seed: hashing.Seed{1, 2, 3}})
	if err != nil {
		panic(err)
	}
	kor.AddKey(b, "one", "two", "three", "two")
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Interval(1 - 1e-9)
	fmt.Println("2 is in the interval:", lo <= 2 && 2 <= hi)
	// Output:
	// 2 is in the interval: true
}
