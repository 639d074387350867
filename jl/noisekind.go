package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/noise"
)

// Noise is a kind of noise.
type Noise uint8

const (
	// AutoNoise chooses: see Params.Noise.
	AutoNoise Noise = iota
	// Laplace is real-valued Laplace noise, rounded to a fine grid: pure ε-privacy.
	Laplace
	// DiscreteLaplace is discrete Laplace noise on the integers, for integers: pure ε-privacy with
	// less noise where ε is large.
	DiscreteLaplace
	// Gaussian is real-valued normal noise, rounded to a fine grid, for δ > 0 or Rho.
	Gaussian

	lastNoise = Gaussian
)

var noiseNames = []string{"AutoNoise", "Laplace", "DiscreteLaplace", "Gaussian"}

// String returns the name of the constant.
func (n Noise) String() string { return enum.Name(n, noiseNames, "Noise") }

// law is noise with its numbers.
type law struct {
	kind  Noise
	input bool    // on the coordinates of the vector
	step  float64 // the grid, in the units of the data: a power of two
	scale float64 // the scale of Laplace noise or σ, in steps
}

// moments returns E X² and E X⁴ of the noise that is drawn, in steps. Laplace noise is rounded to
// integers n ≠ 0 with probability sinh(1/2b)·q^|n|, q = e^{−1/b}, discrete Laplace noise has
// tanh(1/2b)·q^|n|; Σ n²qⁿ = q(1+q)/(1−q)³ and Σ n⁴qⁿ = q(1+11q+11q²+q³)/(1−q)⁵. Normal noise of
// σ ≥ 2⁹ steps has the moments of N + U, U uniform on [−½, ½], up to e^{−2π²σ²}.
func (l law) moments() (second, fourth float64) {
	if l.kind == Gaussian {
		v := l.scale * l.scale
		return v + 1.0/12, 3*v*v + v/2 + 1.0/80
	}
	weight := 2 * math.Sinh(1/(2*l.scale))
	if l.kind == DiscreteLaplace {
		weight = 2 * math.Tanh(1/(2*l.scale))
	}
	q, rest := math.Exp(-1/l.scale), -math.Expm1(-1/l.scale)
	second = weight * q * (1 + q) / (rest * rest * rest)
	fourth = weight * q * (1 + q*(11+q*(11+q))) / (rest * rest * rest * rest * rest)
	return second, fourth
}

// sampler returns a function that draws the noise, in steps, at most 2⁶¹ in size.
func (l law) sampler(src *noise.Source) func() int64 {
	within := func(n int64) int64 { return min(max(n, 1-most), most-1) }
	switch l.kind {
	case Gaussian:
		d := must(noise.NewGaussian(l.scale))
		return func() int64 { return within(int64(d.Sample(src, 1))) }
	case DiscreteLaplace:
		d := must(noise.NewDiscreteLaplace(l.scale))
		return func() int64 { return within(d.SampleInt(src)) }
	}
	d := must(noise.NewLaplace(l.scale))
	return func() int64 { return within(int64(d.Sample(src, 1))) }
}

// must returns the distribution of a scale that calibrate or the decoder checked.
func must[T any](d T, err error) T {
	if err != nil {
		panic("jl: no noise for a valid scale") // unreachable
	}
	return d
}

// cumulants are the second and the fourth cumulant of one variable, κ₂ = E X² and κ₄ = E X⁴ − 3κ₂²
// for mean 0: those of independent variables add up.
type cumulants struct{ two, four float64 }

func (a cumulants) plus(b cumulants) cumulants { return cumulants{a.two + b.two, a.four + b.four} }

// fourth returns E X⁴.
func (a cumulants) fourth() float64 { return a.four + 3*a.two*a.two }

// cumulants returns those of the noise, in units in which a step is unit.
func (l law) cumulants(unit float64) cumulants {
	second, fourth := l.moments()
	v := unit * unit
	return cumulants{second * v, (fourth - 3*second*second) * v * v}
}
