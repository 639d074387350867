package misragries

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// rows returns the rows of a plan by their constructors.
func rows(t *testing.T, p Params, servers int) (Plan, map[string]Row) {
	t.Helper()
	plan := dptest.OK(p.Plan(servers))(t)
	all := map[string]Row{}
	for _, r := range plan.Rows {
		all[r.Constructor] = r
		require.Contains(t, plan.String(), r.String())
	}
	require.Len(t, all, len(plan.Rows))
	require.Equal(t, plan.Rows[0].Threshold, plan.Threshold)
	require.Equal(t, plan.Rows[0].StdDev, plan.StdDev)
	return plan, all
}

// What is planned for a usual stream, and for the streams of servers.
func TestPlan(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6}
	plan, one := rows(t, p, 1)
	require.Equal(t, 1024, plan.Params.Counters)
	require.Equal(t, KeptZeros, plan.Params.Method)
	require.Len(t, one, 3)
	require.Equal(t, 17.0, one["New"].Threshold)
	require.InDelta(t, 1.36, one["New"].StdDev, 0.01) // √(2q/(1−q)²)
	require.InDelta(t, 21, one["New"].Hidden95, 1)
	require.Equal(t, 24.0, one["FromMisraGries"].Threshold)
	require.InDelta(t, 1.36*math.Sqrt2, one["FromMisraGries"].StdDev, 0.01)
	for k, each := range map[int]float64{1024: 37, 1<<16 - 1: 37, 1 << 16: 30.5, 1 << 20: 30.5} {
		p.Counters = k
		plan, _ := rows(t, p, 1)
		require.InDelta(t, each, float64(plan.Bytes)/float64(k), 0.1, "as its comment says")
	}
	p.Counters = 0

	_, many := rows(t, p, 10)
	require.Len(t, many, 3)
	sum, merge, each := many["NewSum"], many["Builder.Merge"], many["Combine"]
	require.Equal(t, TrimmedSum, sum.Method)
	require.InDelta(t, 16.64, sum.Threshold, 0.02)
	require.InDelta(t, 10*0.274, sum.Bias, 0.01)
	require.InDelta(t, 16.64+2.74+2.85, sum.Hidden95, 0.2)
	require.InDelta(t, 1.76, sum.StdDev, 0.02)
	require.InDelta(t, 422.5, merge.Threshold, 0.5)
	require.InDelta(t, 71.3, merge.StdDev, 0.1)
	require.Equal(t, 10*16+1.0, each.Threshold)
	require.InDelta(t, one["New"].StdDev*math.Sqrt(10), each.StdDev, 1e-9)
	require.True(t, sum.Trusted && merge.Trusted && !each.Trusted)
	require.Contains(t, sum.String(), " + at most n/1024 (")
	require.Contains(t, sum.String(), ", needs a server that sees the sketches")
	require.Contains(t, each.String(), " + at most n/1025 (")

	for _, bad := range []int{0, -1, math.MinInt} {
		require.ErrorIs(t, dptest.Err(p.Plan(bad)), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(Params{}.Plan(3)), ErrParams)
	_, pure := rows(t, Params{Counters: 64, Epsilon: 1, Dim: 100_000}, 3)
	require.Len(t, pure, 3)
	require.InEpsilon(t, 13.0*1.045, pure["NewSum"].Threshold, 0.01, "the 64-th largest of 100,000 noises of scale 1.95, at a part of ε")
	require.InEpsilon(t, 213.0*1.1, pure["Builder.Merge"].Threshold, 0.01, "32 for 1.95")
	require.Contains(t, pure["NewSum"].String(), " + n/65 (")
}

