package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/google/differential-privacy/go/v3/dpagg"
	google "github.com/google/differential-privacy/go/v3/noise"
	"gonum.org/v1/gonum/floats"

	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// The guarantee of the means: one row added or removed, at ε and δ for sums and Google's library,
// at the ρ of the same Gaussian noise for plan.
const (
	epsilon = 1
	delta   = 1e-6
	rho     = 0.028
)

// sums compares package elliptical with an aggregation of Google's library for each column, whose
// ranges are public and all different. A unit is an entry of the rows; the release is in the clock.
// What the library gains is error: Google's noise in a column knows nothing of the ranges of the
// others.
func sums(n, columns int) []comparison {
	widths, x := make([]float64, columns), make([][]float64, n)
	low, high := make([]float64, columns), make([]float64, columns)
	for i := range widths {
		widths[i] = 1 / float64(i+1)
		low[i], high[i] = -widths[i]/2, widths[i]/2
	}
	truth := 0.0 // the average over the columns of their sums, each in units of its width
	for j := range x {
		x[j] = make([]float64, columns)
		for i := range x[j] {
			share := rand.Float64() / 2
			x[j][i] = share * widths[i]
			truth += share / float64(columns)
		}
	}
	ours := func() *elliptical.Sum {
		b := cli.Must(elliptical.NewBuilder(elliptical.Params{
			Min: elliptical.VectorOf(low...), Max: elliptical.VectorOf(high...), Epsilon: epsilon, Delta: delta, Relation: budget.AddRemove,
		}))
		for _, row := range x {
			b.Add(row)
		}
		return cli.Must(b.Release())
	}
	theirs := func() []float64 {
		return each(x, columns, func(i int) aggregation {
			return cli.Must(dpagg.NewBoundedSumFloat64(&dpagg.BoundedSumFloat64Options{
				Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(columns),
				Lower: low[i], Upper: high[i], Noise: google.Gaussian(),
			}))
		})
	}
	return []comparison{{
		work: fmt.Sprintf("sum of %d rows of %d, ranges public", n, columns), peer: "Google BoundedSum", target: 0.5, units: n * columns,
		ours: repeat(func() { ours() }), theirs: repeat(func() { theirs() }),
		check: func() error {
			sum, values := ours(), theirs()
			mine, other, variance := 0.0, 0.0, 0.0
			for i, width := range widths {
				mine += sum.Estimate(i) / width / float64(columns)
				other += values[i] / width / float64(columns)
				variance += sum.StdDev(i) * sum.StdDev(i) / (width * width)
			}
			sigma := google.SigmaForGaussian(int64(columns), 0.5, epsilon, delta)
			return errors.Join(near("elliptical", mine, truth, sure*math.Sqrt(variance)/float64(columns)),
				near("Google", other, truth, sure*sigma/math.Sqrt(float64(columns))))
		},
	}}
}

// aggregation is one of Google's library.
type aggregation interface {
	Add(float64) error
	Result() (float64, error)
}

// each aggregates all columns of the rows.
func each(x [][]float64, columns int, of func(i int) aggregation) []float64 {
	aggregations, results := make([]aggregation, columns), make([]float64, columns)
	for i := range aggregations {
		aggregations[i] = of(i)
	}
	for _, row := range x {
		for i, value := range row {
			cli.OK(aggregations[i].Add(value))
		}
	}
	for i, a := range aggregations {
		results[i] = cli.Must(a.Result())
	}
	return results
}

