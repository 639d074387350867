package arete_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/arete"
)

// Four parties, of whom one may be missing, release their sum. Only the sum of what they send is
// seen by anybody.
func ExampleMechanism_Share() {
	m, err := arete.New(arete.Params{Epsilon: 12})
	if err != nil {
		panic(err)
	}
	var total int64
	var share *arete.Share
	for _, x := range []float64{0.5, 1, 0.25} { // the fourth has dropped out
		if share, err = m.Share(4, 1); err != nil {
			panic(err)
		}
		total += share.Mask(x) // each party for itself; the addition is done under masks
	}
	v, err := share.Sum(total, 3)
	if err != nil {
		panic(err)
	}
	lo, hi := v.Interval(0.999)
	fmt.Println(v.Guarantee(), v.Estimate() > lo && v.Estimate() < hi)
	// Output: ε = 12 for one party, added or removed true
}

// The law that is chosen, and its error, before any data is seen.
func ExampleParams_Plan() {
	for _, epsilon := range []float64{1, 4, 8} {
		plan, err := arete.Params{Epsilon: epsilon}.Plan()
		if err != nil {
			panic(err)
		}
		fmt.Printf("ε = %v: %v, Laplace %.4f\n", epsilon, plan, 1/epsilon)
	}
	// Output:
	// ε = 1: DiscreteLaplace noise, mean absolute error 1, standard deviation 1.414, 110 bytes, Laplace 1.0000
	// ε = 4: Jump noise, mean absolute error 0.1668, standard deviation 0.3132, 110 bytes, Laplace 0.2500
	// ε = 8: Jump noise, mean absolute error 0.02107, standard deviation 0.08798, 110 bytes, Laplace 0.1250
}
