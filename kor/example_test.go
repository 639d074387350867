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
	sketch := func(from, to uint64) *kor.Sketch {
		b, err := kor.New(p)
		if err != nil {
			panic(err)
		}
		for key := from; key < to; key++ {
			b.Toggle(key) // private data
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		return s
	}
	a, b := sketch(0, 60_000), sketch(10_000, 70_000)
	difference, err := a.SymmetricDifference(b)
	if err != nil {
		panic(err)
	}
	compared, err := kor.Compare(a, b)
	if err != nil {
		panic(err)
	}
	d, i := difference.Estimate(), compared.Intersection().Estimate()
	fmt.Println("20000 are in one of the sets:", d > 13_000 && d < 27_000)
	fmt.Println("50000 are in both:", i > 46_500 && i < 53_500)
	fmt.Println("60000 in one, more exactly by its count:", a.Total().StdErr() < a.StdErr())
	fmt.Println(a.Guarantee())
	// Output:
	// 20000 are in one of the sets: true
	// 50000 are in both: true
	// 60000 in one, more exactly by its count: true
	// ε = 2 for one key with all its occurrences, added or removed
}

// A party publishes its sketch as bytes.
func ExampleSketch_MarshalBinary() {
	b, err := kor.New(kor.Params{Epsilon: 2, Cells: 256, Levels: 12, Seed: hashing.Seed{1, 2, 3}})
	if err != nil {
		panic(err)
	}
	b.Toggle(7)
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		panic(err)
	}
	var theirs kor.Sketch
	fmt.Println(theirs.UnmarshalBinary(data), theirs.Estimate() == s.Estimate())
	// Output:
	// <nil> true
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

// The distinct keys of two streams in which keys repeat, of both together, and in common.
func ExampleNewStreamBuilder() {
	p, err := kor.Params{Epsilon: 4}.FitStream(0.05, 1e6, 2)
	if err != nil {
		panic(err)
	}
	p.Seed = hashing.Seed{1, 2, 3} // public: hashing.NewSeed()
	release := func(from uint64) *kor.StreamSketch {
		b, err := kor.NewStreamBuilder(p)
		if err != nil {
			panic(err)
		}
		for i := range uint64(200_000) {
			b.Add(from + i%20_000)
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		return s
	}
	x, y := release(0), release(10_000)
	both, err := x.Union(y)
	if err != nil {
		panic(err)
	}
	lo, hi := both.Interval(1 - 1e-9)
	fmt.Println("30000 in", both.Releases(), "streams:", lo <= 30_000 && 30_000 <= hi, both.StdErr() < 0.06*both.Estimate())
	fmt.Println(both.PartyGuarantee())
	compared, err := kor.CompareStreams(x, y)
	if err != nil {
		panic(err)
	}
	lo, hi = compared.Intersection().Interval(1 - 1e-9)
	fmt.Println("10000 in common:", lo <= 10_000 && 10_000 <= hi)
	// Output:
	// 30000 in 2 streams: true true
	// ε = 4 for one key with all its occurrences, added or removed
	// 10000 in common: true
}

// Keys of any type, of a set: a word that is toggled twice is gone.
func ExampleToggleKey() {
	b, err := kor.New(kor.Params{Epsilon: 8, Seed: hashing.Seed{1, 2, 3}})
	if err != nil {
		panic(err)
	}
	kor.ToggleKey(b, "one", "two", "three", "two")
	b.ToggleSlice([]uint64{1, 2, 3})
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Interval(1 - 1e-9)
	fmt.Println("5 is in the interval:", lo <= 5 && 5 <= hi)
	// Output:
	// 5 is in the interval: true
}

// Keys of any type, of a stream: it does not matter how often a word comes.
func ExampleAddKey() {
	b, err := kor.NewStreamBuilder(kor.Params{Epsilon: 8, Seed: hashing.Seed{1, 2, 3}})
	if err != nil {
		panic(err)
	}
	kor.AddKey(b, "one", "two", "three", "two")
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Interval(1 - 1e-9)
	fmt.Println("3 is in the interval:", lo <= 3 && 3 <= hi)
	// Output:
	// 3 is in the interval: true
}

// Three parties who trust nobody make one sketch of all their keys: each publishes a share, and
// only all shares together are a sketch, with the noise of one.
func ExampleAggregate() {
	p := kor.Params{Epsilon: 4, Cells: 4096, Levels: 20, Seed: hashing.Seed{1, 2, 3}}
	var shares [][]byte
	for party := range uint64(3) {
		b, err := kor.New(p)
		if err != nil {
			panic(err)
		}
		for i := range uint64(5000) {
			b.Toggle(party*1_000_000 + i)
		}
		share, err := b.Share(3)
		if err != nil {
			panic(err)
		}
		shares = append(shares, share.Bytes())
	}
	s, err := kor.Aggregate(p, 3, shares...)
	if err != nil {
		panic(err)
	}
	fmt.Println("15,000 keys:", s.Estimate() > 12_000 && s.Estimate() < 18_000)
	fmt.Println(s.Guarantee())
	// Output:
	// 15,000 keys: true
	// ε = 4 for one key with all its occurrences, added or removed
}

// How the keys of three parties differ: a key counts that an odd number of them have. And of two
// streams, all parts.
func ExampleXOR() {
	p := kor.Params{Epsilon: 4, Cells: 4096, Levels: 20, Seed: hashing.Seed{1, 2, 3}}
	var sketches []*kor.Sketch
	for party := range uint64(3) {
		b, err := kor.New(p)
		if err != nil {
			panic(err)
		}
		for i := range uint64(10_000) {
			b.Toggle(i + 1000*party)
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		sketches = append(sketches, s)
	}
	odd, err := kor.XOR(sketches...) // [0, 1000) and [2000, 10000) and [11000, 12000)
	if err != nil {
		panic(err)
	}
	fmt.Println("of three sketches:", odd.Releases(), odd.Estimate() > 6000 && odd.Estimate() < 14_000)
	fmt.Println(odd.PartyGuarantee())
	c, err := kor.Compare(sketches[0], sketches[2])
	if err != nil {
		panic(err)
	}
	all, a, b := c.Union().Estimate(), c.OnlyA().Estimate(), c.OnlyB().Estimate()
	fmt.Println("of two:", all > 9000 && all < 15_000, a < 5000, b < 5000)
	// Output:
	// of three sketches: 3 true
	// ε = 4 for one key with all its occurrences, added or removed
	// of two: true true true
}