// With MaxLength the rows have what is lost in the worst case: n/(k+1), or n/k by TrimmedSum.
func TestPlanHasWhatIsLost(t *testing.T) {
	p := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}
	_, without := rows(t, p, 5)
	p.MaxLength = 1_000_000
	_, with := rows(t, p, 5)
	for name, counters := range map[string]float64{"NewSum": 1024, "Builder.Merge": 1025, "Combine": 1025} {
		require.InDelta(t, 1e6/counters, with[name].Hidden95-without[name].Hidden95, 1e-9, name)
		require.Equal(t, []float64{1 / counters, 1 / counters}, []float64{with[name].Lost, without[name].Lost})
		require.Equal(t, without[name].Bias, with[name].Bias, name)
		require.NotContains(t, with[name].String(), "n/", name)
	}
	p.Method = ReducedSum
	_, with = rows(t, p, 5)
	p.MaxLength = 0
	_, without = rows(t, p, 5)
	require.Contains(t, without["NewSum"].String(), " + n/1025 (")
	require.InDelta(t, 1e6/1025, with["NewSum"].Hidden95-without["NewSum"].Hidden95, 1e-9)
	require.InDelta(t, 1e6/1025, with["NewSum"].Bias-without["NewSum"].Bias, 1e-9, "for certain")

	plan, all := rows(t, Params{Counters: 16, Epsilon: 1, Dim: 16, MaxLength: 1700}, 2)
	require.Len(t, plan.Rows, 3)
	for name, r := range all {
		require.Zero(t, r.Hidden95+r.Lost, name, "all keys are shown")
		require.True(t, math.IsInf(r.Threshold, -1), name)
	}
}

// A plan for Params that name a Method is of that alone, and what each row says is what a release
// by it says of itself.
func TestPlanKeepsToTheMethod(t *testing.T) {
	for m, want := range map[Method][]string{
		KeptZeros: {"Combine"}, FreedZeros: {"Combine"}, SparseVector: {"Builder.Merge", "Combine"}, ReducedSum: {"NewSum", "Combine"},
		TrimmedSum: {"NewSum", "Combine"}, PureUniverse: {"NewSum", "Builder.Merge", "Combine"},
	} {
		p := Params{Counters: 16, Epsilon: 1, Delta: 0.01, Method: m}
		if m == PureUniverse {
			p.Dim = 1000
		}
		plan := dptest.OK(p.Plan(2))(t)
		var names []string
		for _, r := range plan.Rows {
			names = append(names, r.Constructor)
			require.Equal(t, m, r.Method)
			in, parts := map[string]input{"NewSum": summed, "Builder.Merge": merged, "Combine": oneStream}[r.Constructor], 1.0
			if in == oneStream {
				parts = 2
			}
			h := draw(t, in, p, repeat(900, 1000))
			require.Equal(t, m, h.Params().Method)
			require.InEpsilon(t, math.Sqrt(parts)*h.stdDev(), r.StdDev, 1e-12, "%v by %v", m, r.Constructor)
			require.Equal(t, 2*h.calibration.counts(h.calibration.Offset), r.Bias, "%v by %v", m, r.Constructor)
			require.Equal(t, plan.Params.Guarantee(), h.Guarantee())
		}
		require.Equal(t, want, names, m)
	}
}

// Plans of users: single keys, and together.
func TestPlanOfUsers(t *testing.T) {
	for _, m := range []int{2, 60} {
		p := Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: m}
		b := dptest.OK(NewUserBuilder[int](p))(t)
		require.Equal(t, budget.User(m, budget.AddRemove), b.Guarantee().Unit())
		require.Equal(t, b.Guarantee().Epsilon(), p.Guarantee().Epsilon(), "that of New, for elements")
		h := dptest.OK(b.Release())(t)
		plan, all := rows(t, p, 1)
		require.Equal(t, h.threshold(), all["NewUserBuilder"].Threshold)
		require.Equal(t, h.stdDev(), all["NewUserBuilder"].StdDev)
		require.Equal(t, h.Params().Method, all["NewUserBuilder"].Method)
		single, _ := rows(t, Params{Counters: 64, Epsilon: 1, Delta: 1e-6}, 1)
		require.Equal(t, m == 60, plan.Bytes > single.Bytes)
	}
	_, all := rows(t, Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: 65}, 1)
	require.NotContains(t, all, "NewUserBuilder")
}

