package alp_test

import (
	"fmt"
	"log"
	"math"

	"github.com/dpsketch/dpsketch/alp"
)

// Counts of a few keys out of 2⁶⁴, released as one table; then any key may be asked for, those
// without a count, too.
func Example() {
	builder, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: 1000, Integers: true})
	if err != nil {
		log.Fatal(err)
	}
	builder.Add(42, 100_000) // a fingerprint of some URL, say
	builder.Add(43, 25)
	released, err := builder.Release()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(released.Guarantee())
	fmt.Println("42 is about 100000:", math.Abs(released.Estimate(42)-100_000) < 50)
	lo, hi := released.Interval(42, 0.95)
	fmt.Println("with an interval of less than 100:", hi-lo < 100)
	// Output:
	// ε = 1, δ = 1e-9 for vectors at ℓ₁ distance 1
	// 42 is about 100000: true
	// with an interval of less than 100: true
}

// What is chosen where only the guarantee and the number of entries are stated.
func ExampleParams_Plan() {
	plan, err := alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 1000}.Plan()
	if err != nil {
		log.Fatal(err)
	}
	p := plan.Params
	fmt.Printf("%v with %d columns, %d levels, %g bits an entry\n", p.Structure, p.Columns, p.Levels, p.Bits)
	// Output:
	// SplitAxis with 1 columns, 16 levels, 100 bits an entry
}
