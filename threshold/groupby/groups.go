package groupby

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Groups is the release: keys with their numbers of users, and whatever else the Params asked for.
// It is public, immutable, and safe for concurrent readers. All that is computed from it is
// post-processing and costs no budget.
type Groups[K hashing.Key] struct {
	params            Params
	at                choice
	law               noises
	threshold         int64      // of the weights, in steps; 0 where weights are not released
	groups            []group[K] // sorted by key
	shortfall, others int64      // in steps
	radius, lost      float64    // with Values: see ranges.Sums
	mostLost          ranges.Bound
	all               float64 // with Values: the sum of the counts, each at least 1
}

// noises are what a reader needs of a calibration, in users: a function of the Params alone.
type noises struct {
	full                            int     // C²
	mix                             float64 // κ
	count, shortfall, value, others float64 // standard deviations
	weight                          float64 // the weights' part of count's, κσ
	lift, escape                    float64 // κR at most, and how likely a lifted key is shown
	spread                          spread
	ranks                           []float64 // mean errors in rank of the levels
	scale                           scale
}

// noises returns what a reader needs.
//
// Laplace noise has √2 times its scale as standard deviation.
//
// R is at most 1.6 times σ/√(2·ln(1/δ)), where rounding.ForUsers stops. A key below R is shown with
// probability η at most, and η/R² ≤ δ is part of what is proved of a kernel.
func (p Params) noises(c calibration, at choice) noises {
	n := p.countNoises(c, at)
	if p.Values {
		n.value = ranges.StdDev(c.value(at) / unit)
	}
	if p.Levels[0] != 0 {
		n.spread, n.ranks, n.scale = c.spread, p.ranks(c.spread), p.scale()
	}
	return n
}

func (p Params) countNoises(c calibration, at choice) noises {
	rest, full := c.rest(at), 0
	mix := 0.0
	if !p.KeysOnly {
		full, mix = c.clips[at.clip].full, float64(c.clips[at.clip].mix)/fine
	}
	if p.pure() {
		return noises{
			full: full, count: math.Sqrt2 * rest / (fine * unit), shortfall: math.Sqrt2 * c.shortfall / unit, value: math.Sqrt2 * c.value(at) / unit,
			others: math.Sqrt2 * c.others / unit,
		}
	}
	sigma := c.weight / unit
	from := 1.6 * sigma / math.Sqrt(-2*math.Log(p.Delta))
	return noises{
		full: full, mix: mix, count: math.Hypot(rest/(fine*unit), mix*sigma), shortfall: c.shortfall / unit, value: c.value(at) / unit, others: c.others / unit,
		weight: mix * sigma, lift: mix * from, escape: p.Delta * max(from*from, 1),
	}
}

// valid reports whether it is no zero value.
func (g *Groups[K]) valid() bool { return g != nil && g.params.most > 0 }

// counted reports whether there are counts.
func (g *Groups[K]) counted() bool { return g.valid() && !g.params.KeysOnly }

// Params returns the parameters of the release, with all defaults filled in.
func (g *Groups[K]) Params() Params { return g.params }

// Guarantee returns the guarantee of the release: (ε, δ) for one user.
func (g *Groups[K]) Guarantee() budget.Guarantee {
	if !g.valid() {
		return budget.Guarantee{}
	}
	return g.params.Guarantee()
}

// FullKeys returns the number of keys up to which a user counts fully in each: Params.FullKeys, or
// what AutoFullKeys chose; 0 with KeysOnly.
func (g *Groups[K]) FullKeys() int { return g.law.full }

// Len returns the number of keys that are shown.
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

// All yields the keys that are shown, sorted, with their estimated number of users: NaN with
// KeysOnly.
func (g *Groups[K]) All() iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, e := range g.groups {
			if !yield(e.key, g.count(e)) {
				return
			}
		}
	}
}

// Top yields the n keys with the largest counts, the largest first; equal counts, and all keys with
// KeysOnly, are sorted by key. If there are fewer than n keys, it yields all.
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

