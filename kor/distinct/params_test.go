package distinct

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// Params that New refuses promise nothing and plan nothing.
func TestInvalidParams(t *testing.T) {
	made := func(p Params) error {
		_, err := New(p)
		require.Equal(t, err == nil, p.Guarantee().Promises(), "%+v", p)
		return err
	}
	bad := map[string][]any{
		"Epsilon": {0, -1, 5e-324, 45}, "Cells": {15, -1, math.MaxInt}, "Levels": {-1, 65}, "CountShare": {-0.1, 1.1, 1e-12, 1 - 1e-12}, "Spans": {[8]int{2, 1}},
	}
	dptest.Params(t, "distinct", small, bad, map[string]func(Params) error{"New": made, "Plan": func(p Params) error {
		plan, err := p.Plan()
		require.Equal(t, err != nil, math.IsNaN(plan.StdErr(10)) && math.IsNaN(plan.UnionError(2)), "%+v", p)
		return err
	}})
	whole := small
	whole.CountShare = 1
	large := []any{1 << 29, 1 << 30} // the product with the Levels is 0 modulo 2³² of one
	for _, c := range []struct {
		made func(p Params) error
		bad  map[string][]any
	}{
		{func(p Params) error { return dptest.Err(NewRunningBuilder(p)) }, map[string][]any{"Spans": {[8]int{1}}}},
		{func(p Params) error { return dptest.Err(NewCohortBuilder(p, 5)) }, map[string][]any{"Spans": {[8]int{1}}, "Cells": large}},
		{func(p Params) error { return dptest.Err(NewFrequencyBuilder(p, 5)) }, map[string][]any{"Spans": {[8]int{1}}, "Cells": large}},
		{func(p Params) error { return dptest.Err(NewWindowBuilder(p, 1)) }, map[string][]any{
			"Cells": large, "Spans": {[8]int{-1}, [8]int{256}, [8]int{7, 7}, [8]int{7, 1}, [8]int{0, 7}, [8]int{1, 0, 7}, [8]int{1, 2, 3, 4, 5, 6, 7, 6}},
		}},
	} {
		c.bad["CountShare"], c.bad["Seed"], c.bad["Epsilon"] = []any{0.5}, []any{hashing.Seed{}}, []any{0x1p-31}
		dptest.Params(t, "distinct", whole, c.bad, map[string]func(Params) error{"New": c.made})
	}
	require.ErrorIs(t, dptest.Err(NewFrequencyBuilder(Params{Epsilon: 0x1p-30, Seed: small.Seed}, 5)), ErrParams, "half of that is too small")
	require.True(t, math.IsNaN(planned(small).RunningStdErr(10, 1)) && math.IsNaN(planned(small).WindowStdErr(10, 7)), "no bits over time")
	require.True(t, math.IsNaN(planned(whole).RunningStdErr(10, 0)) && math.IsNaN(planned(whole).RunningStdErr(-1, 1)))
	require.True(t, math.IsNaN(planned(whole).WindowStdErr(10, 2)) && math.IsNaN(planned(whole).WindowStdErr(-1, 7)))
	seedless := small
	seedless.Seed = hashing.Seed{}
	require.ErrorIs(t, made(seedless), ErrParams)
	dptest.OK(seedless.Plan())(t)
	for _, size := range []float64{-1, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(planned(small).StdErr(size)))
	}
	require.True(t, math.IsNaN(planned(small).UnionError(1)) && math.IsNaN(planned(small).UnionError(1<<20)))
	require.True(t, math.IsNaN(planned(whole).UnionError(2)), "no bits, no union")
}

// A CountShare of 0, or of −0, is one of 1; and the limits are what New accepts.
func TestDefaults(t *testing.T) {
	for _, share := range []float64{0, math.Copysign(0, -1), 1} {
		p := small
		p.CountShare = share
		s := released(t, p, 1)
		require.Equal(t, 1.0, s.Params().CountShare)
		require.Nil(t, s.bits)
		data := dptest.OK(s.MarshalBinary())(t)
		require.Len(t, data, planned(p).Bytes)
		require.Equal(t, budget.PureDP(1, budget.Key(budget.AddRemove)), s.Guarantee())
		require.NoError(t, builder(t, small.normal()).RestorePrivateState(privateBytes(t, builder(t, small))))
	}
	require.Equal(t, Params{Epsilon: 1, Cells: 2048, Levels: 24, CountShare: 1, Seed: hashing.Seed{1}}, released(t, Params{Epsilon: 1, Seed: hashing.Seed{1}}, 1).Params())
	require.ErrorIs(t, dptest.Err(New(Params{Epsilon: 0x1p-29, Cells: 16, Levels: 1, CountShare: 0.5 - 0x1p-40, Seed: hashing.Seed{1}})), ErrParams)
	for _, p := range []Params{{Epsilon: 0x1p-30, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}, {Epsilon: 44, Cells: 17, Levels: 64, CountShare: 0.5, Seed: hashing.Seed{1}}} {
		s := released(t, p)
		lo, hi := s.Interval(0.95)
		require.True(t, lo <= hi && !math.IsNaN(s.Estimate()) && s.Guarantee().Promises())
		require.Positive(t, planned(p).StdErr(100))
	}
}

