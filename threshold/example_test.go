package threshold_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/threshold"
)

// A histogram over all strings: of counts of which the caller knows that nobody changes more than
// one, by one.
func Example() {
	b, err := threshold.New[string](threshold.Params{Epsilon: 1, Delta: 1e-6, Integers: true})
	if err != nil {
		panic(err)
	}
	b.Add("tea", 12_000) // private data
	b.Add("water", 7_000)
	b.Add("a rare secret", 1)
	v, err := b.Release()
	if err != nil {
		panic(err)
	}
	for key, estimate := range v.Top(10) {
		fmt.Println(key, estimate > 6900)
	}
	fmt.Println(v.Len(), "keys; a rare one has", v.Estimate("a rare secret"), "as it is not shown:", !v.Has("a rare secret"))
	fmt.Println(v.Guarantee())
	// Output:
	// tea true
	// water true
	// 2 keys; a rare one has 0 as it is not shown: true
	// ε = 1, δ = 1e-6 for vectors at ℓ₁ distance 1
}

// The choice for users that have up to ten keys each, and what the others would need.
func ExampleParams_Plan() {
	plan, err := threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 10, Stored: 20}.Plan()
	if err != nil {
		panic(err)
	}
	for _, c := range plan.Candidates[:4] {
		fmt.Printf("%v %.1f\n", c.Method, c.Threshold)
	}
	// Output:
	// CorrelatedGaussian 59.9
	// Gaussian 70.5
	// ExponentialRounding 136.7
	// LinearRounding 141.2
}

// A user buys at most three products, once each. The caller must guarantee this. Interval is for
// one key, ErrorBound for all of them at once, at most 10,000 here.
func ExampleNewBounded() {
	b, err := threshold.NewBounded[string](threshold.Params{Epsilon: 1, Delta: 1e-9, MaxKeys: 3, Integers: true})
	if err != nil {
		panic(err)
	}
	for user := range 3000 {
		b.Add("bread", 1)
		b.Add(fmt.Sprint("cheese ", user%2), 1)
		b.Add(fmt.Sprint("a wish of ", user), 1)
	}
	v, err := b.Release()
	if err != nil {
		panic(err)
	}
	for product, bought := range v.All() {
		lo, hi := v.Interval(product, 0.99)
		fmt.Println(product, math.Round(bought/500)*500, hi-lo < 2*v.ErrorBound(10_000, 0.99))
	}
	// Output:
	// bread 3000 true
	// cheese 0 1500 true
	// cheese 1 1500 true
}

// The keys are public, so all of them are released, without a threshold and without δ.
func ExampleNewListed() {
	b, err := threshold.NewListed(threshold.Params{Epsilon: 1}, "north", "south", "west")
	if err != nil {
		panic(err)
	}
	b.Add("north", 500)
	b.Add("south", 1000)
	b.Add("moon", 7) // not listed: ignored
	v, err := b.Release()
	if err != nil {
		panic(err)
	}
	for region, total := range v.All() {
		fmt.Println(region, math.Abs(math.Round(total/100)*100))
	}
	fmt.Println(v.Guarantee())
	// Output:
	// north 500
	// south 1000
	// west 0
	// ε = 1 for vectors at ℓ₁ distance 1
}
