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

// A batch reads the table for many indices at once.
func ExampleProjection_Estimates() {
	builder, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: 1000, Integers: true})
	if err != nil {
		log.Fatal(err)
	}
	builder.Add(42, 100_000)
	released, err := builder.Release()
	if err != nil {
		log.Fatal(err)
	}
	estimates := released.Estimates([]uint64{42, 43}, nil)
	fmt.Println(len(estimates), math.Abs(estimates[0]-100_000) < 50)
	// Output:
	// 2 true
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

// Many entries at once are more exact than one by one, and both have intervals. Where most of the
// entries that are asked for are 0 the prior says so.
func ExampleProjection_EstimateAll() {
	b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: 2000})
	if err != nil {
		panic(err)
	}
	indices := make([]uint64, 2000)
	for i := range indices {
		indices[i] = uint64(i) * 7919
		b.Add(indices[i], 30)
	}
	p, err := b.Release()
	if err != nil {
		panic(err)
	}
	off, held := 0.0, 0
	for i, x := range p.EstimateAll(indices, nil) {
		off += math.Abs(x-30) / 2000
		if lo, hi := p.Interval(indices[i], 0.95); lo <= 30 && 30 <= hi {
			held++
		}
	}
	fmt.Println("mean error below 3:", off < 3, "and intervals hold:", held > 1850)
	sure, err := p.WithPrior(alp.Prior{Zero: 0.999})
	if err != nil {
		panic(err)
	}
	fmt.Println("of nothing:", sure.Estimate(1) == 0, p.Prior() != sure.Prior())
	// Output:
	// mean error below 3: true and intervals hold: true
	// of nothing: true true
}

// A total of thousands of entries, with its standard error: sums of estimates would be too small.
func ExampleProjection_Total() {
	b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: 2000})
	if err != nil {
		panic(err)
	}
	indices := make([]uint64, 2000)
	for i := range indices {
		indices[i] = uint64(i) * 7919
		b.Add(indices[i], float64(i%40))
	}
	p, err := b.Release()
	if err != nil {
		panic(err)
	}
	total, stdErr := p.Total(indices) // of 39,000
	fmt.Println(math.Abs(total-39_000) < 4*stdErr, stdErr < 2000)
	// Output: true true
}

// The paper's estimate of an entry in a unary code, and this package's.
func ExampleProjection_Argmax() {
	b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: 100, Variant: alp.Variant{Levels: 2}})
	if err != nil {
		panic(err)
	}
	b.Add(7, 40)
	p, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(math.Abs(p.Argmax(7)-40) < 30, math.Abs(p.Estimate(7)-40) < 30)
	// Output: true true
}
