package arete

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Lattice is infinitely divisible noise on a lattice, calibrated and certified: X = (Δ/H)·Z with an
// integer Z. Adding X to a value on the lattice whose sensitivity is Δ, H steps, is
// ε-differentially private. [Best] and [Params.Lattice] make it.
//
// Its methods speak of Z, in steps, as those of noise.DiscreteLaplace do: multiply by
// [Lattice.Step] for the units of the data. They take and return public numbers, and return NaN for
// a NaN, on the zero Lattice, and where a table of more than 2²³ masses, or of a core of variance
// above 2500, would be needed. A Lattice
// is immutable and safe for concurrent use; what the methods compute first they keep.
type Lattice struct {
	params Params
	spec   spec
	whole  sampler
	tables *tables
}

// Best returns the divisible noise of the least E|X| for real-valued queries of sensitivity Δ: a
// jump law from ε ≈ 1.9 on, Laplace noise below. It is certified for the parameters as they are.
// E|X| is Params.MeanAbs; in units of the optimum of all ε-DP noise, Δ·e^{ε/2}/(e^ε−1), which is
// not divisible, it is
//
//	ε           2     2.5   3     4     5     6     7     8     10    12    14    16    20
//	Best        1.167 1.185 1.194 1.195 1.183 1.171 1.160 1.150 1.139 1.134 1.132 1.132 1.132
//	Arete       –     –     –     1.774 2.160 2.492 2.738 2.914 3.122 3.220 3.264 3.283 3.295
//	Laplace     1.175 1.282 1.420 1.813 2.420 3.340 4.727 6.822 14.84 33.62 78.33 186.3 1101
//
// For integers, Params with Integers have a Lattice of less noise: for Δ = 1 discrete Laplace
// noise, the optimum of all noise; for a larger Δ and ε a jump law, mostly without a core: 0 but
// for rare uniform jumps.
//
// What the noise still promises to inputs that differ by more than Δ: the loss at multiples of Δ,
// for ε = 8 and 4 (V, H and W are 20, 342, 352 and 20, 50, 56):
//
//	law, and E|X|/Δ               1.01       1.05       1.1        1.2        1.5        2
//	Best .0211, .165              8.04 4.05  11.9 4.26  13.2 4.65  13.3 5.86  13.7 7.06  15.3 7.80
//	W = 1.1·H + 2√V: .0231, .184  8.00 4.00  8.00 4.00  8.20 4.03  13.2 4.58  13.5 6.83  14.4 7.41
//	DiscreteArete .0534, .245     8.02 4.03  8.11 4.16  8.22 4.32  8.43 4.64  9.02 5.57  9.92 7.07
//	DiscreteLaplace .125, .25     8.08 4.04  8.40 4.20  8.80 4.40  9.60 4.80  12.0 6.00  16.0 8.00
//	Staircase .0183, .138         16   8     16   8     16   8     16   8     16   8     16   8
//
// Where Δ may be exceeded by a known few percent, give a Sensitivity that is larger by as much: the
// wider law of the second line is hardly less noise than that. Where it may be exceeded by any
// factor, as the data are not clamped, take DiscreteLaplace or DiscreteArete.
//
// The error wraps [ErrParams] unless epsilon is in [2⁻³⁰, 2¹⁰] and sensitivity, in the units of the
// data, in [2⁻²⁰⁰, 2²⁰⁰].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func Best(epsilon, sensitivity float64) (*Lattice, error) {
	return Params{Epsilon: epsilon, Sensitivity: sensitivity}.Lattice()
}

// Law returns the family of the law.
func (l *Lattice) Law() Law { return l.spec.law }

// Params returns the parameters that the noise is calibrated for, with the Law.
func (l *Lattice) Params() Params { return l.params }

// String names the law and all its parameters, exactly: equal texts are equal laws.
func (l *Lattice) String() string {
	if !l.valid() {
		return "arete.Lattice (not made by this package)"
	}
	text := fmt.Sprintf("%v, %d steps of %v:", l.spec.law, l.spec.size, l.Step())
	switch j, d := l.spec.jump, l.spec.arete; l.spec.law {
	case Jump, LogJump:
		text += fmt.Sprintf(" V = %v, W = %d, c = %v, p = 1 − %d/2⁶⁴, q = %d/2⁶⁴", j.core, j.width, j.jumps, j.beyond, j.again)
	case DiscreteArete:
		text += fmt.Sprintf(" α = %v, s = %v, r = %v", d.shape, d.tail, d.core)
	case DiscreteLaplace:
		text += fmt.Sprintf(" scale %v", l.spec.scale)
	case Staircase:
		text += fmt.Sprintf(" ε = %v, r = %d", l.spec.scale, l.spec.inner)
	case Gaussian:
		text += fmt.Sprintf(" σ = %v", l.spec.scale)
	}
	return text
}

// Steps returns H, the sensitivity in steps.
func (l *Lattice) Steps() int64 { return l.spec.size }

// Step returns Δ/H, the distance of two points of the lattice, in the units of the data.
func (l *Lattice) Step() float64 { return l.params.sensitivity() / float64(l.spec.size) }

// Certify computes the certificate again, for the law as it stands, and returns the bound on the
// loss ln Pr[Z = k]/Pr[Z = k+j], over all k and all |j| ≤ H, that it proves, and whether that is at
// most the Epsilon of the Params. Gaussian noise has no such bound: the loss is +Inf, and ok says
// whether Delta or Rho is proved.
func (l *Lattice) Certify() (loss float64, ok bool) {
	if !l.valid() {
		return math.NaN(), false
	}
	if l.spec.law == Gaussian {
		return math.Inf(1), l.params.gaussianHolds(l.spec.scale, l.spec.size, 1)
	}
	loss = l.spec.loss(l.params.Epsilon)
	return loss, loss <= l.params.Epsilon
}

// SampleInt draws Z. Every integer has exactly the probability of the law, for its parameters as
// they are stored. On the zero Lattice it is uniform over all int64, and so hides whatever is
// added.
func (l *Lattice) SampleInt(src *noise.Source) int64 {
	if !l.valid() {
		return int64(src.Uint64())
	}
	return l.whole.draw(src)
}

// Sample draws Z and rounds it to a multiple of step, halves upwards; where step ≤ 1 nothing is
// rounded. step must be a power of two; otherwise the result is NaN.
func (l *Lattice) Sample(src *noise.Source, step float64) float64 {
	if fraction, exp := math.Frexp(step); fraction != 0.5 || !l.valid() {
		return math.NaN()
	} else if step > 1 {
		return roundTo(l.SampleInt(src), exp-1)
	}
	return float64(l.SampleInt(src))
}

// roundTo rounds k to a multiple of 2^shift, halves upwards, shift ≥ 1.
func roundTo(k int64, shift int) float64 {
	if shift > 62 {
		return 0
	}
	return math.Ldexp(float64(k>>shift+k>>(shift-1)&1), shift)
}

// valid reports whether l comes from a constructor.
func (l *Lattice) valid() bool { return l.spec.size > 0 }
