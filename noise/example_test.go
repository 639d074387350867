package noise_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// A number that one person changes by at most 20 is released with ε = 1. It is a whole number, so
// the noise is rounded to whole numbers too.
func Example() {
	const number = 123_456 // private
	scale, err := noise.LaplaceScale(1, 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	law, err := noise.NewLaplace(scale)
	if err != nil {
		fmt.Println(err)
		return
	}
	var secret noise.Source
	released := number + law.Sample(&secret, 1)

	fmt.Printf("noise of standard deviation %.1f\n", math.Sqrt(law.Variance()))
	fmt.Printf("within %.0f of the truth with 95 %% confidence\n", law.Quantile(0.975)+0.5)
	fmt.Println("a whole number within 1000:", released == math.Trunc(released) && math.Abs(released-number) < 1000)
	// Output:
	// noise of standard deviation 28.3
	// within 60 of the truth with 95 % confidence
	// a whole number within 1000: true
}
