package figures

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/rows"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// generator returns the generator of test data of d coordinates, the same in every run.
func generator(d int) *rand.Rand { return rand.New(rand.NewPCG(11, uint64(d))) }

// planSkewed is the thesis's Figure 5.2c: the mean ℓ₂ error of releases of rows with steep scales
// and more and more coordinates, to the mean of the rows, as there. All methods see the same data.
// The thesis's other figures are tables of ../means.
func planSkewed(e effort) *picture {
	n := 10_000 / e.scale
	p := newPicture(fmt.Sprintf("Skewed scales σ = d/i: n = %d, ρ = 0.5", n), "d, number of coordinates", "ℓ₂ distance to the mean of the rows").log(true, true)
	for _, by := range []struct {
		name string
		kind kind
		make func(d int) rows.Maker
	}{
		{"instance-optimal (Huang, Liang, Yi)", theirs, func(d int) rows.Maker { return rows.Optimal(10 * float64(d)) }},
		{"PLAN as printed, honest budget", theirs, func(int) rows.Maker { return rows.Published(nil) }},
		{"PLAN, the default here", ours, func(int) rows.Maker { return plan.New }},
	} {
		var points plotter.XYs
		for d := 16; d <= 2048/e.scale; d *= 2 {
			data := rows.Gaussian(generator(d), n, 10, rows.Powers(d, 2))
			params := plan.Params{Rho: 0.5, Dim: d, Rows: n, Max: 50 * math.Pow(float64(d), 1.5), Resolution: 1, Relation: budget.Replace}
			sum := 0.0
			for range e.means {
				released := cli.Must(data.Release(context.Background(), params, by.make(d)))
				sum += rows.Distance(released.Values(), data.Mean(), 2) / float64(e.means)
			}
			points = append(points, plotter.XY{X: float64(d), Y: sum})
		}
		p.add(by.name, by.kind, points)
	}
	p.Legend.Left = true
	return p
}
