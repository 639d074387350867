package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// Law names a family of infinitely divisible noise.
type Law uint8

const (
	// Auto chooses the noise with the least error.
	Auto Law = iota
	// Jump is a narrow Skellam core and rare jumps of nearly uniform size. For
	// integers it is the jumps alone where that is less noise.
	Jump
	// DiscreteArete is the lattice version of the Arete distribution: negative
	// binomial in place of gamma, and discrete Laplace.
	DiscreteArete
	// DiscreteLaplace is the least noise where Sensitivity is one step.
	DiscreteLaplace
	// Gaussian is discrete Gaussian noise, (Epsilon, Delta)-DP or Rho-zCDP. It is
	// never chosen for Epsilon alone; many releases compose better under Rho. Its
	// shares add up to it within a factor of 1 ± 10⁻³⁰⁰.
	Gaussian
)

const lastLaw = Gaussian

// Objective is the measure of error that the noise minimises.
type Objective uint8

const (
	// MeanAbs is E|X|.
	MeanAbs Objective = iota
	// MeanSquare is E X²: at ε = 8 it is half as large, and E|X| larger by half.
	MeanSquare
)

var objectiveNames = []string{"MeanAbs", "MeanSquare"}

// String returns the name of the constant.
func (o Objective) String() string { return check.EnumName(o, objectiveNames, "Objective") }

var lawNames = []string{"Auto", "Jump", "DiscreteArete", "DiscreteLaplace", "Gaussian"}

// String returns the name of the constant.
func (l Law) String() string { return check.EnumName(l, lawNames, "Law") }

// sampler draws an integer of one distribution, exactly. It is immutable once made.
type sampler interface{ SampleInt(src *noise.Source) int64 }

// distribution is all there is to know of a calibrated distribution on the integers. Of jump, arete
// and scale one is in use.
type distribution struct {
	law   Law
	jump  jump
	arete discrete
	scale float64 // of DiscreteLaplace, or σ of Gaussian
	size  int64   // H, the sensitivity in steps
	// how many times the calibrated distribution: more than 1 where parties drop out less than they
	// may and the distribution has no other way to say it
	copies float64
}

// jumps reports whether it is the jump distribution.
func (s distribution) jumps() bool { return s.law == Jump }

// sampler returns what draws one of n shares of the distribution.
func (s distribution) sampler(parts uint64) (sampler, error) {
	switch s.law {
	case Jump:
		return s.jump.sampler(parts), nil
	case DiscreteArete:
		return s.arete.sampler(parts)
	case Gaussian:
		return noise.NewDiscreteGaussian(shareSigma(s.scale, parts))
	}
	return laplaceSampler(s.scale, parts)
}

// share returns the distribution of the sum of n shares, which for Gaussian has a slightly larger
// σ.
func (s distribution) share(n uint64) distribution {
	if s.law == Gaussian {
		s.scale = shareSigma(s.scale, n) * math.Sqrt(float64(n))
	}
	return s
}

// loss returns an upper bound on the loss over shifts of up to H that is proved to hold if it is at
// most epsilon.
//
// For discrete Laplace noise of scale b it is H/b: rounded to the nearest, it is at most epsilon if
// and only if b ≥ H/epsilon as a real number rounded up to a float64. For Gaussian there is none.
func (s distribution) loss(epsilon float64) float64 {
	switch s.law {
	case Jump:
		return s.jump.loss(epsilon)
	case DiscreteArete:
		return s.arete.loss(epsilon)
	case Gaussian:
		return math.Inf(1)
	}
	return float64(s.size) / s.scale
}

// variance returns E[Z²] in steps.
func (s distribution) variance() float64 {
	switch s.law {
	case Jump:
		return s.copies * s.jump.variance()
	case DiscreteArete:
		return s.copies * s.arete.variance()
	case Gaussian:
		if d, ok := s.closed(); ok {
			return d.Variance()
		}
		return s.scale * s.scale // shares of a σ near 2⁵⁰ sum to more than package noise has
	}
	return differenceVariance(s.copies, s.scale)
}

// exponent returns ln E e^{xZ}, and limit the end of the x for which it is finite.
func (s distribution) exponent(x float64) float64 {
	switch s.law {
	case Jump:
		return s.copies * (s.jump.exponent(x) + s.jump.exponent(-x))
	case DiscreteArete:
		return s.copies * (s.arete.exponent(x) + s.arete.exponent(-x))
	}
	return s.copies * (geometricExponent(1, s.scale, x) + geometricExponent(1, s.scale, -x))
}

func (s distribution) limit() float64 {
	switch s.law {
	case Jump:
		return s.jump.limit()
	case DiscreteArete:
		return 1 / s.arete.tail
	}
	return 1 / s.scale
}

// deviation returns a k with Pr[|Z + R| > k] ≤ 1 − confidence, R the error of the given number of
// independent random roundings, by Chernoff's bound at the best of many x: within some 30 % of the
// least for confidences near 1, and always valid. A rounding error has mean 0 and two values 1
// apart, so its exponent is at most x²/8 (Hoeffding); that of Gaussian noise is at most σ²x²/2,
// because Σ e^{−(k−c)²/(2σ²)} is largest for an integer c (Poisson summation), and then the best x
// is known.
func (s distribution) deviation(confidence float64, roundings int) float64 {
	half := float64(roundings) / 4
	nats := -math.Log((1 - confidence) / 2)
	if s.law == Gaussian {
		return math.Sqrt(2 * (s.scale*s.scale + half) * nats)
	}
	least := math.Inf(1)
	for i := 1; i < 200; i++ {
		x := s.limit() * float64(i) / 200
		if k := (s.exponent(x) + half*x*x/2 + nats) / x; k < least { // not for NaN
			least = k
		}
	}
	return least
}

// closedForm is a distribution of package noise.
type closedForm interface {
	Prob(x float64) float64
	Survival(x float64) float64
	Quantile(p float64) float64
	MeanAbs() float64
	Variance() float64
}

// closed returns the distribution of one copy, or false if it has no closed form.
func (s distribution) closed() (closedForm, bool) {
	switch s.law {
	case DiscreteLaplace:
		d, err := noise.NewDiscreteLaplace(s.scale)
		return d, err == nil
	case Gaussian:
		d, err := noise.NewDiscreteGaussian(s.scale)
		return d, err == nil
	}
	return nil, false
}

// oneSided returns n masses of the upward jumps, for a distribution of one copy.
func (s distribution) oneSided(n int) *oneSided {
	if s.jumps() {
		return s.jump.oneSided(n)
	}
	return s.arete.oneSided(n)
}

// reach returns a number of masses beyond which there is next to nothing: less than e^{−nats}.
func (s distribution) reach(nats float64) float64 {
	return chernoffReach(s.upward, s.limit(), nats) + float64(s.size) + 128
}

// upward returns ln E e^{xA} for the upward jumps A.
func (s distribution) upward(x float64) float64 {
	if s.jumps() {
		return s.jump.exponent(x)
	}
	return s.arete.exponent(x)
}
