package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// difference draws the difference of two independent negative binomial variables of one shape κ and
// p = e^{−1/s}, with masses ∝ p^k·Γ(κ+k)/k!, or one of n shares of it. Both are compound Poisson: a
// Poisson number, of mean 2κ·L(s), of [logarithmic] jumps with a fair sign. Nothing underflows,
// however small the shape: then there is mostly no jump. At κ = 1 the difference is discrete
// Laplace of scale s.
type difference struct {
	events *poisson
	jump   logarithmic
}

func newDifference(shape, scale float64, parts uint64) (*difference, error) {
	jump, err := newLogarithmic(scale)
	if err != nil {
		return nil, err
	}
	return &difference{newPoisson(rate{2 * shape, scale, parts}), jump}, nil
}

func (d *difference) draw(src *noise.Source) (z int64) {
	for range d.events.draw(src) {
		k := d.jump.draw(src)
		if src.Uint64()&1 == 1 {
			k = -k
		}
		z += k
	}
	return z
}

// negativeBinomial returns the masses 0..n−1 of the negative binomial law,
// (1−p)^κ·p^k·κ(κ+1)⋯(κ+k−1)/k!.
func negativeBinomial(shape, scale float64, n int) []float64 {
	g := make([]float64, n)
	p := math.Exp(-1 / scale)
	g[0] = math.Pow(-math.Expm1(-1/scale), shape)
	for k := 1; k < n; k++ {
		g[k] = g[k-1] * p * ((shape + float64(k-1)) / float64(k))
	}
	return g
}
