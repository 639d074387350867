package misragries

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
)

// law is what the exact test knows of a method: the noise that the sampler draws, and its
// threshold.
type drawn struct {
	noise noise.DiscreteLaplace
	tau   int64
}

func (l drawn) mass(x int64) float64    { return l.noise.Prob(float64(x)) }
func (l drawn) atLeast(x int64) float64 { return l.noise.Survival(float64(x) - 0.5) }
func (l drawn) below(x int64) float64   { return l.noise.CDF(float64(x) - 0.5) }
func (l drawn) silent(c int64) float64  { return l.below(l.tau - c) } // Pr[c + L < τ]
func (l drawn) shown(c int64) float64   { return l.atLeast(l.tau - c) }
func (l drawn) span(c, a, b int64) float64 { // Pr[a ≤ c + L < b]
	sum := 0.0
	for v := a; v < b; v++ {
		sum += l.mass(v - c)
	}
	return sum
}

// sharedNoise and thresholdOf are what a Builder of one stream draws by.
func sharedNoise(p Params) noise.DiscreteLaplace { return lawOf(p).noise() }
func thresholdOf(p Params) int64                 { return lawOf(p).Threshold }

// keptDelta is the δ of KeptZeros.
func keptDelta(k int, epsilon float64, tau int64) float64 {
	return math.Exp(thresholds.KeptDelta(k, epsilon, float64(tau)))
}

// noiseFor returns the law of η and of every L that is drawn at ε.
func noiseFor(epsilon float64) noise.DiscreteLaplace {
	return sharedNoise(Params{Counters: 2, Epsilon: epsilon, Delta: 0.5})
}

// sumOver adds f(x) over |x| ≤ 100 + 80/ε, from the ends.
func sumOver(epsilon float64, f func(x float64) float64) float64 {
	sum := 0.0
	for x := 100 + math.Ceil(80/epsilon); x > 0; x-- {
		sum += f(x) + f(-x)
	}
	return sum + f(0)
}

// releaseOne releases the state of a sketch as a Builder of one stream does.
func releaseOne[K hashing.Key](src *noise.Source, p Params, counters []counter[K], decrements int64) *Histogram[K] {
	return release(src, p, lawOf(p), 1, contents[K]{counters: counters, lost: decrements})
}

// histogram returns a release of one stream.
func histogram[K hashing.Key](p Params, decrements int64, counts []counter[K]) *Histogram[K] {
	h := planned[K](p, oneStream)
	h.lost, h.counts = decrements, counts
	return h
}

// hockeyStick returns max over events of Pr[release of a] − e^ε·Pr[release of b], computed, over
// the whole output space: which keys are shown, their noisy counts, and the noisy number of
// decrements.
//
// D − η fixes η on either side, to x and x + shift. Given η the keys are independent. The noisy
// counts of a key fall into classes on which the likelihood ratio is constant (not shown; below
// both shifted counters; each value between them; above both), so summing the positive part over
// products of classes is exact. η beyond ±reach is added as if it escaped.
func (l drawn) hockeyStick(a, b *reference[int], epsilon float64) float64 {
	keys := slices.Sorted(maps.Keys(a.counts))
	for key := range b.counts {
		if _, common := a.counts[key]; !common {
			keys = append(keys, key)
		}
	}
	shift := b.decrements - a.decrements
	reach := int64(60/epsilon) + 8
	total := 2 * l.atLeast(reach+1)
	for x := -reach; x <= reach; x++ {
		y := x + shift
		total += l.excess(keys, a.counts, b.counts, x, y, l.mass(x), l.mass(y)*math.Exp(epsilon))
	}
	return total
}

