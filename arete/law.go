package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Law names a family of infinitely divisible noise on a lattice.
type Law uint8

const (
	// Auto chooses the law with the least E|Z|, as [Best] does.
	Auto Law = iota
	// Jump is a narrow Skellam core and rare jumps of nearly uniform size; where that is less, for integers, the jumps alone.
	Jump
	// DiscreteArete is the lattice version of the Arete distribution: its gamma laws are negative binomial, its Laplace law discrete.
	DiscreteArete
	// DiscreteLaplace is discrete Laplace noise, the least of all laws where Sensitivity is one step of the lattice.
	DiscreteLaplace
)

const lastLaw = DiscreteLaplace

// String returns the name of the constant.
func (l Law) String() string {
	if l > lastLaw {
		return "unknown"
	}
	return [...]string{"Auto", "Jump", "DiscreteArete", "DiscreteLaplace"}[l]
}

// sampler draws an integer of one law, exactly. It is immutable once made.
type sampler interface{ draw(src *noise.Source) int64 }

// spec is all there is to know of a calibrated law on the integers. Of the last three fields one is in use.
type spec struct {
	law    Law
	jump   jump
	arete  discrete
	scale  float64 // of DiscreteLaplace
	size   int64   // H, the sensitivity in steps
	copies float64 // how many times the calibrated law: more than 1 where parties drop out less than they may
}

// sampler returns what draws one of n shares of the law.
func (s spec) sampler(parts uint64) (sampler, error) {
	switch s.law {
	case Jump:
		return s.jump.sampler(parts), nil
	case DiscreteArete:
		return s.arete.sampler(parts)
	}
	return laplaceSampler(s.scale, parts)
}

// loss returns an upper bound on the loss over shifts of up to H that is proved to hold if it is at most epsilon.
//
// For discrete Laplace noise of scale b it is H/b, rounded up by more than two roundings.
func (s spec) loss(epsilon float64) float64 {
	switch s.law {
	case Jump:
		return s.jump.loss(epsilon)
	case DiscreteArete:
		return s.arete.loss(epsilon)
	}
	return float64(s.size) / s.scale
}

// variance returns E[Z²] in steps.
func (s spec) variance() float64 {
	switch s.law {
	case Jump:
		return s.copies * s.jump.variance()
	case DiscreteArete:
		return s.copies * s.arete.variance()
	}
	sinh := math.Sinh(1 / (2 * s.scale))
	return s.copies / (2 * sinh * sinh)
}

// exponent returns ln E e^{xZ}, and limit the end of the x for which it is finite.
func (s spec) exponent(x float64) float64 {
	switch s.law {
	case Jump:
		return s.copies * (s.jump.exponent(x) + s.jump.exponent(-x))
	case DiscreteArete:
		return s.copies * (s.arete.exponent(x) + s.arete.exponent(-x))
	}
	return s.copies * (geometricExponent(1, s.scale, x) + geometricExponent(1, s.scale, -x))
}

func (s spec) limit() float64 {
	switch s.law {
	case Jump:
		return -math.Log(s.jump.decay()) / float64(s.size)
	case DiscreteArete:
		return 1 / s.arete.tail
	}
	return 1 / s.scale
}

// deviation returns a k with Pr[|Z| > k] ≤ 1 − confidence, by Chernoff's bound at the best of many x: within some 30 % of the least for
// confidences near 1, and always valid.
func (s spec) deviation(confidence float64) float64 {
	least := math.Inf(1)
	for i := 1; i < 200; i++ {
		x := s.limit() * float64(i) / 200
		if k := (s.exponent(x) - math.Log((1-confidence)/2)) / x; k < least { // not for NaN
			least = k
		}
	}
	return least
}

// oneSided returns n masses of the upward jumps, for a law of one copy.
func (s spec) oneSided(n int) *oneSided {
	if s.law == Jump {
		return s.jump.oneSided(n)
	}
	return s.arete.oneSided(n)
}

// reach returns a number of masses beyond which there is next to nothing: less than e^{−nats}.
func (s spec) reach(nats float64) float64 {
	x := 0.9 * s.limit()
	return (s.upward(x)+nats)/x + float64(s.size) + 128
}

// upward returns ln E e^{xA} for the upward jumps A.
func (s spec) upward(x float64) float64 {
	if s.law == Jump {
		return s.jump.exponent(x)
	}
	return s.arete.exponent(x)
}
