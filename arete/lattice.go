package arete

import (
	"fmt"
	"math"
)

// Lattice is infinitely divisible noise on a lattice, calibrated and certified: X = (Δ/H)·Z with an
// integer Z. Adding X to a value on the lattice with sensitivity Δ, which is H steps, is
// ε-differentially private. Get it from [New] and [Mechanism.Lattice].
//
// Its methods describe Z, in steps of length [Lattice.Step], like the methods of
// noise.DiscreteLaplace; the mean of Z is 0. They take and return public numbers. They return NaN
// for a NaN, on the zero Lattice, and where they would need a table of more than 2²³ masses, or of
// a core of variance above 2500. A Lattice is immutable and safe for concurrent use; methods keep
// what they compute on the first call.
type Lattice struct {
	params Params
	spec   spec
	whole  sampler
	tables *tables
}

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

// valid reports whether l comes from a constructor.
func (l *Lattice) valid() bool { return l.spec.size > 0 }
