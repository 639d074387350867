package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// calibration is a mechanism with all its numbers, in units: counts, or 1/(k+1) of a count where
// sketches are reduced. SparseVector has those of package threshold.
type calibration struct {
	method Method
	input  Input
	per    float64 // units in a count
	// of the shared and the own noise, each for one element; 0 where none is shared
	epsilon  float64
	sumLaw        // scale and threshold of all; and R, β, o where sketches are reduced
	together bool // the keys of a user are counted together, by Algorithm 4
	sparse   sparse.Law

	// A release says besides, with noise, how much the true count of a key may be above
	// its counter or its units: the number D of decrements of the sketch or, where
	// sketches are reduced, their length Σc + (k+1)·D in units. lost is the scale of
	// that noise; 0 where it is −η, of SparseVector, and where it is not released.
	lost float64
}

// noise is the law of the own noise, and of the shared one.
func (c calibration) noise() noise.DiscreteLaplace { return discreteLaplace(c.scale) }

// discreteLaplace returns the law of a scale that a calibration has found to be valid.
func discreteLaplace(scale float64) noise.DiscreteLaplace {
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	return d
}

// counters returns k, where sketches are reduced.
func (c calibration) counters() int { return int(c.per) - 1 }

// counts returns units as a number of counts.
func (c calibration) counts(units int64) float64 { return float64(units) / c.per }

// lowest returns the least count that is released.
func (c calibration) lowest() float64 { return c.counts(c.threshold) }

// own returns a bound that the own noise of one count exceeds with probability at most tail.
func (c calibration) own(tail float64) float64 { return c.counts(noiseBound(c.scale, tail)) }

// noiseBound returns the least bound, in units, that noise of a scale exceeds with probability at
// most tail.
func noiseBound(scale, tail float64) int64 {
	d, want := discreteLaplace(scale), math.Log(tail)
	return search.Least(0, func(t int64) bool { return d.LogSurvival(float64(t)) <= want })
}

// ownOfAll returns the least t ≥ 0 with Pr[L_i < −t for one of n counts] + more(t) ≤ tail.
func (c calibration) ownOfAll(n, tail float64, more func(t int64) float64) float64 {
	d := c.noise()
	return c.counts(search.Least(0, func(t int64) bool {
		return -math.Expm1(n*math.Log1p(-d.Survival(float64(t))))+more(t) <= tail
	}))
}

// shifts returns the most that the private shifts of so many sketches take off a count but for a
// probability of tail, 0 where nothing is shifted.
func (c calibration) shifts(sketches, tail float64) float64 {
	if c.shift == 0 {
		return 0
	}
	return sketches * c.counts(c.offset+leastReach(c.shift, tail/sketches))
}

// has reports whether the numbers are those of a mechanism that shares noise, rounds, cuts off and
// shifts or does not, and are in the range in which all methods work.
func (c calibration) has(shared, rounded, cut, shifted bool) bool {
	absent := func(x float64) bool { return x == 0 && !math.Signbit(x) }
	const most = sketch.Limit
	if _, err := noise.NewDiscreteLaplace(c.lost); c.lost != 0 && err != nil || math.Signbit(c.lost) {
		return false
	}
	return c.scale > 0x1p-40 && c.sumLaw.valid() &&
		c.from >= 0 && c.from <= c.threshold && c.threshold < most && c.offset >= 0 && c.offset < most &&
		(c.threshold > 0) == cut && (c.from > 0) == rounded && (!rounded || c.from < c.threshold) &&
		(shared && c.epsilon >= limits.MinEpsilon/maxElements && c.epsilon <= limits.MaxEpsilon || !shared && absent(c.epsilon)) &&
		(shifted && c.shift > 0 || !shifted && absent(c.shift) && c.offset == 0)
}
