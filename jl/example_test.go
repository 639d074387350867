package jl_test

import (
	"fmt"
	"math"
	"strings"

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

// Which texts are alike? The guarantee protects a word of each, and a word's index is its
// fingerprint.
func Example_texts() {
	p := jl.Params{Dim: math.MaxUint64, Rows: 400, Epsilon: 2, Seed: hashing.Seed{1, 2, 3}}
	sketch := func(text string) *jl.Sketch {
		b, err := jl.New(p)
		if err != nil {
			panic(err)
		}
		for word := range strings.FieldsSeq(strings.Repeat(text, 40)) {
			b.Add(hashing.Fingerprint(p.Seed, word), 1)
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		return s
	}
	rain := sketch("the rain in Spain stays mainly in the plain ")
	for _, text := range []string{"the rain in Spain falls mainly in the plain ", "quick brown foxes jump over lazy dogs "} {
		lo, hi, err := rain.SquaredDistanceInterval(sketch(text), 0.95)
		fmt.Printf("alike: %t, different: %t, %v\n", hi < 15_000, lo > 15_000, err)
	}
	p.Change = jl.L1(2 * 40 * 9) // any text of that length in place of another
	plan, err := p.Plan(3200)
	fmt.Println("the whole text protected, too noisy:", plan.Warning() != "", err)
	// Output:
	// alike: true, different: false, <nil>
	// alike: false, different: true, <nil>
	// the whole text protected, too noisy: true <nil>
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

// Three ways in which neighbours may differ; the release protects what they say.
func ExampleChange() {
	p := jl.Params{Dim: 1000, Rows: 64, Epsilon: 4, Seed: hashing.Seed{1}}
	for _, p.Change = range []jl.Change{jl.L1(3), jl.L2(0.5), jl.OneCoordinate(1)} {
		fmt.Println(p.Change, "–", p.Guarantee())
	}
	// Output:
	// L1(3) – ε = 4 for vectors at ℓ₁ distance 3
	// L2(0.5) – ε = 4 for vectors at ℓ₂ distance 0.5
	// OneCoordinate(1) – ε = 4 for one row, added or removed
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

// What else two sketches say: lengths, the inner product, the cosine, each with an interval, and a
// sum of vectors whose parts are with two parties.
func ExampleSketch_DotInterval() {
	p := jl.Params{Dim: 1000, Rows: 512, Epsilon: 8, Seed: hashing.Seed{1, 2, 3}}
	release := func(fill func(b *jl.Builder)) *jl.Sketch {
		b, err := jl.New(p)
		if err != nil {
			panic(err)
		}
		fill(b)
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		return s
	}
	// both have length 500
	x := release(func(b *jl.Builder) { b.AddSparse([]uint64{1, 2}, []float64{400, 300}) })
	y := release(func(b *jl.Builder) { b.AddSparse([]uint64{1, 2}, []float64{300, 400}) })
	const sure = 0.9999
	lo, hi := x.SquaredNormInterval(sure)
	fmt.Println("length:", lo < 500*500 && 500*500 < hi, math.Abs(x.SquaredNorm()/250_000-1) < 0.5)
	lo, hi, err := x.DotInterval(y, sure)
	fmt.Println("inner product:", lo < 240_000 && 240_000 < hi, err)
	dot, err := x.Dot(y)
	fmt.Println("its estimate:", lo < dot && dot < hi, err)
	lo, hi, err = x.SquaredDistanceInterval(y, sure)
	fmt.Println("distance:", lo < 20_000 && 20_000 < hi, err)
	cosine, err := x.Cosine(y)
	fmt.Println("cosine:", math.Abs(cosine-0.96) < 0.3, err)
	sum, err := x.Sum(y) // of (700, 700)
	if err != nil {
		panic(err)
	}
	fmt.Println("sum:", math.Abs(sum.SquaredNorm()/980_000-1) < 0.5)
	fmt.Println("row by row:", sum.Row(0) == x.Row(0)+y.Row(0))
	// Output:
	// length: true true
	// inner product: true <nil>
	// its estimate: true <nil>
	// distance: true <nil>
	// cosine: true <nil>
	// sum: true
	// row by row: true
}

// How many rows keep a squared length within a quarter, in all but one of a thousand cases.
func ExampleParams_Fit() {
	p, err := jl.Params{Dim: 1 << 20, Epsilon: 1, Seed: hashing.Seed{1}}.Fit(0.25, 0.001)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Rows, "rows,", p.Sparsity, "of them for each coordinate")
	// Output:
	// 896 rows, 128 of them for each coordinate
}
