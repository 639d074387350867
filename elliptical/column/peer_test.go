package column

import (
	"math"
	"math/rand/v2"
)

// split is the usual way, that of Google's BoundedMean and BoundedVariance (Go, v3): ε in equal
// parts for the count, the sum of deviations from the middle, and for the variance the sum of their
// squares. Noise is continuous here.
type split struct {
	d                        dataset
	n, first, second, middle float64 // exact sums
}

func laplace(rng *rand.Rand, scale float64) float64 {
	return scale * (rng.ExpFloat64() - rng.ExpFloat64())
}

func (s split) mean(rng *rand.Rand, epsilon float64) float64 {
	n := max(math.Round(s.n+laplace(rng, 2/epsilon)), 1)
	mean := s.middle + (s.first+laplace(rng, 2*(s.d.max-s.d.min)/2/epsilon))/n
	return min(max(mean, s.d.min), s.d.max)
}

func (s split) variance(rng *rand.Rand, epsilon float64) float64 {
	n := max(math.Round(s.n+laplace(rng, 3/epsilon)), 1)
	mean := (s.first + laplace(rng, 3*(s.d.max-s.d.min)/2/epsilon)) / n
	width := s.d.max - s.d.min
	squares := (s.second + laplace(rng, 3*width*width/4/epsilon)) / n
	return min(max(squares-mean*mean, 0), width*width/4)
}
