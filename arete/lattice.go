package arete

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Lattice is infinitely divisible noise on a lattice, calibrated and certified: X = (Δ/H)·Z with an
// integer Z. Adding X to a value on the lattice with sensitivity Δ, which is H steps, is
// ε-differentially private. Get it from [New] and [Mechanism.Lattice].
//
// Its methods describe Z, in steps, as those of noise.DiscreteLaplace do: multiply by
// [Lattice.Step] for the units of the data. They take and return public numbers. They return NaN
// for a NaN, on the zero Lattice, and where they would need a table of more than 2²³ masses, or of
// a core of variance above 2500. A Lattice is immutable and safe for concurrent use; methods keep
// what they compute on the first call.
type Lattice struct {
	params Params
	spec   spec
	whole  sampler
	tables *tables
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
	case Jump:
		text += fmt.Sprintf(" V = %v, W = %d, c = %v, p = 1 − %d/2⁶⁴, q = %d/2⁶⁴", j.core, j.width, j.jumps, j.beyond, j.again)
	case DiscreteArete:
		text += fmt.Sprintf(" α = %v, s = %v, r = %v", d.shape, d.tail, d.core)
	case DiscreteLaplace:
		text += fmt.Sprintf(" scale %v", l.spec.scale)
	case Gaussian:
		text += fmt.Sprintf(" σ = %v", l.spec.scale)
	}
	return text
}

// Steps returns H, the sensitivity in steps.
func (l *Lattice) Steps() int64 { return l.spec.size }

// Step returns Δ/H, the distance between adjacent points of the lattice, in the units of the data.
func (l *Lattice) Step() float64 { return l.params.sensitivity() / float64(l.spec.size) }

// Certify computes the certificate again, for the law as it is. It returns loss, a proved upper
// bound on ln Pr[Z = k]/Pr[Z = k+j] over all k and all |j| ≤ H, and ok, whether loss is at most the
// Epsilon of the Params. Gaussian noise has no such bound: the loss is +Inf, and ok says whether
// Delta or Rho is proved.
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
// they are stored. On the zero Lattice it is uniform over all int64, and so hides any value that it
// is added to.
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
