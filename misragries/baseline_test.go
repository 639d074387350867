package misragries

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// The error over all keys, at the setting of the paper's introduction, against the bound of Theorem
// 14 and against what there was before: Chan, Li, Shi and Xu (PETS 2012), who add noise of scale
// k/ε to every counter.
func TestErrorAgainstTheorem14AndChan(t *testing.T) {
	notShort(t)
	const n, k, epsilon, delta, beta = 1_000_000, 1024, 1.0, 1e-9, 0.001
	runs := 1000
	if !dptest.Long() {
		runs = 20
	}
	stream, truth := zipfStream(14, n, 1.1)
	s := sketch.New[int](k)
	s.AddSlice(stream)
	state, positive := s.Counters(), s.Positive()
	stored := map[int]bool{}
	for _, c := range state {
		stored[c.Key] = true
	}
	unstored := 0.0 // the largest count that no release shows
	for key, f := range truth {
		if !stored[key] {
			unstored = max(unstored, float64(f))
		}
	}
	// The largest f − estimate and estimate − f; a key without an estimate has 0.
	errors := func(find func(key int) float64) (below, above float64) {
		below = unstored
		for _, c := range state {
			d := float64(truth[c.Key]) - find(c.Key)
			below, above = max(below, d), max(above, -d)
		}
		return below, above
	}

	// Theorem 14: f̂ ∈ [f − 2·ln((k+1)/β)/ε − 1 − 2·ln(3/δ)/ε − n/(k+1), f + 2·ln((k+1)/β)/ε]
	// for all keys with probability 1 − β.
	spread := 2 * math.Log((k+1)/beta) / epsilon
	most := spread + 1 + 2*math.Log(3/delta)/epsilon + float64(n)/(k+1)

	// Chan et al. with a threshold: Laplace noise of scale k/ε on every counter, shown if at
	// least 1 + (k/ε)·ln(k/(2δ)). Discrete noise is as good.
	p := Params{Counters: k, Epsilon: epsilon, Delta: delta}
	wide, err := noise.NewDiscreteLaplace(k / epsilon)
	require.NoError(t, err)
	threshold := int64(math.Ceil(1 + k/epsilon*math.Log(k/(2*delta))))

	var src noise.Source
	var below, above, chanBelow, chanLeast float64
	factor := math.Inf(1)
	chanLeast = math.Inf(1)
	for range runs {
		h := releaseOne(&src, p, state, s.Decrements())
		lo, hi := errors(func(key int) float64 { return h.Lower(key) })
		require.LessOrEqual(t, lo, most)
		require.LessOrEqual(t, hi, spread)
		below, above = max(below, lo), max(above, hi)

		theirs := map[int]float64{}
		for _, c := range positive {
			if v := c.Count + wide.SampleInt(&src); v >= threshold {
				theirs[c.Key] = float64(v)
			}
		}
		cLo, cHi := errors(func(key int) float64 { return theirs[key] })
		worst := max(cLo, cHi)
		chanBelow, chanLeast = max(chanBelow, worst), min(chanLeast, worst)
		factor = min(factor, worst/max(lo, hi))
	}
	require.Greater(t, factor, 10.0, "in every run")
	t.Logf("sketch: D = %d, n/(k+1) = %.1f, largest f that is not stored %.0f", s.Decrements(), float64(n)/(k+1), unstored)
	t.Logf("largest f − estimate in %d runs %.0f, Theorem 14 %.1f: %.2f of it; largest estimate − f %.0f, Theorem 14 %.1f", runs, below, most, below/most, above, spread)
	t.Logf("Chan et al.: threshold %d, error %.0f to %.0f, at least %.1f times ours", threshold, chanLeast, chanBelow, factor)

	// What the noise and the threshold add to the sketch: the largest distance to its counters.
	var ours, before, bound float64
	bound = spread + 1 + 2*math.Log(3/delta)/epsilon
	distance := func(find func(key int) float64) (d float64) {
		for _, c := range state {
			d = max(d, math.Abs(find(c.Key)-float64(c.Count)))
		}
		return d
	}
	for range runs / 10 {
		h := releaseOne(&src, p, state, s.Decrements())
		ours = max(ours, distance(func(key int) float64 { return h.Lower(key) }))
		theirs := map[int]float64{}
		for _, c := range positive {
			if v := c.Count + wide.SampleInt(&src); v >= threshold {
				theirs[c.Key] = float64(v)
			}
		}
		before = max(before, distance(func(key int) float64 { return theirs[key] }))
	}
	require.LessOrEqual(t, ours, bound)
	t.Logf("besides the sketch: ours %.0f, Lemmas 12 and 13 %.1f, Chan et al. %.0f: %.0f times ours", ours, bound, before, before/ours)

	// Pure ε over 2³² keys: noise of scale k/ε on all keys, the k largest; against the reduced
	// sketch.
	p = Params{Counters: k, Epsilon: epsilon, Dim: 1 << 32}
	l := lawOf(p)
	pure := 0.0
	before = math.Inf(1)
	worst := func(counts []counter[int], per float64) float64 {
		shown := map[int]float64{}
		least := 0.0
		for _, c := range counts {
			shown[c.Key] = float64(c.Count) / per
			// also of keys that never occurred
			least = max(least, shown[c.Key]-float64(truth[c.Key]))
		}
		lo, hi := errors(func(key int) float64 { return shown[key] })
		return max(lo, hi, least)
	}
	for range max(runs/20, 5) {
		pure = max(pure, worst(topOfUniverse(&src, l.noise(), k, p.Dim, sketch.Reduced(positive, k)), k+1))
		before = min(before, worst(topOfUniverse(&src, wide, k, p.Dim, positive), 1))
	}
	require.Greater(t, before/pure, 10.0)
	t.Logf("pure ε: largest error %.0f, Chan et al. %.0f at least: %.1f times as much", pure, before, before/pure)
}
