package misragries

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// This file releases, under pure ε, a reduced sketch over a universe of d keys: to the value of
// every key of the universe, 0 for all but the k stored ones at most, discrete Laplace noise is
// added, and the k keys with the largest noisy values are released with them, ties at the cut
// broken uniformly. The noise of all keys is the Laplace mechanism, for the ℓ₁ sensitivity that the
// scale is made for, and the rest is post-processing. It asks nothing of the values but that, so
// values reduced by a private shift are released by the same routine.
//
// It takes O(k) draws, and yet has exactly the law of the loop over all d keys:
//
//   - Let t ≥ 1 be an integer, the bottom. The number of zero keys (keys without a value) of noise
//     ≥ t is binomial, and given their number they are a uniform set of zero keys, with values t +
//     geometric (memoryless). Once at least k keys, with a value or without, are at t or above, no
//     other is among the k largest, nor ties with them: the k largest of these candidates are the k
//     largest of all.
//   - While they are fewer than k, all that is known of the other zero keys is that their noise is
//     less than t, and it is independent still. So for the next bottom s < t those in [s, t) are
//     counted by the conditional binomial law of [noise.DiscreteLaplace.CountLayer], and their
//     values are s + geometric modulo t − s. For t ≤ 1, the noise of the others is t − 1 −
//     geometric.
//   - When the noise is so small that a single value v is that of far more than k keys, they cannot
//     all be drawn. The keys that may have it, the n zero keys below v + 1 and the stored ones at
//     v, are put in a uniformly random order and taken in blocks, until the k keys are found. How
//     many stored ones are in a block is hypergeometric; how many zero keys of a block have the
//     value v is binomial. Which of the keys tied at v are in the blocks taken, and the uniform
//     choice among these, treat all of them alike, so that every set of the tied keys that fills
//     the cut is as likely as the next.
//   - Zero keys are alike until the end, so only those released are given a key: a uniform sequence
//     of distinct ones.
//
// The layers are chosen from k, d, the noise and the number of candidates, which depends on private
// data: that moves the time, not the law.

// universe is the state of one release.
type universe[K hashing.Key] struct {
	src    *noise.Source
	noise  noise.DiscreteLaplace
	beyond noise.Geometric // the law of the noise beyond a point that it has reached
	k      int
	dim    uint64
	values []sketch.Counter[K]

	// all keys of at least this noisy value are candidates, or of those at bottom a uniform choice
	// and k in all
	bottom     int64
	candidates []candidate // in no order
	stored     []candidate // the other keys with a value, the largest first
	zeros      uint64      // how many keys without a value are no candidates
}

// candidate is a noisy value and the place of its key in values; noKey for a zero key.
type candidate struct {
	value int64
	place int
}

const noKey = -1

// topOfUniverse adds noise of the law d to the values of the keys 0, …, dim−1 and returns the k
// keys with the largest noisy values, sorted by key; all keys if dim < k. values are of
// keys of this range, sorted, in [1, 2⁶²]; the others are 0. K must not be a
// string type, and must hold dim−1.
func topOfUniverse[K hashing.Key](src *noise.Source, d noise.DiscreteLaplace, k int, dim uint64, values []sketch.Counter[K]) []sketch.Counter[K] {
	u := newUniverse(src, d, k, dim, values)
	if u.isSmall() {
		u.all()
	} else {
		// for b ≫ 1 enough except with probability 1e-4
		u.layers(float64(k) + 4*math.Sqrt(float64(k)) + 8)
	}
	return u.top()
}

// newUniverse draws the noise of the stored keys.
func newUniverse[K hashing.Key](src *noise.Source, d noise.DiscreteLaplace, k int, dim uint64, values []sketch.Counter[K]) *universe[K] {
	u := &universe[K]{src: src, noise: d, beyond: geometric(d.Scale()), k: k, dim: dim, values: values, bottom: math.MaxInt64}
	u.zeros = dim - uint64(len(values))
	u.stored = make([]candidate, len(values))
	for i, c := range values {
		u.stored[i] = candidate{c.Count + d.SampleInt(src), i}
	}
	slices.SortFunc(u.stored, descending)
	return u
}

func descending(a, b candidate) int { return cmp.Compare(b.value, a.value) }

// isSmall reports whether dim is so small that all keys may be visited; and random keys might often
// be stored or drawn already.
//
// Above, layers does not come to values < 1 where that is slow. Let b be the scale. If b ≥ 8, Pr[X
// ≥ 1] = q/(1+q) > 0.46, so more than μ = 0.46·(3k + 4096) zero keys are expected there, and that
// fewer than k are has a probability below e^{−(μ−k)²/(2μ)} < e^{−700} (Chernoff). If b < 8, each
// value < 1 takes a tenth or more of the keys that are left.
func (u *universe[K]) isSmall() bool { return u.dim <= 4*uint64(max(u.k, len(u.values)))+4096 }

// all makes candidates of all keys, by the loop.
func (u *universe[K]) all() {
	u.candidates = slices.Grow(u.stored, int(u.zeros))
	for range u.zeros {
		u.candidates = append(u.candidates, candidate{u.noise.SampleInt(u.src), noKey})
	}
}

