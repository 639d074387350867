package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// scheme is how a mechanism of this package draws a release, in units: counts, or 1/(k+1) of a
// count where sketches are reduced. SparseVector has its law in package threshold.
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

// shared reports whether there is noise that all counts share, and a noisy number of decrements in
// which it cancels.
func (l scheme) shared() bool { return l.mechanism == KeptZeros || l.mechanism == FreedZeros }

// above returns a bound that the noise of one count exceeds with probability at most tail.
func (l scheme) above(tail float64) float64 {
	if !l.shared() {
		return l.own(tail)
	}
	want := math.Log(tail)
	return l.counts(search.Least(0, func(t int64) bool { return logSurvivalSum(l.epsilon, float64(t)+1) <= want }))
}

// own returns a bound that the own noise of one count exceeds with probability at most tail.
func (l scheme) own(tail float64) float64 {
	d, want := l.noise(), math.Log(tail)
	return l.counts(search.Least(0, func(t int64) bool { return d.LogSurvival(float64(t)) <= want }))
}

// joint returns the least t ≥ 0 with Pr[L_i < −t for one of n counts, or, with shared noise, η > τ
// − 1 + t] ≤ tail.
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

// besidesUndercount returns a bound on what the estimates of all keys are off by at once, besides
// the undercount n/(k+1), if so many keys have noise and so many sketches were reduced.
//
// A shown count is off by its noise, or by R and its noise where it was rounded up. A hidden one is
// below the threshold less its noise. Over a universe, the k largest are shown, so one that is
// hidden is below the noise of a key without a value, less its own. A private shift takes what it
// takes.
func (l scheme) besidesUndercount(noisy, sketches, confidence float64) float64 {
	fails, shifts := 1-confidence, 0.0
	if l.mechanism.shifts() {
		fails /= 2
		shifts = l.shifts(sketches, fails)
	}
	noise := l.above(fails / (2 * noisy))
	if l.mechanism.universe() {
		return 2*noise + shifts
	}
	return noise + l.lowest() + shifts
}

// shifts returns the most that the private shifts of so many sketches take off a count but for a
// probability of tail.
func (l scheme) shifts(sketches, tail float64) float64 {
	return sketches * l.counts(l.sum.offset+leastReach(l.sum.shift, tail/sketches))
}