// The ε of bits and count never add up to more than ε.
func TestSplit(t *testing.T) {
	for epsilon := 0.001; epsilon < 44; epsilon *= 1.37 {
		for share := 0.001; share < 1; share *= 1.21 {
			bits, count := Params{Epsilon: epsilon, CountShare: share}.split()
			require.LessOrEqual(t, count-(epsilon-bits), 0.0)
			require.InEpsilon(t, epsilon, bits+count, 1e-15)
		}
	}
}

// The table of doc.go, and the figures of one sketch in closed form.
func TestStdErr(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 2048, Levels: 22, Seed: hashing.Seed{1}}
	q := p
	q.CountShare = 0.05
	for size, want := range map[float64][2]float64{
		10: {13.6, 283}, 100: {1.65, 28.8}, 1000: {0.947, 3.44}, 1e4: {1.207, 1.556}, 1e5: {1.499, 1.778}, 1e6: {1.529, 1.803}, 1e9: {1.532, 1.81},
	} {
		require.InEpsilon(t, want[0], 100*planned(p).StdErr(size)/size, 0.005)
		require.InEpsilon(t, want[1], 100*planned(q).StdErr(size)/size, 0.005)
	}
	require.InDelta(t, 1.357, planned(p).StdErr(0), 0.001)
	for size := 1e5; size <= planned(p).Largest; size *= 1.3 {
		require.InEpsilon(t, planned(p).RelativeError, planned(p).StdErr(size)/size, 0.03)
		require.InEpsilon(t, planned(q).RelativeError, planned(q).StdErr(size)/size, 0.03)
	}
	group := Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	for size, want := range map[float64]float64{0: 1.35, 10: 1.51, 30: 2.22, 100: 6.09, 1000: 82} {
		require.InEpsilon(t, want, planned(group).StdErr(size), 0.006)
	}
}

// What Fit returns has the error, and 64 cells less have not.
func TestFit(t *testing.T) {
	for _, sketches := range []int{1, 2, 5} {
		for _, epsilon := range []float64{0.3, 1, 4} {
			if epsilon < 1 && sketches > 2 {
				continue
			}
			p := dptest.OK(Params{Epsilon: epsilon}.Fit(0.03, 1e8, sketches))(t)
			require.True(t, p.Seed.IsZero())
			require.Equal(t, sketches == 1, p.CountShare == 1)
			plan := planned(p)
			require.Equal(t, p, plan.Params)
			require.LessOrEqual(t, plan.errorOf(sketches), 0.03)
			require.GreaterOrEqual(t, plan.Largest, 1e8)
			if sketches == 1 {
				require.LessOrEqual(t, plan.StdErr(1e8), 0.03*1e8*1.02)
			}
			if p.Cells > 64 {
				p.Cells -= 64
				require.Greater(t, planned(p).errorOf(sketches), 0.0299)
			}
		}
	}
	p := dptest.OK(Params{Epsilon: 1}.Fit(0.02, 1e9, 1))(t)
	require.Equal(t, Params{Epsilon: 1, Cells: 1216, Levels: 22, CountShare: 1}, p)
	require.Equal(t, "22 levels of 1216 cells, 70 bytes a release: error 2 %, up to 1.28e+09 keys", planned(p).String())
	for _, bad := range [][4]float64{
		{0, 0.1, 100, 1}, {1, 0, 100, 1}, {1, math.NaN(), 100, 1}, {1, 0.1, 0, 1}, {1, 0.1, math.Inf(1), 1}, {1, 0.1, 100, 0},
		{1, 1e-9, 100, 1}, {1, 0.02, 1e9, 200}, {0x1p-30, 0.1, 1e9, 2},
	} {
		require.ErrorIs(t, dptest.Err(Params{Epsilon: bad[0]}.Fit(bad[1], bad[2], int(bad[3]))), ErrParams)
	}
}

// errorOf returns the relative error of one release or of the union of several.
func (p Plan) errorOf(sketches int) float64 {
	if sketches == 1 {
		return p.RelativeError
	}
	return p.UnionError(sketches)
}