// noisy returns the count of a group with its noise, in users: a normal number with the true count
// as its mean, for a key that is shown whatever its noise.
func (g *Groups[K]) noisy(e group[K]) float64 { return g.law.users(e.rest, e.weight) }

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
	if g.law.weight > 0 {
		z := g.law.mix * (float64(e.weight-g.threshold) + 0.5) / unit / g.law.weight
		x -= 2 * math.Exp(-2*z) * g.law.weight
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

// Sum returns the estimated sum of the users' values in the key, each clamped to [Min, Max] or,
// with Values, as clipped: see [Groups.Radius]. It is NaN, for what is unknown, where the key is
// not shown, where no range was learned, and if the Params have neither Min and Max nor Values.
func (g *Groups[K]) Sum(key K) float64 {
	e, found := g.find(key)
	if !found {
		return math.NaN()
	}
	return g.sum(e)
}

// sum returns the noisy sum of a group: what is summed is z, the place of a value in [−1, 1].
func (g *Groups[K]) sum(e group[K]) float64 {
	if !g.params.values() || g.blind() {
		return math.NaN()
	}
	at := g.place(e)
	return at.middle*g.count(e) + at.half*at.sum
}

// place is where the values of a group can be: from middle − half to middle + half.
type place struct {
	middle, half, sum float64 // sum is that of all z, noisy
	step              float64 // by which a z may be rounded
}

// place returns that of a group.
func (g *Groups[K]) place(e group[K]) place {
	if g.params.Values {
		return place{e.scale, e.scale * g.radius, float64(e.value) / ranges.Unit, 1. / ranges.Unit}
	}
	half := g.params.half() // each user's z is rounded by a step, and so was the value before
	return place{g.params.middle(), half, float64(e.value) / unit, 1./unit + g.params.axis().step/half}
}

// value returns the value at z, within the range where one is given.
func (g *Groups[K]) value(at place, z float64) float64 {
	x := at.middle + z*at.half
	if g.params.Values {
		return x
	}
	return min(max(x, g.params.Min), g.params.Max)
}

// Mean returns the estimated mean of the users' values in the key, each clamped to [Min, Max] or,
// with Values, as clipped. It is NaN, for what is unknown, if the key is not shown or its count is
// not above 0, if no range was learned, and if the Params have neither Min and Max nor Values.
func (g *Groups[K]) Mean(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.values() || g.blind() {
		return math.NaN()
	}
	n, at := g.count(e), g.place(e)
	if !(n > 0) {
		return math.NaN()
	}
	return g.value(at, min(max(at.sum/n, -1), 1))
}

// blind reports whether a range was to be learned, and was not.
func (g *Groups[K]) blind() bool { return g.params.Values && g.radius == 0 }

// Radius returns, with Params.Values, the R to which users' values are clipped: 0 where no range
// was learned, NaN without Values. A user with the value v in a key of scale a gives z = v/a − 1.
// The vector of the user's z in all shown keys is clipped to ‖z‖₂ ≤ R: each |z| is clipped to some
// t, which is smaller the more large entries the user has. So no value outside a(1 − R) to a(1 + R)
// counts unclipped. R balances the noise of sums, which is proportional to R, with what clipping
// takes from them: see [Groups.Lost].
func (g *Groups[K]) Radius() float64 {
	if !g.valid() || !g.params.Values {
		return math.NaN()
	}
	return g.radius
}

// Scale returns, with Params.Values, the unit in which values of the key are measured: about their
// geometric mean, or that of all keys if the key has too few users. It is 0 if no range was
// learned, and NaN without Values or if the key is not shown.
func (g *Groups[K]) Scale(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.Values {
		return math.NaN()
	}
	return e.scale
}

// Lost returns, with Params.Values, a rough estimate of what clipping took from the key: the sum,
// over its users, of how far their values were moved. Only the loss of all keys together is
// released; Lost assumes that the key has its proportional part, so it comes without a bound. NaN
// if the key is not shown, if no range was learned, and without Values.
func (g *Groups[K]) Lost(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.Values || g.blind() {
		return math.NaN()
	}
	return e.scale * g.lost * max(g.count(e), 1) / g.all
}

// addUp sets g.all, when the rest stands.
func (g *Groups[K]) addUp() {
	for _, e := range g.groups {
		if g.params.Values {
			g.all += max(g.count(e), 1)
		}
	}
}

// Others returns the estimated number of pairs of a user and a key that is not shown. A user with l
// > 32 keys counts 32/l in each pair; with two passes in memory, or with a list, a user counts at
// most 32 in total. NaN unless the Params ask for it. Its standard deviation is Plan.OthersStdDev.
func (g *Groups[K]) Others() float64 {
	if !g.valid() || !g.params.Others {
		return math.NaN()
	}
	return float64(g.others) / unit
}

// String says what was released under which guarantee.
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
			for i := range levels {
				if g.known(e, i) {
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
	return fmt.Sprintf("groupby.Groups: %d %s with %s, %v", len(g.groups), keys, what, g.Guarantee())
}