// means compares package plan, which finds centres and scales privately, with Google's mean of each
// column in a range that is the same for all. A unit is an entry of the rows.
func means(n, columns int) []comparison {
	const centre, most = 5, 20
	x, sampling := make([][]float64, n), 0.0
	for j := range x {
		x[j] = make([]float64, columns)
		for i := range x[j] {
			x[j][i] = centre + rand.NormFloat64()/float64(i+1)
		}
	}
	for i := range columns {
		sampling += 1 / float64((i+1)*(i+1)*n)
	}
	m := cli.Must(plan.New(plan.Params{Rho: rho, Dim: columns, Max: most, Relation: budget.AddRemove}))
	ours := func() *plan.Mean { return cli.Must(m.Release(context.Background(), x)) }
	theirs := func() []float64 {
		return each(x, columns, func(int) aggregation {
			return cli.Must(dpagg.NewBoundedMean(&dpagg.BoundedMeanOptions{
				Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(columns), MaxContributionsPerPartition: 1,
				Lower: -most, Upper: most, Noise: google.Gaussian(),
			}))
		})
	}
	return []comparison{{
		work: fmt.Sprintf("mean of %d rows of %d, scales unknown", n, columns), peer: "Google BoundedMean", target: 1, units: n * columns,
		ours: repeat(func() { ours() }), theirs: repeat(func() { theirs() }),
		check: func() error {
			mean, values := ours(), theirs()
			d := float64(columns)
			// Google's library takes half of the budget for a sum and half for the number of rows.
			sigma := google.SigmaForGaussian(int64(columns), 1, epsilon/2., delta/2) * math.Hypot(most, centre) / float64(n)
			return errors.Join(near("plan", floats.Sum(mean.Values())/d, centre, sure*math.Hypot(floats.Norm(mean.StdDevs(), 2), math.Sqrt(sampling))/d),
				near("Google", floats.Sum(values)/d, centre, sure*math.Sqrt(sigma*sigma*d+sampling)/d))
		},
	}}
}

// sparseMeans compares package plan on sparse rows of ones with the leanest loop over Google's
// library: exact counts of the columns, and its noise for each. The number of rows is public. A
// unit is a one.
func sparseMeans(n, columns int) []comparison {
	const ones, first = 20, 10
	x, truth := ofOnes(n, columns, ones), 0.0 // the sum of the first columns' means
	for _, i := range x.Indices {
		if i < first {
			truth += 1 / float64(n)
		}
	}
	m := cli.Must(plan.New(plan.Params{Rho: rho, Dim: columns, Rows: n, Relation: budget.AddRemove, NonNegative: true}))
	ours := func() *plan.Mean { return cli.Must(m.ReleaseSparse(context.Background(), x)) }
	theirs := func() []float64 {
		counts, mean := make([]int64, columns), make([]float64, columns)
		for _, i := range x.Indices {
			counts[i]++
		}
		for i, count := range counts {
			noisy := cli.Must(google.Gaussian().AddNoiseInt64(count, ones, 1, epsilon, delta))
			mean[i] = float64(noisy) / float64(n)
		}
		return mean
	}
	return []comparison{{
		work: fmt.Sprintf("mean of %d rows of %d ones in %d", n, ones, columns), peer: "Google AddNoiseInt64", target: 0.15, units: len(x.Indices),
		ours: repeat(func() { ours() }), theirs: repeat(func() { theirs() }),
		check: func() error {
			mean, values := ours(), theirs()
			// Errors of columns may add up. Clipping takes 1 − γ of an average row, and the
			// division by γ gives as much to those that were not clipped.
			tolerance := first*(1-mean.Spent().Gamma)/mean.Spent().Gamma + sure*floats.Sum(mean.StdDevs()[:first])
			sigma := google.SigmaForGaussian(ones, 1, epsilon, delta) / float64(n)
			return errors.Join(near("plan", floats.Sum(mean.Values()[:first]), truth, tolerance),
				near("Google", floats.Sum(values[:first]), truth, sure*sigma*math.Sqrt(first)))
		},
	}}
}

// ofOnes returns sparse rows of so many ones each, at columns of which the first are the most
// frequent.
func ofOnes(n, columns, ones int) plan.Sparse {
	ranks := rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.05, 4, uint64(columns-1))
	x := plan.Sparse{Offsets: []int{0}}
	for range n {
		row := make([]uint32, 0, ones)
		for len(row) < ones {
			if i := uint32(ranks.Uint64()); !slices.Contains(row, i) {
				row = append(row, i)
			}
		}
		slices.Sort(row)
		x.Indices = append(x.Indices, row...)
		x.Offsets = append(x.Offsets, len(x.Indices))
	}
	return x
}
