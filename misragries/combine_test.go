package misragries

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestCombine(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	a := histogram(p, 4, []counter[string]{{Key: "a", Count: 30}, {Key: "c", Count: 17}})
	b := histogram(Params{Counters: 16, Epsilon: 2, Delta: 1e-9}, 2, []counter[string]{{Key: "b", Count: 20}, {Key: "c", Count: 50}})
	c, err := Combine(a, b)
	require.NoError(t, err)
	require.Equal(t, 3, c.Len())
	require.Equal(t, []string{"a", "b", "c"}, keysOf(c.All()))
	require.Equal(t, 17.0+4+50+2, c.Estimate("c"))
	require.Zero(t, c.Estimate("zzz"))
	for key, v := range c.All() {
		require.Equal(t, c.Estimate(key), v)
		lo, hi := c.Interval(key, 0.9)
		al, ah := a.Interval(key, 0.95)
		bl, bh := b.Interval(key, 0.95)
		require.InDelta(t, al+bl, lo, 1e-12)
		require.InDelta(t, ah+bh, hi, 1e-12)
	}
	for range c.All() {
		break
	}
	require.Equal(t, budget.ApproxDP(2, 1e-6, budget.Element(budget.AddRemove)), c.GuaranteeDisjoint())
	both, err := budget.Compose(a.Guarantee(), b.Guarantee())
	require.NoError(t, err)
	require.Equal(t, both, c.GuaranteeOverlapping())
	require.Contains(t, c.String(), "3 keys of 2 histograms")
	require.Greater(t, c.ErrorBound(900, 0.9), 900./9+17+13)
	require.True(t, math.IsNaN(c.ErrorBound(-1, 0.9)) && math.IsNaN(c.ErrorBound(1, 1)))
	lo, hi := c.Interval("a", math.NaN())
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	_, err = Combine[string]()
	require.ErrorIs(t, err, ErrParams)
	for _, bad := range []*Histogram[string]{nil, {}} {
		_, err = Combine(a, bad)
		require.ErrorIs(t, err, ErrParams)
	}
	require.Greater(t, c.ErrorBound(100, math.Nextafter(1, 0)), 0.0)
}

// Over three servers, the intervals and the bound for all keys hold at their confidence.
func TestCombinedPromises(t *testing.T) {
	notShort(t)
	stream, truth := zipfStream(5, 9000, 1.2)
	p := Params{Counters: 64, Epsilon: 0.5, Delta: 1e-3}
	const releases, confidence = 1500, 0.9
	var states [3]*sketch.Sketch[int]
	for i := range states {
		states[i] = sketch.New[int](p.Counters)
		for _, key := range stream[3000*i : 3000*i+3000] {
			states[i].Add(key)
		}
	}
	var src noise.Source
	failures := map[string]int64{}
	bound := 0.0
	for range releases {
		var parts []*Histogram[int]
		for _, s := range states {
			parts = append(parts, release(&src, p, s.Counters(), s.Decrements()))
		}
		c, err := Combine(parts...)
		require.NoError(t, err)
		for _, key := range []int{0, 3, 40, 1 << 30} {
			if lo, hi := c.Interval(key, confidence); float64(truth[key]) < lo || float64(truth[key]) > hi {
				failures["interval"]++
				break
			}
		}
		bound = c.ErrorBound(9000, confidence)
		for key, f := range truth {
			if math.Abs(c.Estimate(key)-float64(f)) > bound {
				failures["bound"]++
				break
			}
		}
	}
	require.Less(t, bound, 9000./65+3*(p.Threshold()+120))
	dptest.Alarm(t, 2e-10)
	low, _ := dptest.ClopperPearson(failures["interval"], releases, 1-1e-10)
	require.LessOrEqual(t, low, 4*(1-confidence), "one of four intervals")
	low, _ = dptest.ClopperPearson(failures["bound"], releases, 1-1e-10)
	require.LessOrEqual(t, low, 1-confidence)
}

