package misragries

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
)

// standardNeighbours returns the pairs of neighbours with the zero keys freed, each once but for
// the names of the keys.
func standardNeighbours(k, keys, length int) [][2]*reference[int] {
	pairs := neighbours(k, keys, length)
	for n, pair := range pairs {
		for i, r := range pair {
			pairs[n][i] = &reference[int]{counts: maps.Clone(r.counts), decrements: r.decrements}
			maps.DeleteFunc(pairs[n][i].counts, func(_ int, count int64) bool { return count == 0 })
		}
	}
	return upToNames(pairs)
}

// Theorem: the positive counters, with D − η, are (ε, δ)-private exactly for the formula. Computed
// for every pair of streams over 4 keys up to length 6, where k counters at 1 against none occur
// for k ≤ 3.
func TestStandardReleaseIsPrivateExactly(t *testing.T) {
	length := 6
	if !dptest.Long() {
		length = 5
	}
	for k := 1; k <= 3; k++ {
		pairs := standardNeighbours(k, 4, length)
		for _, s := range []struct{ epsilon, delta float64 }{{0.5, 1e-2}, {1, 1e-6}, {2, 1e-3}} {
			t.Run(fmt.Sprintf("k=%d/epsilon=%v/delta=%v", k, s.epsilon, s.delta), func(t *testing.T) {
				tau := thresholds.FreedThreshold(k, s.epsilon, s.delta)
				l, formula := drawn{noiseFor(s.epsilon), tau}, math.Exp(thresholds.FreedDelta(k, s.epsilon, float64(tau)))
				if exact := l.exactly(t, pairs, s.epsilon, s.delta, formula, true); k > 1 {
					require.Greater(t, exact, keptDelta(k, s.epsilon, tau), "more than with zeros kept")
				}
			})
		}
		t.Logf("k = %d: %d classes of neighbours", k, len(pairs))
	}
}

// Large counters, which show η, beside keys that are freed: never more than the formula.
func TestStandardStableCountersRevealNothingMore(t *testing.T) {
	const k = 3
	d := noiseFor(1)
	for _, tau := range []int64{1, 2, 9} {
		l, bound := drawn{noise: d, tau: tau}, math.Exp(thresholds.FreedDelta(k, 1, float64(tau)))*(1+1e-9)
		for _, stable := range []int64{1, max(tau-1, 1), tau, tau + 1, tau + 12} {
			for freed := 0; freed <= k; freed++ {
				more := &reference[int]{counts: map[int]int64{}, decrements: 1}
				less := &reference[int]{counts: map[int]int64{}}
				for key := range k {
					less.counts[key] = 1
					if key >= freed {
						less.counts[key], more.counts[key] = stable+1, stable
					}
				}
				require.LessOrEqual(t, l.hockeyStick(more, less, 1), bound, "τ = %d, %v", tau, less.counts)
				require.LessOrEqual(t, l.hockeyStick(less, more, 1), bound, "τ = %d, %v", tau, less.counts)
			}
		}
	}
}
