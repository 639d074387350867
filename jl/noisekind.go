package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
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
	// Staircase is the noise with the least variance if one number changes, rounded to a fine grid:
	// pure ε-privacy where Protects says that one coordinate changes, which an SJLT with s = 1
	// keeps in one row. Its variance is .96 of Laplace noise's at ε = 1, .52 at 4 and .11 at 8.
	Staircase

	lastNoise = Staircase
)

var noiseNames = []string{"AutoNoise", "Laplace", "DiscreteLaplace", "Gaussian", "Staircase"}

// String returns the name of the constant.
func (n Noise) String() string { return check.EnumName(n, noiseNames, "Noise") }

// law is noise with its numbers.
type law struct {
	kind  Noise
	input bool    // on the coordinates of the vector
	step  float64 // the grid, in the units of the data: a power of two
	scale float64 // the scale of Laplace noise or σ, in steps; Δ of the staircase
	// of the staircase, whose shape depends on it: ε
	epsilon float64
}

// moments returns E X², E X⁴, E X⁶ and E X⁸ of the noise that is drawn, in steps. Laplace noise is
// rounded to integers n ≠ 0 with probability sinh(1/2b)·q^|n|, q = e^{−1/b}, discrete Laplace noise
// has tanh(1/2b)·q^|n|; Σ nʲqⁿ is q·Aⱼ(q)/(1−q)ʲ⁺¹ with Euler's polynomials Aⱼ.
func (l law) moments() (m [4]float64) {
	if l.kind == Staircase {
		return l.stairs()
	}
	weight := 2 * math.Sinh(1/(2*l.scale))
	if l.kind == DiscreteLaplace {
		weight = 2 * math.Tanh(1/(2*l.scale))
	}
	q, rest := math.Exp(-1/l.scale), -math.Expm1(-1/l.scale)
	power := weight * q / rest
	for i := range m {
		power /= rest * rest
		sum := 0.0
		for _, c := range eulerian[i] {
			sum = sum*q + c
		}
		m[i] = power * sum
	}
	return m
}

// eulerian are the coefficients of A₂, A₄, A₆ and A₈, which are the same from both ends.
var eulerian = [4][]float64{{1, 1}, {1, 11, 11, 1}, {1, 57, 302, 302, 57, 1}, {1, 247, 4293, 15619, 15619, 4293, 247, 1}}

// stairs returns the moments of staircase noise, rounded to integers: of f_j = (1−q)qʲ/(2ΔD) up to
// ±(j+γ)Δ, D = γ + (1−γ)q, Σ 2(f_j − f_{j+1})·∫ round(u)ⁿ du over [0, (j+γ)Δ]. The terms rise and
// then fall: those that change nothing any more are left out.
func (l law) stairs() (m [4]float64) {
	gamma := must(noise.StaircaseGammaVariance(l.epsilon))
	q, rest := math.Exp(-l.epsilon), -math.Expm1(-l.epsilon)
	weight := rest * rest / (l.scale * (gamma + (1-gamma)*q))
	for j, more := 0.0, true; more; j++ {
		end := (j + gamma) * l.scale
		n := math.Floor(end + 0.5) // the integer of the last cell, of which end leaves a part
		part, last := end-n+0.5, max(n-1, 0)
		all, square := last*(last+1)*(2*last+1), n*n
		more = n == 0
		for i, sum := range powerSums {
			polynomial := 0.0
			for _, c := range sum[1:] {
				polynomial = polynomial*last + c
			}
			before := m[i]
			m[i] += weight * (all*polynomial/sum[0] + square*part)
			more = more || m[i] > before
			square *= n * n
		}
		weight *= q
	}
	return m
}

// powerSums are those of 1 to M to the powers 2, 4, 6 and 8, as M(M+1)(2M+1)·P(M)/d: d and P.
var powerSums = [4][]float64{{6, 1}, {30, 3, 3, -1}, {42, 3, 6, 0, -3, 1}, {90, 5, 15, 5, -15, -1, 9, -3}}

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
	case Staircase:
		d := must(noise.NewStaircase(l.epsilon, l.scale, must(noise.StaircaseGammaVariance(l.epsilon))))
		return func() int64 { return within(int64(d.Sample(src, 1))) }
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

// cumulants are those of one variable of mean 0, all odd ones being 0: those of independent
// variables add up.
type cumulants struct{ two, four, six, eight float64 }

func (a cumulants) plus(b cumulants) cumulants {
	return cumulants{a.two + b.two, a.four + b.four, a.six + b.six, a.eight + b.eight}
}

// fourth returns E X⁴.
func (a cumulants) fourth() float64 { return a.four + 3*a.two*a.two }

// cumulants returns those of the noise, in units in which a step is unit. Normal noise of σ ≥ 2⁹
// steps has those of N + U, U uniform on [−½, ½], up to e^{−2π²σ²}.
func (l law) cumulants(unit float64) cumulants {
	c := cumulants{l.scale*l.scale + 1.0/12, -1.0 / 120, 1.0 / 252, -1.0 / 240}
	if l.kind != Gaussian {
		m := l.moments()
		v := m[0] * m[0]
		c = cumulants{two: m[0], four: m[1] - 3*v}
		c.six = m[2] - 15*c.four*m[0] - 15*v*m[0]
		c.eight = m[3] - 28*c.six*m[0] - 35*c.four*c.four - 210*c.four*v - 105*v*v
	}
	v := unit * unit
	return cumulants{c.two * v, c.four * v * v, c.six * v * v * v, c.eight * v * v * v * v}
}
