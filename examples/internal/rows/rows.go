// Package rows makes the data sets that means are compared on: those of the thesis, chapter 5, and
// some like them.
package rows

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
)

// Set is one data set: dense or, if there are none, sparse rows, and the mean that errors are
// measured against.
type Set struct {
	Dense  [][]float64
	Sparse plan.Sparse
	Truth  []float64
}

// Maker makes a mechanism: [plan.New], or one that it is compared with.
type Maker func(plan.Params) (*plan.Mechanism, error)

// Power returns the p of the ℓₚ error that releases of these Params are made for.
func Power(p plan.Params) float64 {
	if p.NonNegative {
		return 1
	}
	return 2
}

// Unscaled is [plan.New] without scales: rows are clipped by their norms alone.
func Unscaled(p plan.Params) (*plan.Mechanism, error) {
	m, err := plan.New(p)
	if err != nil {
		return nil, err
	}
	return m.WithScales(Powers(p.Dim, 0))
}

// Published makes the mechanism of the thesis, of the numbers that the Params have in common.
// change changes them, unless it is nil.
func Published(change func(*thesis.Params)) Maker {
	return func(p plan.Params) (*plan.Mechanism, error) {
		q := thesis.Params{Rho: p.Rho, Dim: p.Dim, Max: p.Max, Rows: p.Rows, Relation: p.Relation, NonNegative: p.NonNegative, P: Power(p)}
		if change != nil {
			change(&q)
		}
		return thesis.New(q)
	}
}

// Optimal makes the mechanism of Huang, Liang and Yi, which searches within ±4·most.
func Optimal(most float64) Maker {
	return Published(func(p *thesis.Params) { p.Instance, p.Max, p.NonNegative = thesis.IOME, most, false })
}

// Release releases the mean of the rows.
func (s Set) Release(ctx context.Context, p plan.Params, by Maker) (*plan.Mean, error) {
	m, err := by(p)
	if err != nil {
		return nil, err
	}
	if s.Dense != nil {
		return m.Release(ctx, s.Dense)
	}
	return m.ReleaseSparse(ctx, s.Sparse)
}

// Plan returns what was to be expected of a release, had somebody guessed the scales of the
// columns: for each the root mean square around its mean, or around 0 if entries are not negative.
func (s Set) Plan(p plan.Params) (plan.Plan, error) {
	mean, squares := s.Mean(), make([]float64, len(s.Truth))
	if p.Rows = s.Sparse.Rows(); s.Dense != nil {
		p.Rows = len(s.Dense)
	}
	for _, row := range s.Dense {
		for i, x := range row {
			squares[i] += x * x / float64(p.Rows)
		}
	}
	for _, i := range s.Sparse.Indices {
		squares[i] += 1 / float64(p.Rows)
	}
	for i, x := range squares {
		if !p.NonNegative {
			x -= mean[i] * mean[i]
		}
		squares[i] = max(math.Sqrt(max(x, 0)), 0x1p-40)
	}
	return p.Plan(squares...)
}

// Mean returns the mean of the rows.
func (s Set) Mean() []float64 {
	mean := make([]float64, len(s.Truth))
	for _, row := range s.Dense {
		for i, x := range row {
			mean[i] += x / float64(len(s.Dense))
		}
	}
	for _, i := range s.Sparse.Indices {
		mean[i] += 1 / float64(s.Sparse.Rows())
	}
	return mean
}

// Distance returns the ℓₚ norm of x − y.
func Distance(x, y []float64, p float64) float64 {
	sum := 0.0
	for i := range x {
		sum += math.Pow(math.Abs(x[i]-y[i]), p)
	}
	return math.Pow(sum, 1/p)
}

// Powers returns the standard deviations (d/i)^{α/2}, i = 1 … d.
func Powers(d int, alpha float64) []float64 {
	sds := make([]float64, d)
	for i := range sds {
		sds[i] = math.Pow(float64(d)/float64(i+1), alpha/2)
	}
	return sds
}

// Gaussian returns n rows of independent N(mean, sdᵢ²).
func Gaussian(rng *rand.Rand, n int, mean float64, sds []float64) Set {
	out := Set{Dense: make([][]float64, n), Truth: slices.Repeat([]float64{mean}, len(sds))}
	for j := range out.Dense {
		out.Dense[j] = make([]float64, len(sds))
		for i, sd := range sds {
			out.Dense[j][i] = mean + sd*rng.NormFloat64()
		}
	}
	return out
}

// Bits returns n binary rows: the first αd bits are set with probability ½, the others with 0.01.
func Bits(rng *rand.Rand, n, d int, alpha float64) Set {
	out := Set{Sparse: plan.Sparse{Offsets: []int{0}}, Truth: make([]float64, d)}
	for i := range out.Truth {
		out.Truth[i] = 0.01
		if float64(i) < alpha*float64(d) {
			out.Truth[i] = 0.5
		}
	}
	for range n {
		for i, q := range out.Truth {
			if rng.Float64() < q {
				out.Sparse.Indices = append(out.Sparse.Indices, uint32(i))
			}
		}
		out.Sparse.Offsets = append(out.Sparse.Offsets, len(out.Sparse.Indices))
	}
	return out
}

// Verses returns the verses of the King James Bible as binary rows, one column a word.
func Verses() Set { return Phrases(math.MaxInt) }

// Phrases returns the verses of the King James Bible, cut into rows of the given number of
// neighbouring words: binary rows as short as the baskets of a shop, one column a word.
func Phrases(length int) Set {
	text, err := kjv.Load()
	if err != nil {
		panic(err) // it is embedded
	}
	place := map[string]uint32{}
	for i, word := range text.Words() {
		place[word] = uint32(i)
	}
	out := Set{Sparse: plan.Sparse{Offsets: []int{0}}, Truth: make([]float64, len(place))}
	for verse := range text.Verses() {
		for phrase := range slices.Chunk(verse, length) {
			var row []uint32
			for _, word := range phrase {
				row = append(row, place[word])
			}
			slices.Sort(row)
			out.Sparse.Indices = append(out.Sparse.Indices, slices.Compact(row)...)
			out.Sparse.Offsets = append(out.Sparse.Offsets, len(out.Sparse.Indices))
		}
	}
	out.Truth = out.Mean()
	return out
}

// Zipf returns n binary rows with about the given number of ones, columns in proportion to 1/(rank
// + 10).
func Zipf(rng *rand.Rand, n, d, ones int) Set {
	cumulative, sum := make([]float64, d), 0.0
	for i := range cumulative {
		sum += 1 / float64(i+10)
		cumulative[i] = sum
	}
	out := Set{Sparse: plan.Sparse{Offsets: []int{0}}, Truth: make([]float64, d)}
	last := make([]int, d)
	for j := range n {
		want := min(int(rng.ExpFloat64()*float64(ones)/float64(n))+1, d/4)
		var picked []uint32
		for len(picked) < want {
			i, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
			if last[i] != j+1 {
				last[i] = j + 1
				picked = append(picked, uint32(i))
			}
		}
		slices.Sort(picked)
		out.Sparse.Indices = append(out.Sparse.Indices, picked...)
		out.Sparse.Offsets = append(out.Sparse.Offsets, len(out.Sparse.Indices))
	}
	return out
}
