package groupby

import (
	"math"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Shortfall returns bounds, with the given confidence, on how many users clipping may have kept out
// of a count: Σ(1 − √(m/l)) over all users with l > m keys, where m = [Groups.FullKeys] and a user
// with more than MaxKeys keys adds 1. Apart from its noise, no count is below the true number of
// users by more than hi. The count of a key that none of these users has is not low at all. Every
// interval of a count includes the shortfall. 0 and 0 for a list no longer than FullKeys. With two
// passes, l is the number of shown keys of a user (of all keys, after a [Discovery]), and MaxKeys
// does not matter. NaN with KeysOnly, and for a confidence outside [0, 1).
func (g *Groups[K]) Shortfall(confidence float64) (lo, hi float64) {
	if !g.counted() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	x, c := float64(g.shortfall)/unit, g.reach(g.law.shortfall, (1-confidence)/2)
	return max(x-c, 0), max(x+c, 0)
}

// short returns an upper bound on the shortfall that fails with probability at most alpha. Noise is
// rounded to steps, and so may be off by half of one.
func (g *Groups[K]) short(alpha float64) float64 {
	return max((float64(g.shortfall)+1)/unit+g.reach(g.law.shortfall, alpha), 0)
}

// Interval returns bounds that hold the true number of users of the key with at least the given
// confidence, over the noise, for any one key fixed before the release. hi includes what clipping
// may have cost. This comes from one noisy number for all keys, so upper ends fail together. For a
// key that is not shown the bounds are 0 and +Inf: see Plan.Threshold for which keys are shown. NaN
// with KeysOnly, and for a confidence outside [0, 1).
func (g *Groups[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	e, found := g.find(key)
	if !found {
		return 0, math.Inf(1)
	}
	// Below: noise of the count alone. Above: the true number is at most the count as it is clipped
	// and the shortfall, each with noise of its own, of which the sum has one law.
	alpha, noisy, steps := 1-confidence, g.noisy(e), (g.law.mix+2)/unit
	lo = noisy - g.reach(g.law.count, alpha/2) - steps - g.lifted(alpha)
	hi = noisy + float64(g.shortfall)/unit + g.tail(alpha/2)(g.law.count, g.law.shortfall) + steps
	x := g.count(e)
	least := 1.0 // a key that nobody has is never shown
	if g.params.listed {
		least = 0
	}
	return max(min(lo, x), least), max(hi, x, least)
}

// users returns bounds on the count as it is clipped that fail with probability at most alpha.
//
// They are about the noise whether or not it shows the key, so they hold for every key in
// particular. A key is either below R, and then shown with a probability of law.escape at most, or
// its weight is released with nothing but noise.
func (g *Groups[K]) users(e group[K], alpha float64) (lo, hi float64) {
	x, c := g.noisy(e), g.reach(g.law.count, alpha/2)+(g.law.mix+1)/unit
	return max(x-c-g.lifted(alpha), 0), max(x+c, 0)
}

// lifted returns what rounding has added to a count at most, except with probability alpha.
func (g *Groups[K]) lifted(alpha float64) float64 {
	if alpha >= g.law.escape {
		return 0
	}
	return g.law.lift
}

// clippedPart is by how much a key's part of what clipping takes exceeds its part of the users at
// most, as intervals assume.
const clippedPart = 2

// clippedOf bounds what clipping took from Σz of a group, or gave to it, in units of the radius.
func (g *Groups[K]) clippedOf(e group[K]) ranges.Bound {
	switch {
	case !g.params.Values:
		return ranges.Bound{}
	case g.mostLost.StdDev == 0:
		return ranges.Bound{Mean: math.Inf(1)}
	}
	part := clippedPart * min((max(g.count(e), 1)+g.law.count)/g.all, 1) / g.radius
	return ranges.Bound{Mean: part * g.mostLost.Mean, StdDev: part * g.mostLost.StdDev}
}

// SumInterval returns bounds that hold the true sum of the users' values in the key, with at least
// the given confidence, as [Groups.Interval] does. With Min and Max it is the sum of values that
// are clamped to these.
//
// With Values it is the sum of all values as they are, if two things hold that no release can see.
// Let the size of a user be how far the values are from the scales of their keys: ‖v/scale − 1‖₂.
// Beyond the largest sizes that can be seen, users become fewer at least like a Pareto tail of
// index Params.TailIndex; and of all that was clipped the key has at most twice its part of the
// users. Where the sizes that can be seen thin out too slowly, both ends are infinite.
//
// If the key is not shown, or no range was learned, a bound is infinite on each side where values
// may lie. NaN if the Params have neither Min and Max nor Values.
func (g *Groups[K]) SumInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	least, most := min(g.params.Min, 0), max(g.params.Max, 0)
	e, found := g.find(key)
	if !found || g.blind() {
		if g.params.Values {
			return math.Inf(-1), math.Inf(1)
		}
		if least < 0 {
			least = math.Inf(-1)
		}
		if most > 0 {
			most = math.Inf(1)
		}
		return least, most
	}
	alpha := 1 - confidence
	rounded, tail := g.rounded(e, alpha)
	at := g.place(e)
	middle, half, clipped := at.middle, at.half, g.clippedOf(e)
	if g.params.Values { // users who are missing in the count are not missing in the sum of z
		least, most = 0, middle
	}
	// What is missing is between least and most times the shortfall, which has noise of its own.
	x, short := middle*g.noisy(e)+half*at.sum, float64(g.shortfall)/unit
	c := half*(rounded+clipped.Mean) + math.Abs(middle)*(g.law.mix+1)/unit
	lo = x + least*short - tail(middle*g.law.count, half*g.law.value, least*g.law.shortfall, half*clipped.StdDev) - c + least/unit - max(middle, 0)*g.lifted(alpha)
	hi = x + most*short + tail(middle*g.law.count, half*g.law.value, most*g.law.shortfall, half*clipped.StdDev) + c + most/unit + max(-middle, 0)*g.lifted(alpha)
	return min(lo, g.sum(e)), max(hi, g.sum(e))
}

// MeanInterval returns bounds that hold the true mean of the users' values in the key with at least
// the given confidence: of values clamped to [Min, Max] or, with Values, of all values as they are,
// by what [Groups.SumInterval] assumes. For a key that is not shown they are Min and Max. With
// Values they are then infinite, and also if no range was learned or what was clipped has no bound.
// NaN if the Params have neither Min and Max nor Values.
func (g *Groups[K]) MeanInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	e, found := g.find(key)
	switch {
	case g.params.Values && (!found || g.blind() || g.mostLost.StdDev == 0):
		return math.Inf(-1), math.Inf(1)
	case !found:
		return g.params.Min, g.params.Max
	}
	alpha := 1 - confidence
	rounded, tail := g.rounded(e, alpha)
	at, clipped := g.place(e), g.clippedOf(e)
	short := float64(g.shortfall) / unit
	// highest returns the largest m that Σz may be in units of the number of users (Fieller): Σz −
	// m·n is within its noise of 0 for the true m, whatever that is. What is missing of it is at
	// most 1 − m times the shortfall, or with Values, where only the count misses it, −m times. As
	// a function of m this is convex, so it has one root where its ends have different signs.
	highest := func(sum float64) float64 {
		above := func(m float64) bool {
			missing := 1 - m
			if g.params.Values {
				missing = max(-m, 0)
			}
			x := sum - m*g.noisy(e) + missing*(short+1/unit) + max(m, 0)*g.lifted(alpha) + math.Abs(m)*(g.law.mix+1)/unit + rounded + clipped.Mean
			return x+tail(g.law.value, m*g.law.count, missing*g.law.shortfall, clipped.StdDev) >= 0
		}
		low, high := -1., 1.
		for g.params.Values && above(high) { // values as they are may lie beyond the radius
			if low, high = high, 2*high; high > 0x1p60 {
				return math.Inf(1)
			}
		}
		if above(high) {
			return high
		}
		for g.params.Values && low > -0x1p60 && !above(low) {
			low *= 2
		}
		for range 50 {
			if middle := (low + high) / 2; above(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return high
	}
	lo, hi = g.value(at, -highest(-at.sum)), g.value(at, highest(at.sum))
	if mean := g.Mean(key); mean == mean {
		lo, hi = min(lo, mean), max(hi, mean)
	}
	return min(lo, hi), max(lo, hi)
}

// rounded returns by how much Σz of a group may be rounded, and what linear combinations of noises
// with given deviations exceed with probability at most alpha/2, less what it takes to know the
// number of users.
func (g *Groups[K]) rounded(e group[K], alpha float64) (rounded float64, tail func(sds ...float64) float64) {
	few := alpha * 0x1p-10
	_, users := g.users(e, few)
	return (users + g.short(few/2) + 1) * g.place(e).step, g.tail((alpha - 2*few) / 2)
}

// reach returns what noise of that standard deviation exceeds with probability at most alpha ≤ ½,
// up to a step.
func (g *Groups[K]) reach(sd, alpha float64) float64 { return g.tail(alpha)(sd) }

// tail returns what the sum of independent noises with these standard deviations, or their
// negatives, exceeds with probability at most alpha ≤ ½.
func (g *Groups[K]) tail(alpha float64) func(sds ...float64) float64 {
	if g.params.pure() {
		return func(sds ...float64) float64 { return laplaceTail(alpha, sds) }
	}
	z := normalTail(alpha)
	return func(sds ...float64) float64 {
		squared := 0.0
		for _, sd := range sds {
			squared += sd * sd
		}
		return z * math.Sqrt(squared)
	}
}

// laplaceTail returns the t that a sum of Laplace noises with these standard deviations exceeds
// with probability alpha. With different scales b it is Σ ½·e^{−t/b}·Π b²/(b² − c²), c the others.
// Scales that are near another are made larger, by which no such probability becomes smaller.
func laplaceTail(alpha float64, sds []float64) float64 {
	var scales []float64
	for _, sd := range sds {
		if sd != 0 {
			scales = append(scales, math.Abs(sd)/math.Sqrt2)
		}
	}
	slices.Sort(scales)
	for i := range scales {
		if i > 0 {
			scales[i] = max(scales[i], 1.01*scales[i-1])
		}
	}
	if len(scales) == 0 {
		return 0
	}
	beyond := func(t float64) (p float64) {
		for i, b := range scales {
			term := math.Exp(-t/b) / 2
			for j, c := range scales {
				if j != i {
					term *= 1 / ((1 - c/b) * (1 + c/b))
				}
			}
			p += term
		}
		return p
	}
	low, high := 0., scales[len(scales)-1]
	for beyond(high) > alpha {
		low, high = high, 2*high
	}
	for range 50 {
		if middle := (low + high) / 2; beyond(middle) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// normalTail returns the z with Pr[N(0, 1) > z] = alpha, for alpha in (0, ½].
func normalTail(alpha float64) float64 {
	if alpha == missCut {
		return missTail()
	}
	return normalTailOf(alpha)
}

// missTail is the one that each reading of a quantile asks for a few dozen times.
var missTail = sync.OnceValue(func() float64 { return normalTailOf(missCut) })

func normalTailOf(alpha float64) float64 {
	standard, err := noise.NewGaussian(1)
	if err != nil {
		return math.NaN() // unreachable
	}
	return -standard.Quantile(alpha)
}
