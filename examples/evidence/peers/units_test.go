package peers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"

	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/plan"
)

// unitTable is a table whose columns have units from 10⁻⁶ to 10¹⁰ in turn: the rows, the ranges
// that an expert gives, the means and the standard deviations.
type unitTable struct {
	rows              [][]float64
	low, high         []float64
	means, deviations []float64
}

func newUnitTable(rng *rand.Rand, n, d int) unitTable {
	kinds := []struct {
		low, high float64
		draw      func() float64
	}{
		{-2, 8, func() float64 { return 3 + rng.NormFloat64() }},
		{0, 10, func() float64 { return 10 * rng.Float64() }},
		{0, 12, rng.ExpFloat64},
		{0, 20, func() float64 { return math.Exp(.8 * rng.NormFloat64()) }},
		{0, 100, func() float64 { return min(max(40+18*rng.NormFloat64(), 0), 100) }},
	}
	t := unitTable{make([][]float64, n), make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)}
	for j := range t.rows {
		t.rows[j] = make([]float64, d)
	}
	for i := range d {
		k, unit, squares := kinds[i%len(kinds)], math.Pow(10, float64(i*7%17)-6), 0.0
		t.low[i], t.high[i] = unit*k.low, unit*k.high
		for j := range t.rows {
			x := unit * k.draw()
			t.rows[j][i] = x
			t.means[i] += x / float64(n)
			squares += x * x / float64(n)
		}
		t.deviations[i] = math.Sqrt(squares - t.means[i]*t.means[i])
	}
	return t
}

// Means of columns of mixed units at (4, 10⁻⁶): the root mean square of the errors, each in the
// standard deviation of its column. plan knows no ranges, elliptical has those of an expert, and so
// has Google's BoundedMean, at an equal part of ε and δ for each column, with the better of its
// noises. plan in one unit is without Relative. For n = 10³, 10⁴, 10⁵:
//
//	                        5 columns             50 columns
//	plan, no ranges         .012, .0017, .00020   .019, .0020, .00022
//	plan in one unit        2e10, 3e9,   3e8      9e13, 1e13,  2e12
//	elliptical, ranges      .020, .0019, .00022   .049, .0048, .00048
//	Google's, ranges        .023, .0017, .00022   .21,  .024,  .0021
func TestMixedUnits(t *testing.T) {
	needsLong(t)
	const epsilon, delta, runs = 4, 1e-6, 10
	rng := rand.New(rand.NewPCG(17, 5)) // test data
	for _, d := range []int{5, 50} {
		for _, n := range []int{1000, 10_000, 100_000} {
			table := newUnitTable(rng, n, d)
			widest := max(slices.Max(table.high), -slices.Min(table.low))
			p := plan.Params{Epsilon: epsilon, Delta: delta, Dim: d, Max: widest}
			inOneUnit := cli.Must(plan.New(p))
			p.Relative = true
			m := cli.Must(plan.New(p))
			errors := map[string]float64{}
			see := func(name string, estimate func(i int) float64) {
				for i := range d {
					e := (estimate(i) - table.means[i]) / table.deviations[i]
					errors[name] += e * e / float64(d) / runs
				}
			}
			for range runs {
				mean := cli.Must(m.Release(context.Background(), table.rows))
				see("plan", mean.Estimate)
				see("plan in one unit", cli.Must(inOneUnit.Release(context.Background(), table.rows)).Estimate)
				b := cli.Must(elliptical.NewBuilder(elliptical.Params{Epsilon: epsilon, Delta: delta, Relative: true, Count: true, Min: elliptical.VectorOf(table.low...), Max: elliptical.VectorOf(table.high...)}))
				for _, row := range table.rows {
					b.Add(row)
				}
				sum := cli.Must(b.Release())
				see("elliptical", sum.Mean)
				for name, part := range map[string]float64{"Laplace": 0, "Gaussian": delta / float64(d)} {
					kind := google.Laplace()
					if part > 0 {
						kind = google.Gaussian()
					}
					see(name, func(i int) float64 {
						column := make([]float64, n)
						for j, row := range table.rows {
							column[j] = row[i]
						}
						return googlesMean(epsilon/float64(d), part, kind, table.low[i], table.high[i], column)
					})
				}
			}
			theirs := math.Sqrt(min(errors["Laplace"], errors["Gaussian"]))
			t.Logf("d = %d, n = %d: plan %.2g, in one unit %.2g, elliptical with ranges %.2g, Google's with ranges %.2g sd", d, n,
				math.Sqrt(errors["plan"]), math.Sqrt(errors["plan in one unit"]), math.Sqrt(errors["elliptical"]), theirs)
			const chance = 1.5 // of so many errors
			clitest.Not(t, math.Sqrt(errors["elliptical"]) > chance*theirs || errors["plan"] > chance*chance*errors["elliptical"], "an error is above that of its peer")
		}
	}
}
