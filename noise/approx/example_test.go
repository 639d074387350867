package approx_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A count of which only public bounds are known, by a sampler that takes as large a sample as a
// guess of the count asks for.
func ExampleAdviceSearch() {
	search, err := approx.NewAdviceSearch(approx.AdviceParams{Epsilon: 1, Min: 1e5, Max: 1e8, Failure: 1e-9, Protects: budget.Row(budget.AddRemove)})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := search.Release(func(advice, accuracy float64) float64 {
		return 700_000 // the sampler may be off by accuracy·advice
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Guarantee())
	fmt.Println(700_000 < 3*result.Advice(), 700_000 > result.Advice()/2)
	// Output:
	// ε = 1 for one row, added or removed
	// true true
}

// How accurate must an estimator be for a release within 1000 of the truth?
func ExampleParams_Fit() {
	p, err := approx.Params{Epsilon: 1, Moment: 3}.Fit(1000, 0.95)
	if err != nil {
		panic(err)
	}
	fmt.Printf("(E|A−g|³)^⅓ of at most %.0f\n", p.Error)
	// Output:
	// (E|A−g|³)^⅓ of at most 67
}
