package arete_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/arete"
)

// Four parties, of whom one may be missing, release their sum. Only the sum of what they send is
// seen by anybody.
func ExampleMechanism_ShareWithDropouts() {
	m, err := arete.New(arete.Params{Epsilon: 12})
	if err != nil {
		panic(err)
	}
	var total int64
	var share *arete.Share
	for _, x := range []float64{0.5, 1, 0.25} { // the fourth has dropped out
		if share, err = m.ShareWithDropouts(4, 1); err != nil {
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

func ExampleBest() {
	for _, epsilon := range []float64{1, 4, 8} {
		l, err := arete.Best(epsilon, 1)
		if err != nil {
			panic(err)
		}
		fmt.Printf("ε = %v: %v, E|X| = %.4f, Laplace %.4f\n", epsilon, l.Law(), l.MeanAbs()*l.Step(), 1/epsilon)
	}
	// Output:
	// ε = 1: DiscreteLaplace, E|X| = 1.0000, Laplace 1.0000
	// ε = 4: LogJump, E|X| = 0.1648, Laplace 0.2500
	// ε = 8: Jump, E|X| = 0.0211, Laplace 0.1250
}
