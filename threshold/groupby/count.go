package groupby

import (
	"math"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// fine is how many steps of a rest are one of a weight.
const fine = 16

// mostSum is beyond what users of a key give: 2³³ of them.
const mostSum = 1 << 53

// rest returns what is released of a count in addition to the weights of a key: fine·count −
// mix·weight. A user who gives the weight w and the count x to each of his keys adds fine·x − mix·w
// to it. Without that difference he would add up to C times as much as his weights do; with it,
// half of that.
func rest(count, weight, mix int64) int64 {
	return fine*min(count, mostSum) - mix*min(weight, mostSum)
}

// restOf returns the rest of a key by the clip that was chosen.
func (s *state[K]) restOf(i int) int64 {
	e, count := s.table.cells[i], s.table.cells[i].count
	if s.table.width > 0 {
		count -= s.table.lost(i)[s.chosen.clip]
	}
	return rest(count, e.weight, s.clip().mix)
}

// noisy returns the count of a group with its noise, in users: a normal number with the true count
// as its mean, for a key that is shown whatever its noise.
func (g *Groups[K]) noisy(e group[K]) float64 { return g.noises.users(e.rest, e.weight) }

// users returns a count from the numbers that are released of it.
func (n *noises) users(rest, weight int64) float64 {
	return (float64(rest)/fine + n.mix*float64(weight)) / unit
}

// count returns the estimate of a group.
//
// A key near the threshold is shown because its weight's noise is high. With z = (weight − T)/σ,
// what that adds to the mean of the noise is φ(t)/Φ(t) in units of σ, t the mean of z; and
// 2·e^{−2z} takes out of it all but 0.13 for every t ≥ 0. (An estimate without any bias does not
// exist: it would need a Dirac function in the place of 2·e^{−2z}.)
func (g *Groups[K]) count(e group[K]) float64 {
	if !g.counted() {
		return math.NaN()
	}
	x := g.noisy(e)
	if g.noises.weight > 0 {
		z := g.noises.mix * (float64(e.weight-g.threshold) + 0.5) / unit / g.noises.weight
		x -= 2 * math.Exp(-2*z) * g.noises.weight
	}
	return x
}

// Estimate returns the estimated number of users of the key, or 0 if the key is not shown. It may
// be negative. Its noise has the standard deviation Plan.StdDev; for a key that is shown with
// probability ½ or more, the mean of the noise is at most a tenth of that. Users with more than
// FullKeys keys count less than 1: see [Groups.Shortfall]. NaN with KeysOnly.
func (g *Groups[K]) Estimate(key K) float64 {
	e, found := g.find(key)
	if !found && g.counted() {
		return 0
	}
	return g.count(e)
}

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
	x, c := float64(g.shortfall)/unit, g.reach(g.noises.shortfall, (1-confidence)/2)
	return max(x-c, 0), max(x+c, 0)
}

// short returns an upper bound on the shortfall that fails with probability at most alpha. Noise is
// rounded to steps, and so may be off by half of one.
func (g *Groups[K]) short(alpha float64) float64 {
	return max((float64(g.shortfall)+1)/unit+g.reach(g.noises.shortfall, alpha), 0)
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
	// and the shortfall, each with noise of its own, of which the sum has one distribution.
	alpha, noisy, steps := 1-confidence, g.noisy(e), (g.noises.mix+2)/unit
	lo = noisy - g.reach(g.noises.count, alpha/2) - steps - g.roundedUp(alpha)
	hi = noisy + float64(g.shortfall)/unit + g.tail(alpha/2)(g.noises.count, g.noises.shortfall) + steps
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
// particular. A key is either below R, and then shown with a probability of noises.escape at most,
// or its weight is released with nothing but noise.
func (g *Groups[K]) users(e group[K], alpha float64) (lo, hi float64) {
	x, c := g.noisy(e), g.reach(g.noises.count, alpha/2)+(g.noises.mix+1)/unit
	return max(x-c-g.roundedUp(alpha), 0), max(x+c, 0)
}

// roundedUp returns what rounding has added to a count at most, except with probability alpha.
func (g *Groups[K]) roundedUp(alpha float64) float64 {
	if alpha >= g.noises.escape {
		return 0
	}
	return g.noises.lift
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
