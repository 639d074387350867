package series

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries"
	laws "github.com/dpsketch/dpsketch/misragries/internal/thresholds"
)

// A key of one element is shown by a sketch of one of two discovery spans with probability δ at
// most, whether or not another key fills the sketch: it is in one sketch of each span, and each has
// half of δ. Two sketches with the whole δ exceed it. TestSketchesExact computes what this counts.
func TestSketchesAreAudited(t *testing.T) {
	dptest.NeedsLong(t)
	n := int64(60_000)
	for _, c := range []struct{ counters, others int }{{1, 0}, {2, 3}} {
		p := Params{Epsilon: 1, Delta: 0.05, Spans: spansOf(1, 2), Discovery: spansOf(1, 2), Counters: c.counters}.normal()
		shown := func(whole bool) (hits int64) {
			for range n {
				b := dptest.OK(New[int](p))(t)
				s := held(b)
				if whole {
					s.calibration.sketch.Delta = p.Delta
					for j := range s.sketches {
						var err error
						s.sketches[j], err = misragries.New[int](s.calibration.sketch)
						require.NoError(t, err)
					}
				}
				for range c.others {
					b.Add(8)
				}
				b.Add(7)
				hit := false
				for range 2 {
					for x := range dptest.OK(b.Step())(t).Found() {
						hit = hit || x == 7
					}
				}
				if hit {
					hits++
				}
			}
			return hits
		}
		dptest.Alarm(t, 1e-9)
		lower, _ := dptest.ClopperPearson(shown(false), n, 1-1e-9)
		require.LessOrEqual(t, lower, p.Delta)
		if c.counters == 1 {
			lower, _ = dptest.ClopperPearson(shown(true), n, 1-1e-9)
			require.True(t, dptest.Control(t, lower > p.Delta, 1e-9))
		}
	}
}

// words returns all sequences of the keys 7 and 8 of up to so many elements.
func words(most int) (all [][]int) {
	all = [][]int{nil}
	for last := all; len(last[0]) < most; {
		var next [][]int
		for _, w := range last {
			next = append(next, append(slices.Clone(w), 7), append(slices.Clone(w), 8))
		}
		all, last = append(all, next...), next
	}
	return all
}

// tau returns the threshold of each sketch.
func (c calibration) tau() int {
	return int(laws.KeptThreshold(c.sketch.Counters, c.sketch.Epsilon, c.sketch.Delta))
}

// discovering are Params of two sketches of k counters, the threshold of each, and its exact δ.
func discovering(t *testing.T, k int) (p Params, tau int, delta float64) {
	p = Params{Epsilon: 2, Delta: 0.3, Spans: spansOf(1, 2), Discovery: spansOf(1, 2), Counters: k}
	law := dptest.OK(p.normal().calibrate())(t)
	tau = law.tau()
	delta = math.Exp(laws.KeptDelta(k, law.sketch.Epsilon, float64(tau)))
	require.LessOrEqual(t, 2*delta, p.Delta)
	return p, tau, delta
}

// With sketches of one and two counters that discover two keys, the law of all that two steps
// release is computed as in TestExact, for neighbours that have one element more at any place: it
// is (ε, δ)-private in both directions, with δ the sum of those of the two sketches that hold it.
func TestSketchesExact(t *testing.T) {
	for k := 1; k <= 2; k++ {
		if testing.Short() && k > 1 {
			continue
		}
		p, tau, delta := discovering(t, k)
		worst, pairs := 0.0, 0
		high := slices.Repeat([]int{7}, tau)
		streams := []stream{{{}, {}}, {high, {8}}}[:k]
		if dptest.Long() {
			most := 3 - k
			if dptest.Deep() {
				most = 3
			}
			streams = nil
			for _, a := range words(most) {
				for _, b := range words(most) {
					streams = append(streams, stream{a, b}, stream{append(slices.Clone(high), a...), b})
				}
			}
			if !dptest.Deep() { // every third, which has high keys as often
				n := 0
				streams = slices.DeleteFunc(streams, func(stream) bool { n++; return n%3 != 1 })
			}
		}
		for _, x := range streams {
			for step, keys := range x {
				for i := range len(keys) + 1 {
					if !dptest.Long() && i > 0 && i < len(keys) {
						continue
					}
					for _, key := range []int{7, 8} {
						xy, yx, sumX, sumY := divergences(t, p, p.Epsilon, x, x.with(step, i, key, 1), mutant{})
						require.InDelta(t, 1, sumX, 1e-10)
						require.InDelta(t, 1, sumY, 1e-10)
						require.LessOrEqual(t, max(xy, yx), 2*delta, "%v, %d at %d in step %d", x, key, i, step)
						worst = max(worst, xy/(2*delta), yx/(2*delta))
						pairs++
					}
				}
			}
		}
		t.Logf("%d counters: %d pairs, at worst %.4f of δ", k, pairs, worst)
		require.Greater(t, worst, 0.7)
	}
}

// Each of these Builders does one thing otherwise, and exceeds (ε, δ) for one element more in a
// step.
func TestSketchMutantsExceed(t *testing.T) {
	dptest.NotShort(t, "the edits of TestMutantsExceed are tried with -short")
	p, tau, delta := discovering(t, 2)
	high := slices.Repeat([]int{7}, tau)
	for name, c := range map[string]struct {
		x    stream
		step int
		m    mutant
	}{
		"a threshold lower by one": {stream{{}, {}}, 0, mutant{lower: 1}},
		"half the noise":           {stream{high, {7, 7, 7, 7}}, 0, mutant{quieter: true}},
		"known keys feed sketches as well": {stream{high, {8}}, 1, mutant{before: func(s *state[int], key int) {
			if _, known := s.at[key]; known {
				for _, sketch := range s.sketches {
					sketch.Add(key)
				}
			}
		}}},
		"a key becomes known inside of a step": {stream{{7}, {}}, 0, mutant{before: func(s *state[int], key int) {
			if _, known := s.at[key]; !known && readCounters(t, s.sketches[0], s.calibration.sketch).of[key] > 0 {
				s.known = append(s.known, member[int]{key: key, since: s.steps, rate: rate{1, 1}})
				slices.SortFunc(s.known, func(a, b member[int]) int { return a.key - b.key })
				s.index()
			}
		}}},
	} {
		xy, yx, _, _ := divergences(t, p, p.Epsilon, c.x, c.x.with(c.step, 0, 7, 1), c.m)
		t.Logf("%s: %.3g times δ", name, max(xy, yx)/(2*delta))
		require.Greater(t, max(xy, yx), 1.01*2*delta, name)
	}
}
