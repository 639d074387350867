package groupby

import (
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise"
)

// Shortfall returns bounds, with the given confidence, on how many users clipping may have kept out
// of a count: Σ(1 − √(m/l)) over all users with l > m keys, where m = [Groups.FullKeys] and a user
// with more than MaxKeys keys adds 1. Apart from its noise, no count is below the true number of
// users by more than hi. The count of a key that none of these users has is not low at all. Every
// interval of a count includes the shortfall. 0 and 0 for a list no longer than FullKeys. With two
// passes, l is the number of shown keys of a user (of all keys, after a [Discovery]), and MaxKeys
// does not matter. NaN with KeysOnly, and for a confidence outside [0, 1).
func (g *Groups[K]) Shortfall(confidence float64) (lo, hi float64) {
	if !g.counted() || !limits.Confidence(confidence) {
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
	if !g.counted() || !limits.Confidence(confidence) {
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
	hi = noisy + float64(g.shortfall)/unit + g.reachOfBoth(g.law.count, g.law.shortfall, alpha/2) + steps
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

// SumInterval returns bounds that hold the true sum of the users' values in the key, each clamped
// to [Min, Max] or, with Values, as clipped (not the sum of all values: see [Groups.Lost]), with at
// least the given confidence, as [Groups.Interval] does. If the key is not shown, or no range was
// learned, a bound is infinite on each side where values may lie. NaN if the Params have neither
// Min and Max nor Values.
func (g *Groups[K]) SumInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !limits.Confidence(confidence) {
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
	_, users := g.users(e, alpha/4)
	short := g.short(alpha / 4)
	at := g.place(e)
	middle, half := at.middle, at.half
	if g.params.Values { // users who are missing in the count are not missing in the sum of z
		least, most = 0, middle
	}
	// Each of the users' values is rounded by less than a step, and each noise by half of one.
	c := g.reachOfBoth(middle*g.law.count, half*g.law.value, alpha/4) + math.Abs(middle)*(users+short+g.law.mix+1)/unit + half*(users+short+1)*at.step
	x := middle*g.noisy(e) + half*at.sum
	lo, hi = x-c-max(middle, 0)*g.lifted(alpha/4)+least*short, x+c+max(-middle, 0)*g.lifted(alpha/4)+most*short
	return min(lo, g.sum(e)), max(hi, g.sum(e))
}

// MeanInterval returns bounds that hold the true mean of the users' values in the key, each clamped
// to [Min, Max] or, with Values, as clipped, with at least the given confidence, as
// [Groups.Interval] does. For a key that is not shown they are Min and Max. With Values they are
// then infinite, and also if no range was learned. NaN if the Params have neither Min and Max nor
// Values.
func (g *Groups[K]) MeanInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	e, found := g.find(key)
	switch {
	case g.params.Values && (!found || g.blind()):
		return math.Inf(-1), math.Inf(1)
	case !found:
		return g.params.Min, g.params.Max
	}
	alpha := 1 - confidence
	fewest, most := g.users(e, alpha/3)
	short := g.short(alpha / 3)
	at := g.place(e)
	c := g.reach(g.law.value, alpha/6) + (most+short+1)*at.step
	highest := func(v float64) float64 {
		switch {
		case !g.params.Values:
			return ratio(v, fewest, most, short)
		case v > 0: // n of all users is from fewest to most + short, and at least 1; v lacks none
			return min(v/max(fewest, 1), 1)
		}
		return max(v/max(most+short, 1), -1)
	}
	return g.value(at, -highest(c-at.sum)), g.value(at, highest(c+at.sum))
}

// ratio returns the largest (v + d)/(n + d), at most 1, for n in [fewest, most] and d in [0,
// short]: what is missing of v and n by clipping is d of each at most. Where v ≤ n it rises in d.
func ratio(v, fewest, most, short float64) float64 {
	n := fewest
	if v+short < 0 {
		n = most
	}
	if !(v < n) {
		return 1
	}
	return max((v+short)/(n+short), -1)
}

// reach returns what noise of that standard deviation exceeds with probability at most alpha ≤ ½,
// up to a step.
func (g *Groups[K]) reach(sd, alpha float64) float64 {
	if g.params.pure() {
		return -sd / math.Sqrt2 * math.Log(2*alpha)
	}
	return sd * normalTail(alpha)
}

// reachOfBoth is reach for the sum of two independent noises with the standard deviations |a| and
// |b|.
func (g *Groups[K]) reachOfBoth(a, b, alpha float64) float64 {
	if g.params.pure() && b != 0 {
		return g.reach(math.Abs(a), alpha/2) + g.reach(math.Abs(b), alpha/2)
	}
	return g.reach(math.Hypot(a, b), alpha)
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
