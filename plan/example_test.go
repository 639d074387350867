package plan_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpsketch/dpsketch/plan"
)

// The mean of rows of which the coordinates have standard deviations of 1 to 100.
func ExampleMechanism_Release() {
	rng := rand.New(rand.NewPCG(1, 2)) // data for the example
	rows := make([][]float64, 5000)
	for j := range rows {
		rows[j] = make([]float64, 20)
		for i := range rows[j] {
			sd := 1.0
			if i < 2 {
				sd = 100
			}
			rows[j][i] = 500 + sd*rng.NormFloat64()
		}
	}
	m, err := plan.New(plan.Params{Rho: 1, Dim: 20, Max: 1e6, Resolution: 1})
	if err != nil {
		panic(err)
	}
	mean, err := m.Release(context.Background(), rows)
	if err != nil {
		panic(err)
	}
	lo, hi := mean.NoiseInterval(7, 0.999999)
	fmt.Println("scaled:", mean.Spent().Scaled)
	fmt.Println("about 5000 rows, centred and clipped at a norm below 1000:", math.Abs(mean.Rows()-5000) < 100, mean.Clip() < 1000)
	fmt.Println("noise below a fifth of a unit:", mean.StdDev(7) < 0.2)
	fmt.Println("coordinate 7 within 1 of 500:", lo > 499 && hi < 501)
	fmt.Println(mean.Guarantee())
	// Output:
	// scaled: true
	// about 5000 rows, centred and clipped at a norm below 1000: true true
	// noise below a fifth of a unit: true
	// coordinate 7 within 1 of 500: true
	// ρ = 1 (zCDP) for one row, added or removed
}

// A rating from 0 to 10 beside sales of up to 10¹⁰: each mean is as exact as its column allows.
func ExampleParams_relative() {
	rng := rand.New(rand.NewPCG(1, 2)) // data for the example
	rows := make([][]float64, 5000)
	for j := range rows {
		rows[j] = []float64{6 + 2*rng.NormFloat64(), 1e8 * rng.ExpFloat64()}
	}
	m, err := plan.New(plan.Params{Epsilon: 1, Delta: 1e-6, Dim: 2, Max: 1e10, Relative: true})
	if err != nil {
		panic(err)
	}
	mean, err := m.Release(context.Background(), rows)
	if err != nil {
		panic(err)
	}
	fmt.Println("noise of the rating below .05:", mean.StdDev(0) < 0.05)
	fmt.Println("noise of the sales below 3 million:", mean.StdDev(1) < 3e6)
	// Output:
	// noise of the rating below .05: true
	// noise of the sales below 3 million: true
}

// Is n large enough?
func ExampleParams_Plan() {
	p := plan.Params{Rho: 0.5, Dim: 1000, Rows: 300, Max: 1000, Resolution: 1}
	outlook, err := p.Plan(1) // a guess of the standard deviations; without one the noise is NaN
	if err != nil {
		panic(err)
	}
	fmt.Println("300 rows are enough:", outlook.Enough)
	p.Rows = 2 * outlook.LeastRows
	outlook, err = p.Plan(1)
	if err != nil {
		panic(err)
	}
	fmt.Println("twice the least number is:", outlook.Enough)
	fmt.Println("noise below a hundredth of the plain mechanism's:", outlook.Noise < outlook.Plain/100)
	// Output:
	// 300 rows are enough: false
	// twice the least number is: true
	// noise below a hundredth of the plain mechanism's: true
}

// How many rows a mean of a hundred measurements needs, which vary by about 5 units each, for noise
// of half a unit in all.
func ExampleParams_Fit() {
	p, err := plan.Params{Rho: 0.5, Dim: 100, Max: 1000, Resolution: 1}.Fit(0.5, 5)
	if err != nil {
		panic(err)
	}
	outlook, err := p.Plan(5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("about %.1g rows: noise %.2g, error of the sample %.2g\n", float64(p.Rows), outlook.Noise, outlook.Sampling)
	// Output: about 1e+03 rows: noise 0.5, error of the sample 1.5
}

// What a Mean holds besides its estimates: the centres and scales that were found, the noise of
// each coordinate, an interval that holds for all rows, and the mean with noise shrunk away.
func ExampleMean_IntervalBounded() {
	rng := rand.New(rand.NewPCG(3, 4)) // data for the example
	rows := make([][]float64, 20_000)
	for j := range rows {
		rows[j] = []float64{10 + rng.NormFloat64(), 500 + 20*rng.NormFloat64(), 0}
	}
	m, err := plan.New(plan.Params{Rho: 1, Dim: 3, Max: 1000, Resolution: 0.01})
	if err != nil {
		panic(err)
	}
	// One release in 400 is far off in a scale: so here are the middle ones of nine.
	var mean *plan.Mean
	var first, second, ratios []float64
	for range 9 {
		if mean, err = m.Release(context.Background(), rows); err != nil {
			panic(err)
		}
		first, second, ratios = append(first, mean.Centre(0)), append(second, mean.Centre(1)), append(ratios, mean.Scale(1)/mean.Scale(0))
	}
	for _, values := range [][]float64{first, second, ratios} {
		slices.Sort(values)
	}
	fmt.Printf("centres near %.0f and %.0f\n", first[4], second[4])
	fmt.Println("the second coordinate varies more:", ratios[4] > 5)
	lo, hi := mean.IntervalBounded(1, 0.999999)
	fmt.Println("whatever the rows are, the mean is in a wide interval:", lo < 500 && 500 < hi)
	for i, x := range mean.Values() {
		if sd := mean.StdDevs()[i]; !(sd > 0) || x != mean.Estimate(i) {
			fmt.Println(i, "has no noise")
		}
	}
	fmt.Println("shrunk:", len(mean.Shrunk(2)) == mean.Dim())
	// Output:
	// centres near 10 and 500
	// the second coordinate varies more: true
	// whatever the rows are, the mean is in a wide interval: true
	// shrunk: true
}

// Noisy values of any origin: where most are near 0, the mean squared error falls.
func ExampleShrink() {
	rng := rand.New(rand.NewPCG(5, 6)) // data for the example
	values, stdDevs := make([]float64, 1000), make([]float64, 1000)
	for i := range values {
		values[i], stdDevs[i] = float64(50*(i/990))+rng.NormFloat64(), 1
	}
	shrunk, err := plan.Shrink(values, stdDevs, false, 2)
	if err != nil {
		panic(err)
	}
	before, after := 0.0, 0.0
	for i, x := range shrunk {
		truth := float64(50 * (i / 990))
		before, after = before+(values[i]-truth)*(values[i]-truth), after+(x-truth)*(x-truth)
	}
	fmt.Println("a tenth of the error:", after < before/10)
	// Output:
	// a tenth of the error: true
}
