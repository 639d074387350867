package column

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

var quartiles = quantilesOf(Params{Epsilon: 1, Max: 100, Resolution: 0.5}, 0.25, 0.5, 0.75)

func heldCounts(b *QuantileBuilder) *counts {
	data := private.Enter(b.quantileSecret)
	private.Leave(b.quantileSecret)
	return data
}

// quantilesOf returns the Params with the levels, or that of the median.
func quantilesOf(p Params, levels ...float64) quantileParams {
	q := quantileParams{Params: p, Levels: [maxLevels]float64{0.5}}
	copy(q.Levels[:], levels)
	return q
}

func quantileBuilder(t testing.TB, p quantileParams, values ...float64) *QuantileBuilder {
	t.Helper()
	b := dptest.OK(NewQuantiles(p.Params, p.levels()...))(t)
	for _, x := range values {
		b.Add(x)
	}
	return b
}

func releasedQuantiles(t testing.TB, p quantileParams, values ...float64) *Quantiles {
	t.Helper()
	q := dptest.OK(quantileBuilder(t, p, values...).Release())(t)
	return q
}

func TestInvalidQuantileParams(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"no guarantee": func(p *Params) { p.Epsilon = 0 }, "both": func(p *Params) { p.Rho = 1 }, "relation": func(p *Params) { p.Relation = 3 }, "empty": func(p *Params) { p.Min, p.Max = 5, 5 },
		"no range": func(p *Params) { p.Max = 0 }, "a tail": func(p *Params) { p.TailIndex = 2 }, "a bound": func(p *Params) { p.Bound = 2 }, "unit < 0": func(p *Params) { p.Resolution = -1 },
		"unit NaN": func(p *Params) { p.Resolution = math.NaN() }, "too wide": func(p *Params) { p.Resolution = 101 }, "too fine": func(p *Params) { p.Resolution = 100 * 0x1p-30 },
		"Rows": func(p *Params) { p.Relation, p.Rows = budget.Replace, 5 }, "Want": func(p *Params) { p.Want = Mean },
	} {
		p := quartiles.Params
		change(&p)
		require.ErrorIs(t, dptest.Err(NewQuantiles(p, .25, .5)), ErrParams, name)
		require.False(t, p.Guarantee().Promises() && p.validate() != nil, name)
	}
	for _, levels := range [][]float64{
		{.25, .5, 1}, {-.5, .5, .75}, {.25, math.NaN(), .75}, {0x1p-21, .5}, {.25, .1}, {.25, .25}, {.25, 0, .75}, {0, .5}, nil, make([]float64, 33), {0.5, 0}, {0},
	} {
		b, err := NewQuantiles(quartiles.Params, levels...)
		require.ErrorIs(t, err, ErrParams)
		require.Nil(t, b)
	}
	require.Equal(t, budget.PureDP(1, budget.Row(budget.AddRemove)), quartiles.Guarantee())
	p := quantilesOf(Params{Rho: 1, Max: 1, Relation: budget.Replace}).normal()
	require.Equal(t, budget.ZCDP(1, budget.Row(budget.Replace)), p.promise())
	axis := p.axis()
	require.True(t, p.Levels[0] == 0.5 && p.Resolution == 0 && axis.Cells() > 1<<22 && axis.Cells() <= 1<<24)
}

