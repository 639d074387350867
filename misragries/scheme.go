package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// scheme is how a mechanism of this package draws a release, in units: counts, or 1/(k+1) of a count where sketches are reduced.
// SparseVector has its law in package threshold.
type scheme struct {
	mechanism Mechanism
	per       float64 // units in a count
	epsilon   float64 // KeptZeros, FreedZeros: of the shared and the own noise, each for one element
	sum       sumLaw  // scale, threshold; and R, β, o where sketches are reduced
}

// noise is the law of the own noise, and of the shared one.
func (l scheme) noise() noise.DiscreteLaplace { return discreteLaplace(l.sum.scale) }

// discreteLaplace returns the law of a scale that a calibration has found to be valid.
func discreteLaplace(scale float64) noise.DiscreteLaplace {
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	return d
}

// counts returns units as a number of counts.
func (l scheme) counts(units int64) float64 { return float64(units) / l.per }

// lowest returns the least count that is released.
func (l scheme) lowest() float64 { return l.counts(l.sum.threshold) }

// stdDev returns the standard deviation of the noise of one released count.
func (l scheme) stdDev() float64 {
	v := l.noise().Variance()
	if l.shared() {
		v *= 2
	}
	return math.Sqrt(v) / l.per
}

// shared reports whether there is noise that all counts share, and a noisy number of decrements in which it cancels.
func (l scheme) shared() bool { return l.mechanism == KeptZeros || l.mechanism == FreedZeros }

// above returns a bound that the noise of one count exceeds with probability at most tail.
func (l scheme) above(tail float64) float64 {
	want := math.Log(tail)
	if l.shared() {
		return float64(search.Least(0, func(t int64) bool { return logSurvivalSum(l.epsilon, float64(t)+1) <= want }))
	}
	d := l.noise()
	return l.counts(search.Least(0, func(t int64) bool { return d.LogSurvival(float64(t)) <= want }))
}

// own returns a bound that the own noise of one count exceeds with probability at most tail.
func (l scheme) own(tail float64) float64 {
	d, want := l.noise(), math.Log(tail)
	return l.counts(search.Least(0, func(t int64) bool { return d.LogSurvival(float64(t)) <= want }))
}

// joint returns the least t ≥ 0 with Pr[L_i < −t for one of n counts, or, with shared noise, η > τ − 1 + t] ≤ tail.
func (l scheme) joint(n, tail float64) float64 {
	d, tau := l.noise(), float64(l.sum.threshold)
	return l.counts(search.Least(0, func(t int64) bool {
		p := -math.Expm1(n * math.Log1p(-d.Survival(float64(t))))
		if l.shared() {
			p += d.Survival(tau - 1 + float64(t))
		}
		return p <= tail
	}))
}
