package threshold_test

import (
	"fmt"

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
	fmt.Println(v.Estimate("a rare secret"))
	fmt.Println(v.Guarantee())
	// Output:
	// tea true
	// water true
	// 0
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