// excess sums the positive parts of p·Π(classes of a) − q·Π(classes of b) over the remaining keys.
func (l drawn) excess(keys []int, a, b map[int]int64, x, y int64, p, q float64) float64 {
	if len(keys) == 0 {
		return max(p-q, 0)
	}
	if p == 0 {
		return 0
	}
	rest := func(p, q float64) float64 { return l.excess(keys[1:], a, b, x, y, p, q) }
	ca, inA := a[keys[0]]
	cb, inB := b[keys[0]]
	ca, cb = ca+x, cb+y
	switch {
	case inA && !inB: // shown: impossible for b
		return p*l.shown(ca) + rest(p*l.silent(ca), q)
	case inB && !inA:
		return rest(p, q*l.silent(cb))
	case ca == cb:
		return rest(p*l.silent(ca), q*l.silent(ca)) + rest(p*l.shown(ca), q*l.shown(ca))
	}
	lo, hi := max(min(ca, cb), l.tau), max(max(ca, cb), l.tau)
	sum := rest(p*l.silent(ca), q*l.silent(cb))
	if l.tau < lo {
		sum += rest(p*l.span(ca, l.tau, lo), q*l.span(cb, l.tau, lo))
	}
	for v := lo; v < hi; v++ {
		sum += rest(p*l.mass(v-ca), q*l.mass(v-cb))
	}
	return sum + rest(p*l.atLeast(hi-ca), q*l.atLeast(hi-cb))
}

// worst returns the largest divergence of the pairs, either way.
func (l drawn) worst(pairs [][2]*reference[int], epsilon float64) (largest float64) {
	for _, pair := range pairs {
		largest = max(largest, l.hockeyStick(pair[0], pair[1], epsilon), l.hockeyStick(pair[1], pair[0], epsilon))
	}
	return largest
}

// exactly asserts that a release by l is (ε, δ)-private for the pairs, and that with half the noise
// it is not; nor, where the formula is attained, at a threshold lower by one.
func (l drawn) exactly(t *testing.T, pairs [][2]*reference[int], epsilon, delta, formula float64, attained bool) float64 {
	exact := l.worst(pairs, epsilon)
	require.LessOrEqual(t, exact, delta)
	if attained {
		require.InEpsilon(t, formula, exact, 1e-9, "the formula is attained")
		require.Greater(t, drawn{l.noise, l.tau - 1}.worst(pairs, epsilon), delta, "one lower must not be private")
	}
	half := dptest.OK(noise.NewDiscreteLaplace(l.noise.Scale() / 2))(t)
	require.Greater(t, drawn{half, l.tau}.worst(pairs, epsilon), delta, "half the noise must not be private")
	return exact
}

// neighbours returns every pair of sketch states that a stream over the keys 0..keys−1 up to the
// length and the same stream without one element lead to, each once.
func neighbours(k, keys, length int) [][2]*reference[int] {
	seen := map[string]bool{}
	var pairs [][2]*reference[int]
	var extend func(stream []int)
	extend = func(stream []int) {
		whole := run(k, stream)
		for i := range stream {
			less := run(k, slices.Concat(stream[:i], stream[i+1:]))
			// Only the difference of the decrements matters.
			id := fmt.Sprint(whole.counts, less.counts, whole.decrements-less.decrements)
			if !seen[id] {
				seen[id] = true
				pairs = append(pairs, [2]*reference[int]{whole, less})
			}
		}
		if len(stream) == length {
			return
		}
		for key := range keys {
			extend(append(slices.Clone(stream), key))
		}
	}
	extend(nil)
	return pairs
}

