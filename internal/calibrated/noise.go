// Package calibrated has noise with its numbers: what a mechanism adds to integers, or to numbers
// on a grid, calibrated for a guarantee. The distributions and their samplers are package noise's.
package calibrated

import (
	"errors"
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Kind is a distribution.
type Kind uint8

const (
	none             Kind = iota
	Laplace               // real-valued, rounded to the grid
	DiscreteLaplace       // on the integers
	Gaussian              // real-valued, rounded to the grid
	Staircase             // real-valued, rounded to the grid
	DiscreteGaussian      // on the integers
)

// Noise is a distribution with its numbers. Scale and Step are in one unit: that of the data, or
// steps, where Step is 1. The zero Noise, and one whose numbers no distribution has, draws
// uniformly from all int64, and its formulas are NaN.
type Noise struct {
	Kind  Kind
	Scale float64 // of Laplace noise and the like, or σ; Δ of a staircase
	Shape float64 // ε of a staircase, else 0
	Step  float64 // the grid: a power of two, and 1 for discrete noise
}

var errGuarantee = errors.New("calibrated: this kind of noise does not have this guarantee")

// Calibrate returns the least noise with Step 1 that makes a release of a sensitivity, in ℓ₁ for
// Laplace noise and in ℓ₂ for Gaussian noise, private: ρ-zCDP if rho is not 0, else (ε, δ)-DP for
// Gaussian noise, and ε-DP for the others. Discrete Gaussian noise is for rho alone. (Its δ is up
// to twice that of Gaussian noise.)
func Calibrate(kind Kind, epsilon, delta, rho, sensitivity float64) (n Noise, err error) {
	n = Noise{Kind: kind, Step: 1}
	switch {
	case rho != 0 && (kind == Gaussian || kind == DiscreteGaussian):
		n.Scale, err = noise.GaussianSigmaZCDP(rho, sensitivity)
	case rho == 0 && kind == Gaussian:
		n.Scale, err = noise.GaussianSigma(epsilon, delta, sensitivity)
	case rho == 0 && (kind == Laplace || kind == DiscreteLaplace):
		n.Scale, err = noise.LaplaceScale(epsilon, sensitivity)
	default:
		err = errGuarantee
	}
	if err != nil {
		return Noise{}, err
	}
	return n, nil
}

// OnGrid reports whether the step is a power of two, and the scale from least to most steps. A
// decoder asks this; up to 2⁴⁶ steps all noise can be drawn.
func (n Noise) OnGrid(least, most float64) bool {
	fraction, _ := math.Frexp(n.Step)
	return fraction == 0.5 && n.Step >= 0x1p-900 && n.Step <= 0x1p900 && n.Scale >= least*n.Step && n.Scale <= most*n.Step
}

// Steps returns the scale in steps.
func (n Noise) Steps() float64 { return n.Scale / n.Step }

// Sample draws the noise, in steps.
func (n Noise) Sample(src *noise.Source) (steps int64) {
	switch n.Kind {
	case Laplace:
		d, _ := noise.NewLaplace(n.Scale)
		steps, _ = d.SampleSteps(src, n.Step)
	case Gaussian:
		d, _ := noise.NewGaussian(n.Scale)
		steps = inSteps(src, d.Sample(src, n.Step)/n.Step)
	default:
		steps = n.Sampler(src)()
	}
	return steps
}

// Sampler returns a function that draws the noise, in steps, again and again: in less time than
// Sample where a distribution takes long to make.
func (n Noise) Sampler(src *noise.Source) func() int64 {
	switch n.Kind {
	case DiscreteLaplace:
		d, _ := noise.NewDiscreteLaplace(n.Scale)
		return func() int64 { return d.SampleInt(src) }
	case DiscreteGaussian:
		d, _ := noise.NewDiscreteGaussian(n.Scale)
		return func() int64 { return d.SampleInt(src) }
	case Staircase:
		d := n.staircase()
		return func() int64 { return inSteps(src, d.Sample(src, n.Step)/n.Step) }
	case Laplace, Gaussian:
		return func() int64 { return n.Sample(src) }
	}
	return func() int64 { return int64(src.Uint64()) }
}

// inSteps returns a draw in steps as an integer. NaN, the draw of a distribution that was not made,
// becomes uniform over all int64, as the draws of package noise that are integers.
func inSteps(src *noise.Source, steps float64) int64 {
	if steps != steps {
		return int64(src.Uint64())
	}
	return int64(steps)
}

// staircase returns the staircase of the least variance.
func (n Noise) staircase() noise.Staircase {
	gamma, _ := noise.StaircaseGammaVariance(n.Shape)
	d, _ := noise.NewStaircase(n.Shape, n.Scale, gamma)
	return d
}

// Distribution has the formulas of a distribution.
type Distribution interface {
	CDF(x float64) float64
	Survival(x float64) float64
	Quantile(p float64) float64
	LogProb(x float64) float64
	Variance() float64
}

// Distribution returns the distribution before it is rounded to the grid.
func (n Noise) Distribution() Distribution {
	var d Distribution
	switch n.Kind {
	case DiscreteLaplace:
		d, _ = noise.NewDiscreteLaplace(n.Scale)
	case Gaussian:
		d, _ = noise.NewGaussian(n.Scale)
	case Staircase:
		d = n.staircase()
	case DiscreteGaussian:
		d, _ = noise.NewDiscreteGaussian(n.Scale)
	case Laplace:
		d, _ = noise.NewLaplace(n.Scale)
	default:
		d = noise.Laplace{}
	}
	return d
}

// Reach returns the least number of steps that a draw exceeds in absolute value with probability at
// most tail, or for Gaussian noise one more.
func (n Noise) Reach(tail float64) float64 {
	x := -n.Distribution().Quantile(tail/2) / n.Step
	switch {
	case tail >= 1:
		return 0
	case n.Kind == DiscreteLaplace || n.Kind == DiscreteGaussian:
		return x
	}
	// rounded to the grid: more than k is k + ½ or more before
	return max(0, math.Ceil(x*(1+0x1p-40)-0.5))
}

// Variance returns the variance of a draw, rounding included, in the unit of Scale and Step.
func (n Noise) Variance() float64 {
	switch n.Kind {
	case Laplace, Staircase:
		return n.Moments()[0] * n.Step * n.Step
	case DiscreteLaplace, DiscreteGaussian:
		return n.Distribution().Variance()
	}
	return n.Distribution().Variance() + n.Step*n.Step/12
}

// StdDev returns the standard deviation of a draw.
func (n Noise) StdDev() float64 { return math.Sqrt(n.Variance()) }

// Moments returns E X², E X⁴, E X⁶ and E X⁸ of a draw X of Laplace, discrete Laplace or staircase
// noise, in steps. Laplace noise is rounded to integers k ≠ 0 with probability sinh(1/2b)·q^|k|,
// q = e^{−1/b}; discrete Laplace noise has tanh(1/2b)·q^|k|; Σ kʲqᵏ is q·Aⱼ(q)/(1−q)ʲ⁺¹ with
// Euler's polynomials Aⱼ.
func (n Noise) Moments() (m [4]float64) {
	if n.Kind == Staircase {
		return n.stairs()
	}
	b := max(n.Steps(), 0) // 0 is NaN below
	weight := 2 * math.Sinh(1/(2*b))
	if n.Kind == DiscreteLaplace {
		weight = 2 * math.Tanh(1/(2*b))
	}
	q, rest := math.Exp(-1/b), -math.Expm1(-1/b)
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

// stairs is Moments of a staircase: of f_j = (1−q)qʲ/(2ΔD) up to ±(j+γ)Δ, D = γ + (1−γ)q, it is
// Σ 2(f_j − f_{j+1})·∫ round(u)ⁿ du over [0, (j+γ)Δ]. The terms rise and then fall: those that
// change nothing any more are left out.
func (n Noise) stairs() (m [4]float64) {
	epsilon, delta, gamma := n.staircase().Parameters()
	if delta /= n.Step; !(epsilon > 0 && delta > 0 && delta <= math.MaxFloat64) {
		return [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	q, rest := math.Exp(-epsilon), -math.Expm1(-epsilon)
	weight := rest * rest / (delta * (gamma + (1-gamma)*q))
	for j, more := 0.0, true; more; j++ {
		end := (j + gamma) * delta
		k := math.Floor(end + 0.5) // the integer of the last cell, of which end leaves a part
		part, last := end-k+0.5, max(k-1, 0)
		all, square := last*(last+1)*(2*last+1), k*k
		more = k == 0
		for i, sum := range powerSums {
			polynomial := 0.0
			for _, c := range sum[1:] {
				polynomial = polynomial*last + c
			}
			before := m[i]
			m[i] += weight * (all*polynomial/sum[0] + square*part)
			more = more || m[i] > before
			square *= k * k
		}
		weight *= q
	}
	return m
}

// powerSums are those of 1 to M to the powers 2, 4, 6 and 8, as M(M+1)(2M+1)·P(M)/d: d and P.
var powerSums = [4][]float64{{6, 1}, {30, 3, 3, -1}, {42, 3, 6, 0, -3, 1}, {90, 5, 15, 5, -15, -1, 9, -3}}