// What a plan for several servers says of UserBuilders can be merged: by the row's Method, also
// where one of them alone would count single keys.
func TestPlanOfMergedUsers(t *testing.T) {
	for _, p := range []Params{{Delta: 1e-6, MaxElements: 2}, {Delta: 1e-6, MaxElements: 60}, {Delta: 1e-6, MaxElements: 2, Method: KeptZeros}, {Dim: 100, MaxElements: 2}, {Dim: 100, MaxElements: 60}} {
		p.Counters, p.Epsilon = 64, 1
		_, all := rows(t, p, 20)
		require.NotContains(t, all, "NewUserBuilder")
		row, found := all["UserBuilder.Merge"]
		a, b := dptest.OK(NewUserBuilder[int](p))(t), dptest.OK(NewUserBuilder[int](p))(t)
		if !found {
			require.ErrorIs(t, a.Merge(b), ErrParams)
			continue
		}
		p.Method = row.Method
		a, b = dptest.OK(NewUserBuilder[int](p))(t), dptest.OK(NewUserBuilder[int](p))(t)
		require.NoError(t, a.Merge(b))
		h := dptest.OK(a.Release())(t)
		require.Equal(t, []float64{h.stdDev(), 1. / 65}, []float64{row.StdDev, row.Lost})
		if p.Dim == 0 {
			require.Equal(t, h.threshold(), row.Threshold)
		}
	}
}

// A sum is TrimmedSum unless MaxLength shows that ReducedSum needs no more.
func TestSumIsChosenByMaxLength(t *testing.T) {
	for length, want := range map[uint64]Method{0: TrimmedSum, 1000: ReducedSum, 1_000_000: TrimmedSum} {
		_, c, err := Params{Counters: 1024, Epsilon: 1, Delta: 1e-6, MaxLength: length}.check(summed)
		require.NoError(t, err)
		require.Equal(t, want, c.method, length)
	}
	_, c, err := Params{Counters: 4, Epsilon: 1, Delta: 1e-6, MaxLength: 100}.check(summed)
	require.NoError(t, err)
	require.Equal(t, ReducedSum, c.method, "few counters, and what trimming costs is more")
}

// A constructor, and all that the Params say before there is data, run one check: what New refuses
// has no plan and no guarantee.
func TestPlanningRefusesWhatNewRefuses(t *testing.T) {
	makes := map[string]func(p Params) error{
		"New":            func(p Params) error { _, err := New[int](p); return err },
		"FromMisraGries": func(p Params) error { _, err := FromMisraGries(p, map[int]int64{}); return err },
		"NewSum":         func(p Params) error { _, err := NewSum[int](p); return err },
		"NewUserBuilder": func(p Params) error { _, err := NewUserBuilder[int](p); return err },
	}
	accepted, refused := 0, 0
	for _, delta := range []float64{0, 1e-305, 1e-2, math.NaN()} {
		for _, epsilon := range []float64{check.MinEpsilon, 1, 1e300} {
			for _, dim := range []uint64{0, 100} {
				for _, m := range []int{0, 2, 5, maxElements} {
					for mechanism := Auto; mechanism <= lastMethod; mechanism++ {
						p := Params{Counters: 4, Epsilon: epsilon, Delta: delta, Dim: dim, MaxElements: m, Method: mechanism}
						plan, err := p.Plan(1)
						planned := map[string]bool{}
						for _, r := range plan.Rows {
							planned[r.Constructor] = true
							require.Greater(t, r.StdDev, 0.0)
						}
						for name, try := range makes {
							if made := try(p) == nil; made != planned[name] {
								t.Fatalf("%s of %+v: made %v, planned %v", name, p, made, planned[name])
							}
						}
						if err == nil {
							accepted++
							require.Positive(t, plan.Bytes)
							require.Equal(t, planned["New"] || planned["NewUserBuilder"], p.Guarantee().Promises(), "%+v", p)
							continue
						}
						refused++
						require.ErrorIs(t, err, ErrParams)
						require.Zero(t, p.Guarantee(), "%+v", p)
					}
				}
			}
		}
	}
	require.Greater(t, accepted, 50)
	require.Greater(t, refused, 50)
}
