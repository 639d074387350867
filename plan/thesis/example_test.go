package thesis_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
)

// The noise of the mechanism of the thesis, of the one that it is compared with, and of package
// plan, on the same rows.
func ExampleNew() {
	rng := rand.New(rand.NewPCG(1, 2)) // data for the example
	rows := make([][]float64, 5000)
	for j := range rows {
		rows[j] = make([]float64, 50)
		for i := range rows[j] {
			rows[j][i] = 50 / float64(i+1) * rng.NormFloat64()
		}
	}
	printed, err := thesis.New(thesis.Params{Rho: 1, Dim: 50, Max: 1000, Relation: budget.Replace})
	if err != nil {
		panic(err)
	}
	optimal, err := thesis.New(thesis.Params{Rho: 1, Dim: 50, Max: 1000, Relation: budget.Replace, Instance: thesis.IOME})
	if err != nil {
		panic(err)
	}
	ours, err := plan.New(plan.Params{Rho: 1, Dim: 50, Max: 1000, Relation: budget.Replace})
	if err != nil {
		panic(err)
	}
	var noise []float64
	for _, m := range []*plan.Mechanism{ours, printed, optimal} {
		mean, err := m.Release(context.Background(), rows)
		if err != nil {
			panic(err)
		}
		sum := 0.0
		for _, sd := range mean.StdDevs() {
			sum += sd * sd
		}
		noise = append(noise, sum)
	}
	fmt.Println("less noise here than in the thesis:", noise[0] < noise[1])
	fmt.Println("less noise here than without scales:", noise[0] < noise[2])
	// Output:
	// less noise here than in the thesis: true
	// less noise here than without scales: true
}
