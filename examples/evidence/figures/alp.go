package figures

import (
	"math"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// load fills a projection: k entries of at least most besides those that are asked for, and
// releases it.
func load(params alp.Params, others int, most float64, values map[uint64]float64) *alp.Projection {
	b := cli.Must(alp.New(params))
	for i := range others {
		b.Add(uint64(i)*0x9e3779b97f4a7c15|1, most)
	}
	for index, v := range values {
		b.Add(index, v)
	}
	return cli.Must(b.Release())
}

// queries returns n values uniform in [0, most] at even indices, which load's other entries do not
// have.
func queries(n int, most float64) map[uint64]float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	values := make(map[uint64]float64, n)
	for range n {
		values[rng.Uint64()&^1] = rng.Float64() * most
	}
	return values
}

// meanAbs returns the mean absolute error of the estimates.
func meanAbs(release *alp.Projection, values map[uint64]float64) float64 {
	sum := 0.0
	for index, v := range values {
		sum += math.Abs(release.Estimate(index) - v)
	}
	return sum / float64(len(values))
}

// alpBits is the error against the bits of an entry, values up to 40/ε, all other entries large.
func alpBits(e effort) *picture {
	p := newPicture("Values up to 40/ε, all other entries large: error against space", "bits of an entry", "mean absolute error in 1/ε").log(true, false)
	bits := []float64{30, 50, 100, 200, 300, 500, 1000}
	const most = 40
	paper := curve(bits, func(b float64) float64 {
		best := math.Inf(1)
		for alpha := 2.0; alpha <= 8; alpha += 0.5 {
			m := math.Ceil(most / alpha)
			collision := -math.Expm1(-m / b) // b bits an entry are b/m places a column an entry
			best = min(best, linear(alpha, most, collision).meanAbs(e.runs/2, func(rng *rand.Rand) float64 { return rng.Float64() * most }))
		}
		return best
	})
	p.add("paper, at its best α", theirs, paper)
	for _, c := range []struct {
		name   string
		levels int
	}{{"S-shaped unary code", 2}, {"columns, the default", 0}} {
		p.add(c.name, ours, curve(bits, func(b float64) float64 {
			values := queries(e.runs/4, most)
			params := alp.Params{Epsilon: 1, Sparsity: 2 * len(values), Max: most, Bits: b, Structure: alp.ColumnsOnly, Variant: alp.Variant{Levels: c.levels}}
			return meanAbs(load(params, len(values), most, values), values)
		}))
	}
	p.Y.Min = 0
	return p.add("Laplace noise on every coordinate", theirs, curve([]float64{30, 1000}, func(float64) float64 { return 1 }))
}
