package arete_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/arete"
)

// A number that one unit changes by at most 1, with noise of a public size.
func Example() {
	m, err := arete.New(arete.Params{Epsilon: 4, Sensitivity: 1})
	if err != nil {
		panic(err)
	}
	v, err := m.Release(17)
	if err != nil {
		panic(err)
	}
	lo, hi := v.Interval(0.999_999)
	fmt.Printf("%v: %v, within %.1f\n", v.Guarantee(), lo < 17 && 17 < hi, (hi-lo)/2)
	// Output:
	// ε = 4 for one row, added or removed: true, within 4.0
}

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
	present, needed := v.Parties()
	fmt.Printf("%d of 4 parties, %d were needed; noise of standard deviation %.2f\n", present, needed, v.StdDev())
	// Output:
	// ε = 12 for one party, added or removed true
	// 3 of 4 parties, 3 were needed; noise of standard deviation 0.03
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
	// ε = 1: DiscreteLaplace noise, mean absolute error 1, standard deviation 1.414, 118 bytes, Laplace 1.0000
	// ε = 4: Jump noise, mean absolute error 0.1668, standard deviation 0.3132, 118 bytes, Laplace 0.2500
	// ε = 8: Jump noise, mean absolute error 0.02107, standard deviation 0.08798, 118 bytes, Laplace 0.1250
}

// Arete noise for a real number, and all that is known of its law; Laplace noise of the same ε has
// a mean of 1/8.
func ExampleCalibrate() {
	law, err := arete.Calibrate(8, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("mean %v, E|Z| = %.3f, variance %.3f\n", law.Mean(), law.MeanAbs(), law.Variance())
	fmt.Printf("95 %% are below %.3f: %.2f and %.2f\n", law.Quantile(0.95), law.CDF(law.Quantile(0.95)), law.Survival(law.Quantile(0.95)))
	fmt.Printf("density %.3f and %.3f at 1, beyond 5 e^%.1f\n", law.Prob(1), math.Exp(law.LogProb(1)), law.LogSurvival(5))
	same, err := arete.NewArete(law.Parameters())
	fmt.Println(same == law, err)
	// Output:
	// mean 0, E|Z| = 0.053, variance 0.027
	// 95 % are below 0.087: 0.95 and 0.05
	// density 0.006 and 0.006 at 1, beyond 5 e^-12.1
	// true <nil>
}

// Three parties in the field of Prio3, where −5 is p − 5. At this ε, which protects nobody, there
// is no noise to speak of.
func ExampleParams_modulus() {
	const p = 1<<64 - 1<<32 + 1
	m, err := arete.New(arete.Params{Epsilon: 1000, Sensitivity: 10, Integers: true, Law: arete.DiscreteLaplace, Modulus: p})
	if err != nil {
		panic(err)
	}
	var total uint64
	var share *arete.Share
	for _, x := range []float64{-10, 3, 2} {
		if share, err = m.Share(3, 0); err != nil {
			panic(err)
		}
		word := uint64(share.Mask(x)) // below p
		if total += word; total < word || total >= p {
			total -= p
		}
	}
	v, err := share.Sum(int64(total), 3)
	if err != nil {
		panic(err)
	}
	fmt.Println(total == p-5, v.Estimate())
	// Output: true -5
}