// layers makes candidates from the top down until there are k, of dim keys or fewer. The first
// layer is where that many zero keys are expected, the next where twice as many are. Where the
// bottom does not move by that, or has come to 1, a value of its own is next.
func (u *universe[K]) layers(expected float64) {
	for ; len(u.candidates) < u.k; expected *= 2 {
		// At most so many of dim zero keys are expected above s, which matters for the speed only:
		// Pr[X ≥ s] = Pr[X ≤ −s], and −Quantile is the largest s where that is at least the given
		// probability.
		if s := int64(max(1-u.noise.Quantile(min(expected/float64(u.dim), 0.5)), 1)); s < u.bottom {
			u.layer(s)
		} else {
			u.single(u.bottom - 1)
		}
	}
}

// layer makes candidates of all keys in [s, bottom), s ≥ 1.
func (u *universe[K]) layer(s int64) {
	count := u.noise.CountLayer(u.src, u.zeros, s, u.bottom)
	for range count {
		u.candidates = append(u.candidates, candidate{s + u.beyond.SampleInt(u.src)%(u.bottom-s), noKey})
	}
	u.zeros -= count
	n := 0
	for n < len(u.stored) && u.stored[n].value >= s {
		n++
	}
	u.candidates = append(u.candidates, u.stored[:n]...)
	u.stored, u.bottom = u.stored[n:], s
}

// single makes candidates of keys at v = bottom − 1: of all, or of blocks in a random order until
// there are k candidates.
func (u *universe[K]) single(v int64) {
	n := 0
	for n < len(u.stored) && u.stored[n].value == v {
		n++
	}
	ties := u.stored[:n]
	u.stored, u.bottom = u.stored[n:], v
	// of the zero keys that have it, for the speed only
	share := u.noise.Prob(float64(v)) / u.noise.CDF(float64(v))
	for zeros := u.zeros; ; {
		missing, items := float64(u.k-len(u.candidates)), zeros+uint64(len(ties))
		if missing <= 0 || items == 0 {
			return
		}
		block := items
		if most := (missing + 4*math.Sqrt(missing) + 8) / share; most < float64(items) {
			block = uint64(most)
		}
		later := ties[:0]
		for _, c := range ties {
			// in one of the places of the block that are left, of all that are left?
			if u.src.Uint64N(items) < block {
				u.candidates = append(u.candidates, c)
				block--
			} else {
				later = append(later, c)
			}
			items--
		}
		ties = later
		count := u.countAt(v, block)
		for range count {
			u.candidates = append(u.candidates, candidate{v, noKey})
		}
		u.zeros -= count
		zeros -= block
	}
}

// countAt returns how many of the draws, all known to be ≤ v, are v.
func (u *universe[K]) countAt(v int64, draws uint64) (count uint64) {
	if v >= 1 {
		return u.noise.CountLayer(u.src, draws, v, v+1)
	}
	for range draws {
		if u.beyond.SampleInt(u.src) == 0 { // v − X is geometric
			count++
		}
	}
	return count
}

// top returns the k largest candidates with their keys, sorted by key.
func (u *universe[K]) top() []sketch.Counter[K] {
	u.cut()
	zeros := uint64(0)
	for _, c := range u.candidates {
		if c.place == noKey {
			zeros++
		}
	}
	fresh := u.distinctZeros(zeros)
	released := make([]sketch.Counter[K], len(u.candidates))
	for i, c := range u.candidates {
		if c.place == noKey {
			released[i] = sketch.Counter[K]{Key: fresh[0], Count: c.value}
			fresh = fresh[1:]
		} else {
			released[i] = sketch.Counter[K]{Key: u.values[c.place].Key, Count: c.value}
		}
	}
	slices.SortFunc(released, func(a, b sketch.Counter[K]) int { return wire.Compare(a.Key, b.Key) })
	return released
}

// cut keeps the k largest candidates. Of those that tie with the k-th a uniform set is kept.
func (u *universe[K]) cut() {
	if len(u.candidates) <= u.k {
		return
	}
	slices.SortFunc(u.candidates, descending)
	least := u.candidates[u.k-1].value
	tied := func(c candidate) bool { return c.value == least }
	first := slices.IndexFunc(u.candidates, tied)
	end := u.k
	for end < len(u.candidates) && tied(u.candidates[end]) {
		end++
	}
	exact.DrawSubset(u.candidates[first:end], u.k-first, u.src.Uint64N)
	u.candidates = u.candidates[:u.k]
}

// distinctZeros returns a uniform sequence of n distinct keys without a value, n ≤ k.
func (u *universe[K]) distinctZeros(n uint64) []K {
	keys := wire.KeysOf[K]()
	hasValue := func(key K) bool {
		_, found := slices.BinarySearchFunc(u.values, key, func(c sketch.Counter[K], key K) int { return wire.Compare(c.Key, key) })
		return found
	}
	if u.isSmall() { // the stored keys may be most of all: list the others
		var free []K
		for i := range u.dim {
			if key, _ := keys.FromBits(i); !hasValue(key) {
				free = append(free, key)
			}
		}
		return exact.DrawSubset(free, int(n), u.src.Uint64N)
	}
	// At least half of all keys are neither stored nor drawn.
	fresh := make([]K, 0, n)
	drawn := make(map[K]struct{}, n)
	for uint64(len(fresh)) < n {
		key, _ := keys.FromBits(u.src.Uint64N(u.dim))
		if _, again := drawn[key]; again || hasValue(key) {
			continue
		}
		drawn[key] = struct{}{}
		fresh = append(fresh, key)
	}
	return fresh
}
