package means

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

func withRanges(t *testing.T, p Params, min, max []float64) *Mechanism {
	t.Helper()
	m := dptest.OK(New(p))(t)
	m = dptest.OK(m.WithRanges(min, max))(t)
	return m
}

func TestInvalidRanges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, nonNegative := range []bool{false, true} {
		m := dptest.OK(New(Params{Rho: 1, Dim: 2, Max: 10, NonNegative: nonNegative, Relation: budget.Replace}))(t)
		for _, broken := range [][2][]float64{
			{nil, nil}, {{0, 0}, {1}}, {{0}, {1, 1}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 1}}, {{0, nan}, {1, 1}}, {{0, 0}, {1, nan}}, {{0, -inf}, {1, 1}}, {{0, 0}, {1, inf}},
			{{0, -10.5}, {1, 1}}, {{0, 0}, {1, 10.5}},
		} {
			require.ErrorIs(t, dptest.Err(m.WithRanges(broken[0], broken[1])), check.ErrParams, "%v", broken)
		}
		_, err := m.WithRanges([]float64{0, -1}, []float64{1, 1})
		require.Equal(t, nonNegative, err != nil)
		far := dptest.OK(m.WithRanges([]float64{0, 2}, []float64{1, 3}))(t)
		require.ErrorIs(t, dptest.Err(far.ReleaseSparse(t.Context(), Sparse{Offsets: []int{0, 0}})), check.ErrParams, "entries that are not stored are 0")
	}
	require.ErrorIs(t, dptest.Err(new(Mechanism).WithRanges(nil, nil)), check.ErrParams)
}

// Plain has the noise of the ranges: rows are within half of the widths of their middles, so that
// sums have the sensitivity 2‖h‖ under Replace and ‖h‖ under AddRemove.
func TestPlainWithRanges(t *testing.T) {
	const n = 1000
	min, max := []float64{10, -1, -50}, []float64{16, 3, 50}
	x := make([][]float64, n)
	rng := rand.New(rand.NewPCG(71, 72)) // test data
	mean := make([]float64, 3)
	for j := range x {
		x[j] = []float64{10 + 6*rng.Float64(), 4*rng.Float64() - 1, 100*rng.Float64() - 50}
		for i, v := range x[j] {
			mean[i] += v / n
		}
	}
	norm := math.Sqrt(3*3 + 2*2 + 50*50)
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		p := Params{Rho: 1, Dim: 3, Max: 100, Method: Plain, Relation: relation, Steps: Steps{Undivided: true}}
		if relation == budget.AddRemove {
			p.Rows = n
		}
		out := dptest.OK(withRanges(t, p, min, max).Release(t.Context(), x))(t)
		checkValid(t, out)
		s := map[budget.Relation]float64{budget.Replace: 2, budget.AddRemove: 1}[relation]
		require.InEpsilon(t, s*norm/math.Sqrt(2)/n, out.Errors[0], 1e-6)
		require.InDelta(t, 0, floats.Distance(out.Values, mean, 2), 10*s*norm/n)
		require.Equal(t, []float64{13, 1, 0}, out.Centres)
		require.InEpsilon(t, norm, out.Limit, 1e-6, "no row is clipped")
	}
}

// Sparse rows under AddRemove are clipped around 0 and not around the middles: a row that loses its
// entries would move from one end of a range to the middle, twice as far as the noise was for. One
// row of 1 among 1000, or none, are 1 apart, and the noise is for 1.
func TestPlainWithRangesOfSparseRows(t *testing.T) {
	p := Params{Rho: 2, Dim: 1, Max: 1, Rows: 1000, Method: Plain, Relation: budget.AddRemove, Steps: Steps{Undivided: true}}
	sums := make([]float64, 2)
	for entries := range sums {
		s := Sparse{Offsets: slices.Repeat([]int{0}, 1001), Indices: make([]uint32, entries)}
		s.Offsets[1000] = entries
		out := dptest.OK(withRanges(t, p, []float64{0}, []float64{1}).ReleaseSparse(t.Context(), s))(t)
		checkValid(t, out)
		require.Nil(t, out.Centres)
		require.InEpsilon(t, 1, out.Limit, 1e-6)
		require.InEpsilon(t, 1/math.Sqrt(2*out.Spent.Sum)/1000, out.Errors[0], 1e-6)
		r := newRun(t.Context(), out.Params, &rows{bounds: bounds{dim: 1, ranges: &ranges{[]float64{0}, []float64{1}}}, sparse: &s})
		c := dptest.OK(r.clipAll(out.Limit))(t)
		sums[entries] = float64(c.sums[0]) * c.step
	}
	require.Equal(t, 0.0, sums[0])
	require.InEpsilon(t, 1, sums[1], 1e-6)
	p.Relation, p.Rows = budget.Replace, 0 // rows lie within half of the width around the middle
	out := dptest.OK(withRanges(t, p, []float64{0}, []float64{1}).ReleaseSparse(t.Context(), Sparse{Offsets: make([]int, 1001)}))(t)
	require.Equal(t, []float64{0.5}, out.Centres)
	require.InEpsilon(t, 1/math.Sqrt(2*2)/1000, out.Errors[0], 1e-6)
}

// Entries are clamped to their ranges, what is missing as 0 is, NaN is the centre, the median or
// the middle, and released centres are clamped too; IntervalBounded is as narrow as they are.
func TestEntriesAreClampedToTheirRanges(t *testing.T) {
	const n = 2000
	x := make([][]float64, n)
	for j := range x {
		x[j] = [][]float64{{1e9, -1e9, math.NaN()}, {4, 4}, {math.Inf(-1)}, {5, -2, 3}}[j%4]
	}
	min, max := []float64{2, -3, 1}, []float64{6, 9, 7}
	want := []float64{(6. + 4 + 2 + 5) / 4, (-3. + 4 + 0 - 2) / 4, 0}
	for _, method := range []Method{Adaptive, Plain, Thesis} {
		p := Params{Rho: 200, Dim: 3, Max: 1000, Resolution: 1, Method: method, Relation: budget.Replace}
		want[2] = (1. + 1 + 1 + 3) / 4
		if method == Plain {
			want[2] = (4. + 1 + 1 + 3) / 4
		}
		out := dptest.OK(withRanges(t, p, min, max).Release(t.Context(), x))(t)
		checkValid(t, out)
		bounded := dptest.OK(withRanges(t, Params{Rho: 200, Dim: 3, Max: 1000, Resolution: 1, Method: method, Relation: budget.Replace}, min, max).Release(t.Context(), x))(t)
		for i := range want {
			require.InDelta(t, want[i], out.Values[i], 0.8, "%v, coordinate %d", method, i)
			require.True(t, out.Centre(i) >= min[i] && out.Centre(i) <= max[i])
			dptest.Alarm(t, 1e-12)
			if lo, hi := bounded.Bounded(i, 1-1e-12); method != Thesis {
				require.True(t, lo >= min[i] && hi <= max[i] && lo <= want[i] && want[i] <= hi, "%v: [%v, %v]", method, lo, hi)
			}
		}
	}
	low := []float64{0, 0, 0}
	p := Params{Rho: 200, Dim: 3, NonNegative: true, Max: 1000, Method: TwoPass, Relation: budget.Replace}
	out := dptest.OK(withRanges(t, p, low, max).ReleaseSparse(t.Context(), sparseOf(x)))(t)
	checkValid(t, out)
	require.InDelta(t, (6.+4+0+5)/4, out.Values[0], 0.5)
}
