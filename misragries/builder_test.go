package misragries

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

func build[K string | int | uint64](t testing.TB, p Params, stream []K) *Builder[K] {
	t.Helper()
	b := dptest.OK(New[K](p))(t)
	for _, key := range stream {
		b.Add(key)
	}
	return b
}

// Once released nothing counts, by AddN neither, and Release says so; also where a call of AddN
// would take the data of a Builder that is not released.
func TestReleaseOnce(t *testing.T) {
	for _, m := range []int{0, 2} {
		p := Params{Counters: 4, Epsilon: 1, Delta: 1e-6, MaxElements: m}
		var others []*Builder[string]
		for _, q := range []Params{{Counters: 5, Epsilon: 1, Delta: 1e-6}, {Counters: 4, Epsilon: 2, Delta: 1e-6}, {Counters: 4, Epsilon: 1, Delta: 1e-7}} {
			q.MaxElements = m
			others = append(others, build(t, q, []string{"b"}))
		}
		use := func(b *Builder[string]) { b.Add("a"); b.AddSlice([]string{"a"}); b.AddN("a", max(m, 1)) }
		dptest.Builder(t, func() *Builder[string] { return build(t, p, []string{"a"}) }, use, others...)
		b := build(t, p, []string{"a"})
		dptest.OK(b.Release())(t)
		b.AddN("a", 5)
		dptest.Refused(t, dptest.Err(b.Release()), ErrReleased, "already released")
		require.Nil(t, peek(b.secret), "nothing is held that could count")
	}
}

func TestSumBuilder(t *testing.T) {
	fresh := func(p Params) *Sum[string] {
		s := dptest.OK(NewSum[string](p))(t)
		require.NoError(t, s.Add(build(t, p, []string{"a", "b"})))
		return s
	}
	p, other := Params{Counters: 4, Epsilon: 1, Delta: 1e-6}, Params{Counters: 5, Epsilon: 1, Delta: 1e-6}
	dptest.Builder(t, func() *Sum[string] { return fresh(p) }, func(s *Sum[string]) { _ = s.Add(build(t, p, []string{"a"})) }, fresh(other))
}

func TestBuildersShowNothing(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	dptest.Redacted(t, dptest.OK(FromMisraGries(p, map[string]int64{"Rumpelstiltskin": 7735012987}))(t), "Rumpelstiltskin", "7735012987")
	s := dptest.OK(NewSum[string](p))(t)
	require.NoError(t, s.Add(build(t, p, []string{"Rumpelstiltskin", "Rumpelstiltskin"})))
	dptest.Redacted(t, s, "Rumpelstiltskin")
	p.MaxElements = 3
	for _, p.Method = range []Method{KeptZeros, SparseVector} {
		u := dptest.OK(NewUserBuilder[string](p))(t)
		u.AddUser([]string{"Rumpelstiltskin", "xyzzyplugh"})
		dptest.Redacted(t, u, "Rumpelstiltskin", "xyzzyplugh")
	}
}

// Even where nearly everything passes the threshold only keys of the stream come out, never a
// dummy.
func TestDummiesAreNeverReleased(t *testing.T) {
	for range 200 {
		h := dptest.OK(build(t, Params{Counters: 50, Epsilon: 0.01, Delta: 1 - 1e-9}, []int{5, -3, 5, 8}).Release())(t)
		for key := range h.All() {
			require.Contains(t, []int{5, -3, 8}, key)
		}
	}
}

// The law of a released count: Pr[c + η + L = v] for v ≥ τ, nothing below, and the same for D − η.
func TestReleasedCountsFollowTheirLaw(t *testing.T) {
	p := Params{Counters: 2, Epsilon: 0.8, Delta: 1e-2}
	const c = 12
	n := dptest.Full(60_000, 10_000)
	tau := int(thresholdOf(p))
	d := sharedNoise(p)
	counts, decrements := make([]int64, 60), make([]int64, 41)
	var src noise.Source
	for range n {
		h := releaseOne(&src, p, []counter[int]{{Key: 1, Count: c}, {Key: 2, Count: 0}}, 3)
		if v := int(h.Lower(1)); v != 0 {
			require.GreaterOrEqual(t, v, tau)
			counts[min(v, len(counts)-1)]++
		} else {
			counts[0]++
		}
		decrements[min(max(h.lost-3+20, 0), 40)]++
	}
	shown, expected := 0.0, make([]float64, len(counts))
	for v := tau; v < len(counts)-1; v++ {
		expected[v] = sumOver(p.Epsilon, func(x float64) float64 { return d.Prob(x) * d.Prob(float64(v-c)-x) })
		shown += expected[v]
	}
	last := float64(len(counts) - 1 - c)
	expected[len(counts)-1] = sumOver(p.Epsilon, func(x float64) float64 { return d.Prob(x) * d.Survival(last-1-x) })
	expected[0] = 1 - shown - expected[len(counts)-1]
	dptest.ChiSquare(t, "c + η + L", counts, expected, 1e-10)
	law := make([]float64, 41)
	for i := range law {
		law[i] = d.Prob(float64(i - 20))
	}
	law[0], law[40] = d.CDF(-20), d.Survival(19)
	dptest.ChiSquare(t, "D − η", decrements, law, 1e-10)
}

// audit returns a lower bound on ε, at confidence 1 − 1e-10, from releases of two states under the
// noise of epsilon and the threshold given: a stable counter far above τ, by the event that its
// noisy count is at least the larger.
func audit(t *testing.T, epsilon float64, tau int64, delta float64, a, b []counter[int], event func(*Histogram[int]) bool) float64 {
	const n = 100_000
	p := Params{Counters: 2, Epsilon: epsilon, Delta: 0.5}
	l := lawOf(p)
	l.Threshold = tau
	dptest.Alarm(t, 1e-10)
	hits := func(state []counter[int]) int64 {
		var src noise.Source
		count := int64(0)
		for range n {
			if event(release(&src, p, l, 1, contents[int]{counters: state})) {
				count++
			}
		}
		return count
	}
	return dptest.EpsilonLowerBound(hits(a), n, hits(b), n, delta, 1-1e-10)
}

func TestAudit(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	p := Params{Counters: 2, Epsilon: 1, Delta: 1e-2}
	tau := thresholdOf(p)
	// (S3): the counter 100 or 101, by v + (D − η) = 101 + L ≥ 101.
	a, b := []counter[int]{{Key: 1, Count: 101}, {Key: 2, Count: 0}}, []counter[int]{{Key: 1, Count: 100}, {Key: 2, Count: 0}}
	own := func(h *Histogram[int]) bool { return h.Lower(1)+float64(h.lost) >= 101 }
	require.LessOrEqual(t, audit(t, 1, tau, p.Delta, a, b, own), 1.0)
	require.Greater(t, audit(t, 2, tau, p.Delta, a, b, own), 1.0, "half the noise must be noticed")
	// (S6): a key on one side only is shown.
	a, b = []counter[int]{{Key: 1, Count: 1}, {Key: 2, Count: 0}}, []counter[int]{{Key: 3, Count: 0}, {Key: 4, Count: 0}}
	escape := func(h *Histogram[int]) bool { return h.Estimate(1) != 0 || h.Estimate(2) != 0 }
	require.LessOrEqual(t, audit(t, 1, tau, p.Delta, a, b, escape), 1.0)
	require.Greater(t, audit(t, 1, tau-2, p.Delta, a, b, escape), 1.0, "a threshold two lower must be noticed")
}
