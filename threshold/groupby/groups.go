package groupby

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Groups is the release: keys with their numbers of users, and what else the Params asked for. It
// is public, immutable, and safe for concurrent readers.
//
// NaN are counts with KeysOnly, what the Params did not ask for (a level too), bounds for a
// confidence outside [0, 1), and Sum, Mean, Lost and Scale of a key that is not shown. Where Values
// learned no range, Sum, Mean and Lost are NaN, and Radius and Scale 0.
type Groups[K hashing.Key] struct {
	params            Params
	chosen            choice
	noises            noises
	threshold         int64      // of the weights, in steps; 0 where weights are not released
	groups            []group[K] // sorted by key
	shortfall, others int64      // in steps
	named             bool       // nameless is released
	nameless          int64      // rows without a user
	radius, lost      float64    // with Values: see ranges.Sums
	mostLost          ranges.Bound
	all               float64 // with Values: the sum of the counts, each at least 1
}

// valid reports whether g was released or decoded, and is not the zero value.
func (g *Groups[K]) valid() bool { return g != nil && g.params.most > 0 }

// counted reports whether there are counts.
func (g *Groups[K]) counted() bool { return g.valid() && !g.params.KeysOnly }

// Params returns the Params, with defaults filled in.
func (g *Groups[K]) Params() Params { return g.params }

// Guarantee returns what the release promises.
func (g *Groups[K]) Guarantee() budget.Guarantee {
	if !g.valid() {
		return budget.Guarantee{}
	}
	return g.params.Guarantee()
}

// FullKeys returns Params.FullKeys, or what AutoFullKeys chose; 0 with KeysOnly.
func (g *Groups[K]) FullKeys() int { return g.noises.full }

// Len returns the number of shown keys.
func (g *Groups[K]) Len() int { return len(g.groups) }

// find returns the group of a key.
func (g *Groups[K]) find(key K) (group[K], bool) {
	i, found := slices.BinarySearchFunc(g.groups, key, func(e group[K], key K) int { return wire.Compare(e.key, key) })
	if !found {
		return group[K]{}, false
	}
	return g.groups[i], true
}

// Has reports whether the key is shown.
func (g *Groups[K]) Has(key K) bool {
	_, found := g.find(key)
	return found
}

// String says what was released.
func (g *Groups[K]) String() string {
	if !g.valid() {
		return "groupby.Groups (not released)"
	}
	what := "counts of users"
	switch {
	case g.params.KeysOnly:
		what = "no counts"
	case g.params.values():
		what = "counts of users, sums and means"
	}
	if levels := g.params.levels(); len(levels) > 0 {
		known := 0
		for _, e := range g.groups {
			r := g.read(e)
			for i := range levels {
				if g.known(r, i, 0) {
					known++
				}
			}
		}
		what += fmt.Sprintf(", and quantiles, %d of %d known", known, len(levels)*len(g.groups))
	}
	keys := "keys"
	if g.params.listed {
		keys = "listed keys"
	}
	if low, high := g.RowsWithoutUser(0.999); low > 0 {
		what += fmt.Sprintf(", without %.0f to %.0f rows that have no user", low, high)
	}
	return fmt.Sprintf("groupby.Groups: %d %s with %s, %v", len(g.groups), keys, what, g.Guarantee())
}

// group is a released key with its noisy sums, in steps.
type group[K hashing.Key] struct {
	key                 K
	weight, rest, value int64
	scale               float64  // with Values
	cells               []uint32 // of the quantiles and cuts: see state.drawCells
	weights             []int64  // between their edges
}

// noisy returns the count of a group with its noise, in users: a normal number with the true count
// as its mean, for a key that is shown whatever its noise.
func (g *Groups[K]) noisy(e group[K]) float64 { return g.noises.users(e.rest, e.weight) }

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

// Estimate returns the estimated number of users of the key, perhaps negative, or 0 if it is not
// shown. Its noise has the standard deviation Plan.StdDev and, for a key shown with probability ½
// or more, a mean of at most a tenth of that.
func (g *Groups[K]) Estimate(key K) float64 {
	e, found := g.find(key)
	if !found && g.counted() {
		return 0
	}
	return g.count(e)
}

// Interval returns bounds on the number of users of the key. hi includes the [Groups.Shortfall],
// one noisy number for all keys, so upper ends fail together. For a key that is not shown: 0 and
// +Inf.
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

// Shortfall returns bounds on how many users clipping may have left out of a count: Σ(1 − √(m/l)),
// or 1 − m/l without δ, over all users with l > m = [Groups.FullKeys] keys; a user with more than
// MaxKeys keys adds 1. With two passes, l is a user's number of shown keys (of all keys, after a
// [Discovery]), and MaxKeys does not matter. 0 and 0 for a list no longer than FullKeys.
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

// roundedUp returns what rounding has added to a count at most, except with probability alpha. A
// key is either below R, and then shown with a probability of noises.escape at most, or its weight
// is released with nothing but noise.
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
		return func(sds ...float64) float64 { return exact.LaplaceReach(sds, 2*alpha) / math.Sqrt2 }
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

// All yields the shown keys, sorted, with their estimates.
func (g *Groups[K]) All() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, e := range g.groups {
			if !yield(e.key, g.count(e)) {
				return
			}
		}
	}
}

// Top yields the n keys with the largest counts, the largest first; ties, and all with KeysOnly, by
// key.
func (g *Groups[K]) Top(n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		sorted := slices.Clone(g.groups)
		slices.SortStableFunc(sorted, func(a, b group[K]) int { return cmp.Compare(g.count(b), g.count(a)) })
		for _, e := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(e.key, g.count(e)) {
				return
			}
		}
	}
}

// Others returns the estimated number of pairs of a user and a key that is not shown. A user with l
// > 32 keys counts 32/l in each; with two passes in memory, or a list, at most 32 in total.
func (g *Groups[K]) Others() float64 {
	if !g.valid() || !g.params.Others {
		return math.NaN()
	}
	return float64(g.others) / unit
}

// RowsWithoutUser returns bounds on how many rows were left out as their user was "" or an array of
// zeros. If many, counts and sums are too small. Each is protected as a user is, and so are eight
// of one person together. NaN for integer users, Builders and under Replace.
func (g *Groups[K]) RowsWithoutUser(confidence float64) (lo, hi float64) {
	if !g.valid() || !g.named || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	x, c := float64(g.nameless), g.reach(g.noises.nameless, (1-confidence)/2)+1
	return max(x-c, 0), max(x+c, 0)
}
