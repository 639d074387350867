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