func TestQuantilesNotReleased(t *testing.T) {
	check := func(q *Quantiles, level float64) {
		lo, hi := q.RankInterval(level, 0.9)
		require.True(t, math.IsNaN(q.Quantile(level)) && math.IsNaN(lo) && math.IsNaN(hi))
	}
	q := releasedQuantiles(t, quartiles, 1, 2, 3)
	check(q, 0.3)
	check(q, 0)
	check(q, math.NaN())
	check(new(Quantiles), 0.5)
	for _, confidence := range []float64{-1, 1, math.NaN()} {
		lo, hi := q.RankInterval(0.5, confidence)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
	require.False(t, new(Quantiles).Guarantee().Promises())
	require.False(t, new(QuantileBuilder).Guarantee().Promises())
	require.Equal(t, "column.Quantiles (empty)", new(Quantiles).String())
	require.Equal(t, "column.Quantiles: 3 of values in [0, 100], in steps of 0.5, p25 unknown in [0, 100], p50 unknown in [0, 100], p75 unknown in [0, 100], ε = 1 for one row, added or removed", q.String())
	require.ErrorIs(t, dptest.Err(new(Quantiles).MarshalBinary()), ErrFormat)
	last, n := math.Inf(-1), 0
	q = releasedQuantiles(t, quartiles, slices.Repeat([]float64{1, 2, 3}, 1000)...)
	for level, value := range q.All() {
		require.Equal(t, value, q.Quantile(level))
		require.GreaterOrEqual(t, value, last)
		last, n = value, n+1
		if n == 2 {
			break
		}
	}
	require.Equal(t, 3, q.Len())
}

// The state of a QuantileBuilder moves whole. One that no rows have, and a release, are refused.
func TestQuantileState(t *testing.T) {
	other, fewer := quartiles, quartiles
	other.Resolution, fewer.Levels[2] = 1, 0
	b, c := quantileBuilder(t, quartiles, 1, 2, 2, 99), quantileBuilder(t, quartiles, 50)
	dptest.Restores(t, b, c, func() { c.Add(3) }, quantileBuilder(t, other), quantileBuilder(t, fewer), builder(t, ages))
	require.Equal(t, heldCounts(b).cells, heldCounts(c).cells)
	want := dptest.OK(c.AppendPrivateState(nil))(t)
	require.ErrorIs(t, quantileBuilder(t, other).RestorePrivateState(want), ErrMismatch)
	require.ErrorIs(t, quantileBuilder(t, fewer).RestorePrivateState(want), ErrMismatch)
	for _, spoil := range []map[int64]int64{{-1: 1}, {201: 1}, {5: 0}, {5: -1}, {5: maxRows, 6: 1}, {5: math.MaxInt64}} {
		spoiled := quantileBuilder(t, quartiles)
		heldCounts(spoiled).cells = spoil
		data := dptest.OK(spoiled.AppendPrivateState(nil))(t)
		require.ErrorIs(t, c.RestorePrivateState(data), ErrFormat)
	}
	release := dptest.OK(releasedQuantiles(t, quartiles, 1).MarshalBinary())(t)
	require.ErrorIs(t, c.RestorePrivateState(release), ErrFormat)
	require.ErrorIs(t, new(Quantiles).UnmarshalBinary(want), ErrFormat, "private state is no release")
	got := dptest.OK(c.AppendPrivateState(nil))(t)
	require.Equal(t, want, got)
}

// rankError returns how far the ranks at a value are from the wanted one.
func rankError(sorted []float64, value, level, unit float64) float64 {
	below, _ := slices.BinarySearch(sorted, value-unit/2)
	upTo, _ := slices.BinarySearch(sorted, value+unit/2)
	want := level * float64(len(sorted))
	return max(float64(below)-want, want-float64(upTo), 0)
}

// The ranks of released quantiles are inside of the intervals, which hold with a confidence of 1 −
// 1e-13 each, for ties, spread data, none at all, few rows at a small ε, and ρ; and errors are
// those of the table in doc.go.
func TestQuantileAccuracy(t *testing.T) {
	runs := dptest.Full(200, 12)
	const miss = 1e-13
	for _, n := range []int{0, 3, 1000} {
		for _, d := range datasets6(n) {
			for _, p := range []Params{{Epsilon: 1}, {Epsilon: 0.1}, {Rho: 0.5}, {Epsilon: 1, Relation: budget.Replace}, {Epsilon: 1000}} {
				for _, levels := range [][]float64{{0.5}, {0.1, 0.3, 0.5, 0.7, 0.9}} {
					if n == 1000 && !dptest.Long() && len(levels) > 1 && p.Epsilon == 0.1 {
						continue
					}
					p := quantilesOf(p, levels...)
					p.Min, p.Max, p.Resolution = d.min, d.max, (d.max-d.min)/1000
					sorted := slices.Clone(d.values)
					slices.Sort(sorted)
					sum := 0.0
					for range runs {
						q := releasedQuantiles(t, p, d.values...)
						for _, level := range levels {
							e := rankError(sorted, q.axis.Value(int64(q.cells[q.index(level)])), level, q.Params().Resolution)
							_, hi := q.RankInterval(level, 1-miss)
							dptest.Alarm(t, miss)
							require.LessOrEqual(t, e, hi, "%s, %v of %v", d.name, level, q)
							sum += e / float64(runs*len(levels))
						}
					}
					if n == 1000 {
						t.Logf("%-14s %d levels, %v: mean rank error %.2f", d.name, len(levels), p.Guarantee(), sum)
					}
				}
			}
		}
	}
}

// The interval of a level holds its quantile, for all rows: none, one, as many as level·n is an
// integer for, ties, and a Resolution that is far too coarse, where the middles of cells do not.
func TestIntervalOfAQuantile(t *testing.T) {
	const alarm = 1e-11
	runs := dptest.Full(200, 25)
	rng := rand.New(rand.NewPCG(12, 4))
	draws := map[string]func() float64{
		"lognormal": func() float64 { return 80 * math.Exp(1.2*rng.NormFloat64()) }, "ages": func() float64 { return math.Floor(40 + 12*rng.NormFloat64()) },
		"70 % zeros": func() float64 { return max(rng.Float64()-.7, 0) * 1000 }, "ties": func() float64 { return 7 },
	}
	for name, draw := range draws {
		for _, p := range []Params{{Epsilon: 1, Max: 2e6}, {Rho: .05, Max: 2e6}, {Epsilon: 1, Max: 2e6, Relation: budget.Replace}, {Epsilon: 1}, {Epsilon: 1, Max: 2e6, Resolution: 2000}} {
			for _, n := range []int{0, 1, 20, 1000} {
				for _, level := range []float64{.5, .05, .95} {
					if !dptest.Long() && level != .5 && n < 1000 {
						continue
					}
					var sorted []float64
					for range n {
						sorted = append(sorted, draw())
					}
					slices.Sort(sorted)
					// a level of 0.95 is no multiple of 2⁻²⁴, and 0.95·n, as an integer, not
					// exactly that
					at := level * float64(n)
					first, last := int(math.Ceil(at-1e-3))-1, int(math.Floor(at+1e-3))
					misses, middles := int64(0), int64(0)
					for range runs {
						q := releasedQuantiles(t, quantilesOf(p, level), sorted...)
						lo, hi := q.Interval(level, .99)
						value := q.Quantile(level)
						require.True(t, value != value || lo <= value && value <= hi)
						if _, most := q.RankInterval(level, 1-1e-15); value == value && p.Resolution == 0 && name == "lognormal" {
							// by default the axis is fine enough for values as they are
							require.LessOrEqual(t, rankError(sorted, value, level, 0), most)
						}
						low, high := math.Max(q.axis.Value(int64(q.ends[0])-1), lo), math.Min(q.axis.Value(int64(q.ends[1])-1), hi)
						if first >= 0 && sorted[first] < lo || last < n && n > 0 && sorted[min(last, n-1)] > hi {
							misses++
						}
						if n > 0 && (sorted[max(first, 0)] < low || sorted[min(last, n-1)] > high) {
							middles++
						}
						from, to := q.Interval(level, .999)
						if p.Max == 0 {
							require.True(t, math.IsInf(from, -1) && math.IsInf(to, 1))
						} else {
							require.True(t, from == q.axis.Low && to == q.axis.High)
						}
					}
					lower, _ := dptest.ClopperPearson(misses, int64(runs), 1-alarm)
					dptest.Alarm(t, alarm)
					require.LessOrEqual(t, lower, .01, "%s, n = %d, level %v of %+v: %d of %d misses", name, n, level, p, misses, runs)
					if p.Resolution > 0 && n == 1000 && level == .5 && name == "lognormal" {
						require.Greater(t, middles, int64(runs)/2, "the middles of cells must fail")
					}
				}
			}
		}
	}
	// A tie of a million rows is its own median, and of two the interval holds both.
	for _, cells := range []map[int64]int64{{100: 1_000_000}, {100: 500_000, 101: 500_000}} {
		b := quantileBuilder(t, quantilesOf(Params{Epsilon: 1, Max: 200, Resolution: 1}))
		heldCounts(b).cells = cells
		q := dptest.OK(b.Release())(t)
		lo, hi := q.Interval(.5, .99)
		require.True(t, lo <= 100 && hi >= 99+float64(len(cells)) && hi-lo < 3, "[%v, %v]", lo, hi)
		require.InDelta(t, 100.5, q.Quantile(.5), .6)
	}
}

// A range that is up to a million times too wide costs nothing: mean rank errors over eight laws
// and two levels are below 3.4 rows at n = 3000 and ε = 1, where steps of a thousandth of the range
// were off by 23 to 269. (Of 960 errors the mean, of 2.3 to 2.9, is off by .65 with probability
// below 1e-9.)
func TestRangesMayBeTooWide(t *testing.T) {
	if !dptest.Long() {
		t.Skip("needs -long")
	}
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	laws := []struct {
		min, max float64
		draw     func() float64
	}{
		{0, 120, func() float64 { return math.Floor(max(40+18*rng.NormFloat64(), 0)) }}, {0, 1e4, func() float64 { return math.Exp(3 + rng.NormFloat64()) }},
		{0, 200, func() float64 { return 100 + 15*rng.NormFloat64() }}, {-6, 6, rng.NormFloat64}, {0, 1, rng.Float64},
		{0, 100, func() float64 { return min(1+math.Floor(9*rng.ExpFloat64()), 50) }}, {0, 20, func() float64 { return max(rng.ExpFloat64()-1.2, 0) }},
		{0, 2.7e6, func() float64 { return 2.6e6 * rng.Float64() }},
	}
	for _, wide := range []float64{1, 10, 1000, 1e6} {
		sum, count := 0.0, 0.0
		for _, l := range laws {
			for range 60 {
				sorted := make([]float64, 3000)
				for i := range sorted {
					sorted[i] = l.draw()
				}
				slices.Sort(sorted)
				for _, level := range []float64{.5, .95} {
					q := releasedQuantiles(t, quantilesOf(Params{Epsilon: 1, Min: l.min * wide, Max: l.max * wide}, level), sorted...)
					sum += rankError(sorted, q.Quantile(level), level, 6e-5*(l.max-l.min))
					count++
				}
			}
		}
		t.Logf("range × %g: mean rank error %.2f", wide, sum/count)
		require.Less(t, sum/count, 3.4)
	}
}

// What the guard takes for granted of a column: fewer rows, or more, are there with the probability
// that it pays for; and no atom, whole or cut by an end of a part, weighs so little around a target
// that the cells beyond it come out oftener than it says, nor a third as often.
func TestGuardOfAColumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 3)) // test data
	for range dptest.Full(400, 40) {
		p := Params{Epsilon: math.Exp(2 * rng.NormFloat64()), Max: 100, Resolution: []float64{0, 1}[rng.IntN(2)]}
		levels := [][]float64{{.5}, {.95}, {.5, .9}, {.1, .5, .9}, {.2, .3, .5, .99}}[rng.IntN(5)]
		b := quantileBuilder(t, dptest.OK(p.withLevels(levels))(t))
		for range 500 + rng.IntN(5000) {
			b.Add(100 * rng.Float64())
		}
		q := dptest.OK(b.Release())(t)
		g, noise := q.guard(), q.params.rowsNoise()
		if !(g.All > 0) {
			continue
		}
		require.LessOrEqual(t, noise.Distribution().Survival(float64(q.rows)-g.All), missRows)
		require.LessOrEqual(t, noise.Distribution().Survival(g.Most-float64(q.rows)), missRows)
		for j, d := range g.Draws {
			first, end, worst, cut := int64(0), q.axis.Cells(), 1.0, math.Inf(1)
			if d.Left >= 0 { // an end leaves this part of all rows in the target's cell at least
				first, cut = int64(q.cells[d.Left]), d.Level*d.Share
			}
			if d.Right < len(levels) {
				end, cut = int64(q.cells[d.Right])+1, min(cut, (1-d.Level)*d.Share)
			}
			for i := range 400 { // atoms of any weight, by how many of their places they have
				all := []float64{g.All, g.Most}[i%2]
				w := all * float64(i/2+1) / 200
				for _, v := range []float64{w, min(w, cut*all)} {
					if quantile.Leaf(quantile.Parts(levels), j) {
						worst = max(worst, w/v)
					} else {
						worst = max(worst, d.Above*w/-math.Expm1(-d.Above*v))
					}
				}
			}
			exact := math.Log(float64(end-first) * worst)
			require.LessOrEqual(t, exact, min(d.Up, d.Down)+1e-9)
			require.Less(t, max(d.Up, d.Down), exact+math.Log(3))
		}
	}
}
