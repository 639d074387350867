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
	for _, r := range plan.Rows {
		fmt.Printf("%s by %v: from %.0f, trusted %v\n", r.Constructor, r.Method, r.Hidden95, r.Trusted)
	}
	// Output:
	// NewSum by TrimmedSum: from 22, trusted true
	// Builder.Merge by SparseVector: from 538, trusted true
	// Combine by KeptZeros: from 191, trusted false
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
	fmt.Println(h.Len(), "words are shown; none is missing that counts", h.DetectionLimit(0.99) < 50)
	fmt.Println("the paper's estimate:", h.Lower("or") > 900)
	fmt.Println("shown:", h.Has("or"), h.Has("question"))
	// Output:
	// be
	// to
	// 4 words are shown; none is missing that counts true
	// the paper's estimate: true
	// shown: true false
}

// Counts with intervals, and what every one of them may be low by.
func ExampleHistogram_Top() {
	b, err := misragries.New[string](misragries.Params{Epsilon: 1, Delta: 1e-9, Counters: 512})
	if err != nil {
		panic(err)
	}
	for i := range 100_000 {
		b.Add([]string{"the", "and", "of", "the", fmt.Sprint("word ", i)}[i%5])
	}
	h, err := b.Release()
	if err != nil {
		panic(err)
	}
	for word, count := range h.Top(1) {
		lo, hi := h.Interval(word, 0.95)
		fmt.Printf("%s: %.0f000, within %v\n", word, h.Estimate(word)/1000, lo <= count && count <= hi && hi-lo < 500)
	}
	// Output:
	// the: 40000, within true
}
