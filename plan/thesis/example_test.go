package thesis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

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
	// In the middle of nine releases: one in 80 of ours has more than twice as much.
	noise := func(m *plan.Mechanism) float64 {
		var sums []float64
		for range 9 {
			mean, err := m.Release(context.Background(), rows)
			if err != nil {
				panic(err)
			}
			sum := 0.0
			for _, sd := range mean.StdDevs() {
				sum += sd * sd
			}
			sums = append(sums, sum)
		}
		slices.Sort(sums)
		return sums[4]
	}
	fmt.Println("less noise here than in the thesis:", noise(ours) < noise(printed))
	fmt.Println("less noise here than without scales:", noise(ours) < noise(optimal))
	// Output:
	// less noise here than in the thesis: true
	// less noise here than without scales: true
}
