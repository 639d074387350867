package noise

import "math"

// Geometric is the distribution on the integers k ≥ 0 with Pr[X ≥ k] = e^{−k/b}, b the scale: Pr[X
// = k] = (1−q)·q^k with q = e^{−1/b}. It is the exponential distribution of mean b rounded down,
// and memoryless: X − k given X ≥ k has the same law.
//
// Its mean, E|X| too, is q/(1−q), a little above b − ½, and its variance q/(1−q)² =
// 1/(4·sinh²(1/(2b))), a little below b². CDF, Survival and LogSurvival have a relative error of
// 1e-15.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Geometric,
// which [NewGeometric] returns only with an error.
type Geometric struct{ integer[geometricFormulas] }

// NewGeometric returns the geometric distribution of the given scale. The error wraps [ErrParams]
// unless scale is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewGeometric(scale float64) (Geometric, error) {
	if err := checkDiscrete("scale", scale); err != nil {
		return Geometric{}, err
	}
	return Geometric{integer[geometricFormulas]{geometricFormulas{scale}}}, nil
}

// Scale returns b.
func (d Geometric) Scale() float64 { return d.law.scale }

// geometricFormulas are those of a Geometric.
type geometricFormulas struct{ scale float64 }

func (d geometricFormulas) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d geometricFormulas) decay() float64 { return expNeg(divide(1, d.scale)) }

// zero returns Pr[X = 0] = 1 − q.
func (d geometricFormulas) zero() float64 { return -math.Expm1(-1 / d.scale) }

func (d geometricFormulas) atMost(j float64) float64 {
	if j < 0 {
		return 0
	}
	return -math.Expm1(-(j + 1) / d.scale)
}

func (d geometricFormulas) above(j float64) float64 {
	if j < 0 {
		return 1
	}
	return expNeg(divide(j, d.scale)) * d.decay() // j + 1 may not be a float64
}

func (d geometricFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return 0
	}
	return -(j + 1) / d.scale
}

func (d geometricFormulas) quantile(p float64) float64 {
	if p == 0 {
		return 0
	}
	// e^{−(k+1)/b} ≤ 1 − p: a guess that is off by rounding only.
	guess := math.Ceil(-d.scale*math.Log1p(-p)) - 1
	return settleQuantile(max(guess, 0), p, d)
}

func (d geometricFormulas) mean() float64 { return d.decay() / d.zero() }

func (d geometricFormulas) variance() float64 { return d.mean() / d.zero() }

func (d geometricFormulas) meanAbs() float64 { return d.mean() }

func (d geometricFormulas) mass(j float64) float64 {
	if j < 0 {
		return 0
	}
	return expNeg(divide(j, d.scale)) * d.zero()
}

func (d geometricFormulas) logMass(j float64) float64 {
	if j < 0 {
		return math.Inf(-1)
	}
	return -j/d.scale + math.Log(d.zero())
}