// upToNames leaves one of the pairs that differ only in the names of the keys, on which the
// divergence does not depend.
func upToNames(pairs [][2]*reference[int]) (classes [][2]*reference[int]) {
	seen := map[string]bool{}
	for _, pair := range pairs {
		keys := slices.Collect(maps.Keys(pair[0].counts))
		for key := range pair[1].counts {
			if _, common := pair[0].counts[key]; !common {
				keys = append(keys, key)
			}
		}
		class := make([][2]int64, len(keys))
		for i, key := range keys {
			for side, r := range pair {
				class[i][side] = -1 // not stored, which is not the same as 0
				if count, stored := r.counts[key]; stored {
					class[i][side] = count
				}
			}
		}
		slices.SortFunc(class, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
		id := fmt.Sprint(class, pair[0].decrements-pair[1].decrements)
		if !seen[id] {
			seen[id] = true
			classes = append(classes, pair)
		}
	}
	return classes
}

// Theorem: the release is (ε, δ)-private for all neighbouring streams, exactly for δ(τ). Computed
// for every pair of streams over 4 keys up to length 7, from the calibrated threshold and the noise
// that the sampler draws.
func TestReleaseIsPrivateExactly(t *testing.T) {
	length := 7
	if !dptest.Long() {
		length = 5
	}
	settings := []struct{ epsilon, delta float64 }{{0.5, 1e-2}, {1, 1e-6}, {2, 1e-3}}
	for k := 1; k <= 3; k++ {
		pairs := upToNames(neighbours(k, 4, length))
		for _, s := range settings {
			t.Run(fmt.Sprintf("k=%d/epsilon=%v/delta=%v", k, s.epsilon, s.delta), func(t *testing.T) {
				p := Params{Counters: k, Epsilon: s.epsilon, Delta: s.delta}
				tau := thresholdOf(p)
				// (S6) at k = 3 needs a fifth key
				drawn{sharedNoise(p), tau}.exactly(t, pairs, s.epsilon, s.delta, keptDelta(k, s.epsilon, tau), k < 3)
			})
		}
		t.Logf("k = %d: %d classes of neighbours", k, len(pairs))
	}
}

// With five keys (S6) exists at k = 3, and the bound is attained there as well.
func TestBoundIsAttainedAtThreeCounters(t *testing.T) {
	if !dptest.Long() {
		t.Skip("five keys")
	}
	p := Params{Counters: 3, Epsilon: 1, Delta: 1e-3}
	l := drawn{sharedNoise(p), thresholdOf(p)}
	require.InEpsilon(t, keptDelta(3, 1, l.tau), l.worst(upToNames(neighbours(3, 5, 6)), 1), 1e-9)
}

// Large stable counts show η and D does too, and still nothing more is lost: states built by hand,
// with stable counters around and far above τ.
func TestStableCountersRevealNothingMore(t *testing.T) {
	p := Params{Counters: 3, Epsilon: 1, Delta: 1e-4}
	l := drawn{sharedNoise(p), thresholdOf(p)}
	for _, stable := range []int64{0, 1, 5, l.tau - 1, l.tau, l.tau + 2, l.tau + 13} {
		state := func(decrements int64, counts map[int]int64) *reference[int] {
			return &reference[int]{counts: counts, decrements: decrements}
		}
		for _, s := range []struct {
			name string
			a, b *reference[int]
		}{
			{"S1", state(1, map[int]int64{1: stable, 2: 0, 3: 4}), state(0, map[int]int64{1: stable + 1, 2: 1, 3: 5})},
			{"S2", state(1, map[int]int64{1: stable, 2: 0, 3: 4}), state(0, map[int]int64{1: stable + 1, 4: 1, 3: 5})},
			{"S3", state(0, map[int]int64{1: stable + 1, 2: 0, 3: 4}), state(0, map[int]int64{1: stable, 2: 0, 3: 4})},
			{"S4", state(0, map[int]int64{1: stable, 2: 1, 3: 4}), state(0, map[int]int64{1: stable, 4: 0, 3: 4})},
			{"S5", state(0, map[int]int64{1: stable + 1, 2: 0, 3: 4}), state(0, map[int]int64{1: stable, 4: 0, 3: 4})},
			{"S6", state(0, map[int]int64{1: stable, 2: 1, 3: 0}), state(0, map[int]int64{1: stable, 4: 0, 5: 0})},
		} {
			require.LessOrEqual(t, l.hockeyStick(s.a, s.b, 1), keptDelta(3, 1, l.tau)*(1+1e-9), "%s, stable %d", s.name, stable)
			require.LessOrEqual(t, l.hockeyStick(s.b, s.a, 1), keptDelta(3, 1, l.tau)*(1+1e-9), "%s back, stable %d", s.name, stable)
		}
	}
}

// If D were released with noise of its own sign wrong, +η for −η, neighbours would be told apart:
// the exact test sees it.
func TestDecrementsMustMoveAgainstTheCounters(t *testing.T) {
	p := Params{Counters: 2, Epsilon: 1, Delta: 1e-6}
	l := drawn{sharedNoise(p), thresholdOf(p)}
	a := &reference[int]{counts: map[int]int64{1: 40, 2: 40}, decrements: -1} // mirrored sign of D
	b := &reference[int]{counts: map[int]int64{1: 41, 2: 41}, decrements: 0}
	require.Greater(t, l.hockeyStick(a, b, 1), p.Delta)
}
