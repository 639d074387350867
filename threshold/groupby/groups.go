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
	chosen            choice
	noises            noises
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
func (g *Groups[K]) FullKeys() int { return g.noises.full }

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
