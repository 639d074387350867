package peers

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The shape of the projections: vectors of so many coordinates to so many rows. Sparse vectors have
// so many nonzeros.
const (
	coordinates = 4096
	rows        = 256
	nonzeros    = 100
)

// projections compares package jl with a Gaussian matrix of the same shape in gonum, a unit being a
// vector: the product with a dense vector and, the matrix lying by columns, the sum of those of a
// sparse one. gonum adds no noise. Nor do AddDense and AddSparse; for SRHT, which transforms only
// at the release, all of a private sketch is in the clock, noise included. No peer: private
// sketches of vectors, in Go or another language.
func projections() []comparison {
	const product, sum = "gonum MulVec", "gonum AddScaled"
	matrix := newGaussian()
	var list []comparison
	for _, p := range []projection{
		{work: "4096 to 256, SJLT s = 1, AddDense", peer: product, target: 0.03},
		{work: "4096 to 256, SJLT s = 8, AddDense", peer: product, target: 0.12, p: jl.Params{Sparsity: 8}},
		{work: "4096 to 256, SJLT s = 8, integers, AddDense", peer: product, target: 0.07, p: jl.Params{Sparsity: 8, Integers: true}},
		{work: "4096 to 256, SRHT, AddDense and Release", peer: product, target: 0.11, p: jl.Params{Transform: jl.SRHT}, release: true},
		{work: "4096 to 256, 100 non-zeros, SJLT s = 1, AddSparse", peer: sum, target: 0.08, sparse: true},
		{work: "4096 to 256, 100 non-zeros, SJLT s = 8, AddSparse", peer: sum, p: jl.Params{Sparsity: 8}, sparse: true},
	} {
		list = append(list, p.compare(matrix))
	}
	return list
}

// projection is one way to project on our side.
type projection struct {
	work, peer string
	target     float64
	p          jl.Params
	sparse     bool // project sparse vectors
	release    bool // make a Builder and release it in the clock
}

func (c projection) compare(matrix gaussian) comparison {
	x := newVector(c.sparse, c.p.Integers)
	shared := c.builder(1)
	return comparison{
		work: c.work, peer: c.peer, target: c.target, units: 1,
		ours: repeat(func() {
			if !c.release {
				x.add(shared)
				return
			}
			b := cli.Must(shared.Sibling())
			x.add(b)
			cli.Must(b.Release())
		}),
		theirs: repeat(func() { matrix.project(x) }),
		check:  func() error { return c.check(x) },
	}
}

func (c projection) builder(seed byte) *jl.Builder {
	p := c.p
	p.Dim, p.Rows, p.Epsilon, p.Seed = coordinates, rows, 1, hashing.Seed{seed}
	return cli.Must(jl.New(p))
}

// check compares squared lengths, on the average over some seeds, with that of the vector: both
// projections keep it on the average. The relative variance of ‖Gx‖² is 2/rows.
func (c projection) check(x vector) error {
	const seeds = 8
	squared, fourth := 0.0, 0.0
	for _, value := range x.dense {
		squared += value * value
		fourth += value * value * value * value
	}
	ours, theirs, stdErr := 0.0, 0.0, 0.0
	for seed := range byte(seeds) {
		b := c.builder(seed + 1)
		x.add(b)
		sketch := cli.Must(b.Release())
		ours += sketch.SquaredNorm() / seeds
		plan := cli.Must(sketch.Params().Plan(0))
		stdErr = plan.NormStdErr(squared, fourth)
		y := newGaussian().project(x)
		theirs += floats.Dot(y, y) / seeds
	}
	return errors.Join(near("jl", ours, squared, sure*stdErr/math.Sqrt(seeds)),
		near("gonum", theirs, squared, sure*squared*math.Sqrt(2./rows/seeds)))
}

// vector is what is projected. indices and values are nil for a dense vector.
type vector struct {
	dense   []float64
	indices []uint64
	values  []float64 // at the indices
}

func newVector(sparse, integers bool) vector {
	x := vector{dense: make([]float64, coordinates)}
	if !sparse {
		for i := range x.dense {
			x.dense[i] = 20 * rand.NormFloat64()
			if integers {
				x.dense[i] = math.Round(x.dense[i])
			}
		}
		return x
	}
	for _, i := range rand.Perm(coordinates)[:nonzeros] {
		x.dense[i] = 20 * rand.NormFloat64()
		x.indices, x.values = append(x.indices, uint64(i)), append(x.values, x.dense[i])
	}
	return x
}

func (x vector) add(b *jl.Builder) {
	if x.indices == nil {
		b.AddDense(x.dense)
		return
	}
	b.AddSparse(x.indices, x.values)
}

// gaussian is a random matrix of variance 1/rows, by rows and by columns.
type gaussian struct {
	byRows, byColumns *mat.Dense
	result            *mat.VecDense
}

func newGaussian() gaussian {
	data := make([]float64, rows*coordinates)
	for i := range data {
		data[i] = rand.NormFloat64() / math.Sqrt(rows)
	}
	m := mat.NewDense(rows, coordinates, data)
	return gaussian{m, mat.DenseCopyOf(m.T()), mat.NewVecDense(rows, nil)}
}

// project returns the product with x, which the next call overwrites.
func (g gaussian) project(x vector) []float64 {
	if x.indices == nil {
		g.result.MulVec(g.byRows, mat.NewVecDense(coordinates, x.dense))
		return g.result.RawVector().Data
	}
	y := g.result.RawVector().Data
	clear(y)
	for n, i := range x.indices {
		floats.AddScaled(y, x.values[n], g.byColumns.RawRowView(int(i)))
	}
	return y
}
