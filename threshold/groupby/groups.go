package groupby

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Groups are released: keys with their number of users, and what else the Params asked for. They
// are public, immutable, and safe for concurrent readers. All that is computed from them is
// post-processing and costs no budget.
type Groups[K hashing.Key] struct {
	params            Params
	law               noises
	groups            []group[K] // sorted by key
	shortfall, others int64      // in steps
}

// noises are the standard deviations that a reader needs, in the units of what is released.
type noises struct{ count, value, others float64 }

// public returns what a reader needs of a calibration: a function of the Params alone.
func (c calibration) public() noises { return noises{c.count / unit, c.value / unit, c.others / unit} }

// valid reports whether it is no zero value.
func (g *Groups[K]) valid() bool { return g != nil && g.params.MaxKeys > 0 }

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

// Len returns the number of keys that are shown.
func (g *Groups[K]) Len() int { return len(g.groups) }

// find returns the group of a key.
func (g *Groups[K]) find(key K) (group[K], bool) {
	i, found := slices.BinarySearchFunc(g.groups, key, func(e group[K], key K) int { return cmp.Compare(e.key, key) })
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

// Top yields the n keys with the largest counts, the largest first; equal ones, and all with
// KeysOnly, are sorted by key. If there are fewer than n, it yields all.
func (g *Groups[K]) Top(n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		sorted := slices.Clone(g.groups)
		slices.SortStableFunc(sorted, func(a, b group[K]) int { return cmp.Compare(b.count, a.count) })
		for _, e := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(e.key, g.count(e)) {
				return
			}
		}
	}
}

// count returns the noisy count of a group, in users.
func (g *Groups[K]) count(e group[K]) float64 {
	if !g.counted() {
		return math.NaN()
	}
	return float64(e.count) / unit
}

// Estimate returns the estimated number of users of the key, 0 where it is not shown. Its noise has
// mean 0 and the standard deviation [Params.StdDev], also given that the key is shown: weights and
// counts have noise of their own. So it may be negative. Users with more than Clip keys count less
// than 1: see [Groups.Shortfall]. NaN with KeysOnly.
func (g *Groups[K]) Estimate(key K) float64 {
	e, _ := g.find(key)
	return g.count(e)
}

// Sum returns the estimated sum of the users' values in the key, each clamped to [Min, Max]; 0
// where it is not shown, NaN if the Params have no Min and Max.
func (g *Groups[K]) Sum(key K) float64 {
	e, _ := g.find(key)
	return g.sum(e)
}

// sum returns the noisy sum of a group: what is summed is z, the place of a value in [−1, 1].
func (g *Groups[K]) sum(e group[K]) float64 {
	if !g.params.values() {
		return math.NaN()
	}
	return g.params.middle()*(float64(e.count)/unit) + g.params.half()*(float64(e.value)/unit)
}

// Mean returns the estimated mean of the users' values in the key, in [Min, Max]; NaN where it is
// not shown or the Params have no Min and Max. Where the count is not above 0 it is the middle.
func (g *Groups[K]) Mean(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.values() {
		return math.NaN()
	}
	z := 0.0
	if e.count > 0 {
		z = min(max(float64(e.value)/float64(e.count), -1), 1)
	}
	return min(max(g.params.middle()+z*g.params.half(), g.params.Min), g.params.Max)
}

// Others returns the estimated number of pairs of a user and a key that is not shown, where a user
// with l > 32 keys counts 32/l in each. NaN unless the Params ask for it. Its standard deviation is
// [Groups.OthersStdDev].
func (g *Groups[K]) Others() float64 {
	if !g.valid() || !g.params.Others {
		return math.NaN()
	}
	return float64(g.others) / unit
}

// OthersStdDev returns the standard deviation of [Groups.Others]; NaN unless the Params ask for it.
func (g *Groups[K]) OthersStdDev() float64 {
	if !g.valid() || !g.params.Others {
		return math.NaN()
	}
	return g.law.others
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
	return fmt.Sprintf("groupby.Groups: %d keys with %s, %v", len(g.groups), what, g.Guarantee())
}
