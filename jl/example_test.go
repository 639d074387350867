package jl_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
)

// Two parties publish a sketch each; anyone estimates the distance of their vectors.
func Example() {
	// all parties agree on these
	p := jl.Params{Dim: 1 << 40, Rows: 400, Epsilon: 2, Seed: hashing.Seed{1, 2, 3}}
	release := func(values map[uint64]float64) *jl.Sketch {
		b, err := jl.New(p)
		if err != nil {
			panic(err)
		}
		for index, value := range values {
			b.Add(index, value)
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		return s
	}
	x := release(map[uint64]float64{7: 300, 1 << 35: 100})
	y := release(map[uint64]float64{7: 500, 99: -50})
	d, err := x.SquaredDistance(y)
	if err != nil {
		panic(err)
	}
	plan, err := p.Plan(52_500)
	if err != nil {
		panic(err)
	}
	fmt.Println("guarantee:", x.Guarantee())
	fmt.Println("within 8 standard errors:", math.Abs(d-(200*200+100*100+50*50)) < 8*plan.StdErr)
	// Output:
	// guarantee: ε = 2 for vectors at ℓ₁ distance 1
	// within 8 standard errors: true
}

// Before any data is seen: how many rows are best for the distances that are expected, and is it
// worth it?
func ExampleParams_Plan() {
	p := jl.Params{Dim: 10_000, Epsilon: 1, Seed: hashing.Seed{1}}
	for _, squared := range []float64{1000, 50} {
		plan, err := p.Plan(squared)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d rows, relative error %.2f, too small: %t\n", plan.Params.Rows, plan.RelativeError, plan.Warning() != "")
	}
	// Output:
	// 189 rows, relative error 0.19, too small: false
	// 9 rows, relative error 0.86, too small: true
}

// Parts of one vector in several hands that trust each other are merged before the noise is drawn:
// one release, one budget.
func ExampleBuilder_Merge() {
	a, err := jl.New(jl.Params{Dim: 1000, Rows: 64, Epsilon: 1, Seed: hashing.Seed{1}})
	if err != nil {
		panic(err)
	}
	b, err := a.Sibling()
	if err != nil {
		panic(err)
	}
	a.Add(3, 10)
	b.Add(3, 20)
	fmt.Println(a.Merge(b), b.Released())
	s, err := a.Release()
	fmt.Println(s.Guarantee(), s.Terms(), err)
	// Output:
	// <nil> true
	// ε = 1 for vectors at ℓ₁ distance 1 1 <nil>
}
