package approx_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A count of which only public bounds are known, by a sampler that takes as large a sample as a
// guess of the count asks for.
func ExampleSearch() {
	p := approx.Params{Epsilon: 1, Max: 1e8, Protects: budget.Row(budget.AddRemove), Advice: approx.Advice{Min: 1e5, Failure: 1e-9}}
	result, err := approx.Search(p, func(advice, accuracy float64) float64 {
		return 700_000 // the sampler may be off by accuracy·advice
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Guarantee())
	fmt.Println(700_000 < 3*result.Advice(), 700_000 > result.Advice()/2)
	lo, hi := result.Interval(0.999)
	fmt.Println("in its interval:", lo < result.Estimate() && result.Estimate() < hi)
	// Output:
	// ε = 1 for one row, added or removed
	// true true
	// in its interval: true
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

// The median of five runs has moments where one run has a variance, so less noise is enough.
func ExampleMedian() {
	// a run is off by more than is wanted in a fifth of cases
	runs, err := approx.MedianRuns(0.2, 0.01)
	if err != nil {
		panic(err)
	}
	fmt.Println(runs, "runs fail in a hundredth of cases")
	moment, most, err := approx.MedianMoment(2, 250, 5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("five runs of standard error 250: a moment of order %v of at most %.0f\n", moment, most)
	p := approx.Params{Epsilon: 1, Moment: moment, Error: most}
	m, err := approx.New(p)
	if err != nil {
		panic(err)
	}
	run := 0
	// private: 12,100 to 12,500
	v, err := m.Release(approx.Median(5, func() float64 { run++; return 12_000 + 100*float64(run) }))
	if err != nil {
		panic(err)
	}
	lo, hi := v.Interval(0.999_999)
	fmt.Println(lo < 12_300 && 12_300 < hi, lo < v.Estimate() && v.Estimate() < hi)
	plan, err := p.Plan()
	fmt.Printf("noise of scale %.0f %v\n", plan.Scale, err)
	// Output:
	// 13 runs fail in a hundredth of cases
	// five runs of standard error 250: a moment of order 6 of at most 367
	// true true
	// noise of scale 2195 <nil>
}
