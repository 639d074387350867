package misragries_test

import (
	"fmt"
	"log"
	"math"
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
	fmt.Println("threshold:", h.Threshold())
	// Output:
	// be true true
	// not true true
	// or true true
	// to true true
	// threshold: 25
}

func ExampleParams_Threshold() {
	for _, delta := range []float64{1e-6, 1e-9, 1e-12} {
		p := misragries.Params{Counters: 1024, Epsilon: 1, Delta: delta}
		paper := 1 + 2*math.Ceil(math.Log(6*math.E/((math.E+1)*delta))) // of its section 5.2
		fmt.Println(p.Threshold(), "instead of", paper)
	}
	// Output:
	// 17 instead of 33
	// 25 instead of 47
	// 32 instead of 61
}

// Ten servers: what to do with their sketches.
func ExampleParams_Plan() {
	plan, err := misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}.Plan(10)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	// Output:
	// 10 sketches of 1024 counters, ε = 1, δ = 1e-6 for one element, added or removed:
	// sum reduced sketches: shows keys from a count of about 15.45 + N/1025 (from 18.08 + N/1025 with 95 %), noise 1.62, at most 10240 keys on a server
	// merge sketches: shows keys from a count of about 422.5 (from 538.1 with 95 %), noise 71.3, at most 2048 keys on a server
	// release each, then add: shows keys from a count of about 161 (from 191 with 95 %), noise 4.29, at most 1024 keys on a server
}
