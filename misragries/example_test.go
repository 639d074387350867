package misragries_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/dpsketch/dpsketch/misragries"
)

func Example() {
	b, err := misragries.New[string](misragries.Params{Counters: 64, Epsilon: 1, Delta: 1e-9})
	if err != nil {
		log.Fatal(err)
	}
	text := strings.Repeat("to be or not to be ", 500) + "that is the question"
	for _, word := range strings.Fields(text) {
		b.Add(word)
	}
	h, err := b.Release() // the only way out, once
	if err != nil {
		log.Fatal(err)
	}
	for word, count := range h.All() {
		lo, hi := h.Interval(word, 0.99)
		fmt.Println(word, count > 450, lo <= count && count <= hi)
	}
	// Output:
	// be true true
	// not true true
	// or true true
	// to true true
}

// Ten servers: what a key needs to be shown, by each way to release their sketches.
func ExampleParams_Plan() {
	plan, err := misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}.Plan(10)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	// Output:
	// 10 servers, 1024 counters each, ε = 1, δ = 1e-6 for one element, added or removed:
	// NewSum by TrimmedSum: shows keys with 95 % from a count of about 22.24 + at most n/1024 (threshold 16.63), noise 1.76, needs a server that sees the sketches
	// Builder.Merge by SparseVector: shows keys with 95 % from a count of about 538.1 + at most n/1025 (threshold 422.5), noise 71.3, needs a server that sees the sketches
	// Combine by KeptZeros: shows keys with 95 % from a count of about 191 + at most n/1025 (threshold 161), noise 4.29
}

// Which keys are surely frequent, and from which count on none is missing.
func ExampleHistogram_HeavyHitters() {
	b, err := misragries.New[string](misragries.Params{Counters: 64, Epsilon: 1, Delta: 1e-9})
	if err != nil {
		log.Fatal(err)
	}
	for range 1000 {
		b.AddSlice(strings.Fields("to be or not to be"))
	}
	h, err := b.Release()
	if err != nil {
		log.Fatal(err)
	}
	for word := range h.HeavyHitters(1500, 0.99) {
		fmt.Println(word)
	}
	fmt.Println("none is missing that counts", h.DetectionLimit(0.99) < 50)
	fmt.Println("the paper's estimate:", h.Lower("or") > 900)
	// Output:
	// be
	// to
	// none is missing that counts true
	// the paper's estimate: true
}