func TestPlan(t *testing.T) {
	p := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}
	plan, err := p.Plan(10)
	require.NoError(t, err)
	require.Len(t, plan.Costs, 3, "shifts would hide more")
	few, err := p.Plan(3)
	require.NoError(t, err)
	require.Len(t, few.Costs, 4)
	byWay := map[Way]Cost{}
	for _, c := range append(plan.Costs, few.Costs[1]) {
		byWay[c.Way] = c
		require.Contains(t, few.String(), c.Way.String()+": shows keys from ")
	}
	require.Equal(t, p, few.Params)
	require.InDelta(t, 15.45, byWay[SumThem].Hidden, 0.02)
	require.InDelta(t, 17.9+0.12, byWay[SumThem].Hidden95, 0.1)
	require.InDelta(t, 1.6, byWay[SumThem].StdDev, 0.05)
	require.EqualValues(t, 10_240, byWay[SumThem].Keys)
	require.InDelta(t, 14.1+3*0.44, byWay[SumThemShifted].Hidden, 0.3)
	require.InDelta(t, 16.4+3*0.44+0.1, byWay[SumThemShifted].Hidden95, 0.2)
	require.InDelta(t, 3*0.44, byWay[SumThemShifted].Bias, 0.1)
	require.InDelta(t, 422.5, byWay[MergeThem].Hidden, 0.5)
	require.InDelta(t, 71.3, byWay[MergeThem].StdDev, 0.1)
	require.EqualValues(t, 2048, byWay[MergeThem].Keys)
	require.Equal(t, 10*16+1.0, byWay[ReleaseEach].Hidden)
	require.InDelta(t, p.StdDev()*math.Sqrt(10), byWay[ReleaseEach].StdDev, 1e-9)
	for _, bad := range []int{0, -1, math.MinInt} {
		_, err = p.Plan(bad)
		require.ErrorIs(t, err, ErrParams)
	}
	_, err = Params{}.Plan(3)
	require.ErrorIs(t, err, ErrParams)
	plan, err = Params{Counters: 64, Epsilon: 1, Dim: 100_000}.Plan(3) // δ = 0
	require.NoError(t, err)
	require.Len(t, plan.Costs, 3)
	require.InEpsilon(t, 13.0*1.045, plan.Costs[0].Hidden, 0.01, "the 64-th largest of 100,000 noises of scale 1.95, at a part of ε")
	require.InEpsilon(t, 213.0*1.1, plan.Costs[1].Hidden, 0.01, "32 for 1.95")
	require.Equal(t, "Way(9)", Way(9).String())
}

// A plan for Params that name a Method is of that alone, and what each way costs is what a release
// by it tells of itself.
func TestPlanKeepsToTheMethod(t *testing.T) {
	for m, want := range map[Method][]Way{
		KeptZeros: {ReleaseEach}, FreedZeros: {ReleaseEach}, SparseVector: {MergeThem, ReleaseEach}, ReducedSum: {SumThem, ReleaseEach},
		ShiftedSum: {SumThemShifted, ReleaseEach}, PureUniverse: {SumThem, MergeThem, ReleaseEach},
	} {
		p := Params{Counters: 16, Epsilon: 1, Delta: 0.01, Dim: 1000, Method: m, Sparse: sparse.Laplace}
		if !methodOf[int](m).pure() {
			p.Dim = 0
		}
		plan, err := p.Plan(2)
		require.NoError(t, err)
		var ways []Way
		for _, c := range plan.Costs {
			ways = append(ways, c.Way)
			in, parts := map[Way]Input{SumThem: Summed, SumThemShifted: Summed, MergeThem: Merged, ReleaseEach: OneStream}[c.Way], 1.0
			if c.Way == ReleaseEach {
				parts = 2
			}
			h := draw(t, in, p, repeat(900, 1000))
			require.Equal(t, m, h.Method())
			if c.Way == SumThemShifted {
				h.sketches = 2
			}
			require.InEpsilon(t, math.Sqrt(parts)*h.StdDev(), c.StdDev, 1e-12, "%v by %v", m, c.Way)
			require.Equal(t, parts*h.offsets(), c.Bias, "%v by %v", m, c.Way)
			require.Equal(t, plan.Params.Guarantee(), h.Guarantee())
		}
		require.Equal(t, want, ways, m)
	}
	// Where all keys are released nothing is hidden, on however many servers.
	plan, err := Params{Counters: 16, Epsilon: 1, Dim: 16}.Plan(9)
	require.NoError(t, err)
	for _, c := range plan.Costs {
		require.Zero(t, c.Hidden, c.Way)
		require.Zero(t, c.Hidden95, c.Way)
	}
}
