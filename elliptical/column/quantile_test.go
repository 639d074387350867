package column

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
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
	b, err := NewQuantiles(p.Params, p.levels()...)
	require.NoError(t, err)
	for _, x := range values {
		b.Add(x)
	}
	return b
}

func releasedQuantiles(t testing.TB, p quantileParams, values ...float64) *Quantiles {
	t.Helper()
	q, err := quantileBuilder(t, p, values...).Release()
	require.NoError(t, err)
	return q
}

func TestInvalidQuantileParams(t *testing.T) {
	for name, change := range map[string]func(*quantileParams){
		"no guarantee":   func(p *quantileParams) { p.Epsilon = 0 },
		"both":           func(p *quantileParams) { p.Rho = 1 },
		"relation":       func(p *quantileParams) { p.Relation = 3 },
		"empty":          func(p *quantileParams) { p.Max = 0 },
		"NaN":            func(p *quantileParams) { p.Min = math.NaN() },
		"unit < 0":       func(p *quantileParams) { p.Resolution = -1 },
		"unit NaN":       func(p *quantileParams) { p.Resolution = math.NaN() },
		"too wide":       func(p *quantileParams) { p.Resolution = 101 },
		"too fine":       func(p *quantileParams) { p.Resolution = 100 * 0x1p-30 },
		"level 1":        func(p *quantileParams) { p.Levels[2] = 1 },
		"level < 0":      func(p *quantileParams) { p.Levels[0] = -0.5 },
		"level NaN":      func(p *quantileParams) { p.Levels[1] = math.NaN() },
		"level 2⁻²¹":     func(p *quantileParams) { p.Levels[0] = 0x1p-21 },
		"not ascending":  func(p *quantileParams) { p.Levels[1] = 0.1 },
		"equal":          func(p *quantileParams) { p.Levels[1] = 0.25 },
		"a gap":          func(p *quantileParams) { p.Levels[1] = 0 },
		"a gap in front": func(p *quantileParams) { p.Levels[0] = 0 },
	} {
		p := quartiles
		change(&p)
		b, err := NewQuantiles(p.Params, p.Levels[:3]...)
		require.ErrorIs(t, err, ErrParams, name)
		require.Nil(t, b, name)
	}
	for _, levels := range [][]float64{nil, make([]float64, 33), {0.5, 0}, {0}} {
		_, err := NewQuantiles(quartiles.Params, levels...)
		require.ErrorIs(t, err, ErrParams)
	}
	rows, want := quartiles.Params, quartiles.Params
	rows.Relation, rows.Rows, want.Want = budget.Replace, 5, Mean
	for _, p := range []Params{rows, want} {
		_, err := NewQuantiles(p, 0.5)
		require.ErrorIs(t, err, ErrParams)
		require.False(t, p.Guarantee().Promises())
	}
	require.Equal(t, budget.PureDP(1, budget.Row(budget.AddRemove)), quartiles.Guarantee())
	p := quantilesOf(Params{Rho: 1, Max: 1, Relation: budget.Replace}).normal()
	require.Equal(t, budget.ZCDP(1, budget.Row(budget.Replace)), p.promise())
	require.True(t, p.Levels[0] == 0.5 && p.Resolution == 0x1p-20 && p.cells() == 1<<20+1)
	for m, rounds := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4, 31: 5, 32: 6} {
		var p quantileParams
		for i := range m {
			p.Levels[i] = float64(i+1) / 33
		}
		require.Equal(t, rounds, p.depth())
	}
}

// Values become the next multiple of the unit; clamped, with NaN at a fixed place.
func TestCells(t *testing.T) {
	for _, p := range []Params{quartiles.Params, {Min: -3, Max: 7, Resolution: 1}, {Min: 1e15, Max: 1e15 + 1}, {Max: 10, Resolution: 3}, {Min: -0x1p200, Max: 0x1p200}} {
		p := quantilesOf(p).normal()
		last := p.cells() - 1
		require.EqualValues(t, 0, p.place(p.Min))
		require.EqualValues(t, last, p.place(math.Inf(1)))
		require.EqualValues(t, 0, p.place(math.Inf(-1)))
		require.Equal(t, last/2, p.place(math.NaN()))
		require.True(t, p.value(0) == p.Min && p.value(last) <= p.Max)
		for i := range 100 {
			x := p.Min + (p.Max-p.Min)*float64(i)/100
			require.LessOrEqual(t, math.Abs(p.value(p.place(x))-x), p.Resolution*0.5001+math.Abs(p.Max)*0x1p-50)
		}
	}
	require.EqualValues(t, 0, new(quantileParams).place(5))
}

// The state is a function of the rows, and no larger than the cells in use.
func TestQuantileShards(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 5000)
	for i := range values {
		values[i] = math.Floor(10 * rng.Float64())
	}
	whole := quantileBuilder(t, quartiles, values...)
	a, b := quantileBuilder(t, quartiles, values[3000:]...), quantileBuilder(t, quartiles, values[:3000]...)
	require.NoError(t, a.Merge(b))
	require.Equal(t, heldCounts(whole).cells, heldCounts(a).cells)
	one, err := whole.AppendPrivateState(nil)
	require.NoError(t, err)
	other, err := a.AppendPrivateState(nil)
	require.NoError(t, err)
	require.Equal(t, one, other, "order and shards leave no trace")
	require.Len(t, heldCounts(a).cells, 10)
	require.True(t, b.Released())
}

func TestQuantilesOnce(t *testing.T) {
	b, fresh := quantileBuilder(t, quartiles, 1, 2), quantileBuilder(t, quartiles)
	require.ErrorIs(t, fresh.Merge(fresh), ErrMismatch)
	require.ErrorIs(t, fresh.Merge(nil), ErrReleased)
	q, err := b.Release()
	require.NoError(t, err)
	require.True(t, b.Guarantee().Equal(q.Guarantee()), "the guarantee survives")
	for _, b := range []*QuantileBuilder{b, {}} {
		require.True(t, b.Released())
		b.Add(1)
		_, err = b.Release()
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorIs(t, b.Merge(fresh), ErrReleased)
		require.ErrorIs(t, fresh.Merge(b), ErrReleased)
		_, err = b.AppendPrivateState(nil)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorIs(t, b.RestorePrivateState(nil), ErrReleased)
	}
	other := quartiles
	other.Resolution = 1
	o := quantileBuilder(t, other, 5)
	require.ErrorIs(t, fresh.Merge(o), ErrMismatch)
	require.False(t, fresh.Released() || o.Released())
	ledger, err := budget.NewLedger(1.5, 0, budget.Row(budget.AddRemove))
	require.NoError(t, err)
	_, err = budget.Release(ledger, quantileBuilder(t, quartiles, 1))
	require.NoError(t, err)
	_, err = budget.Release(ledger, quantileBuilder(t, quartiles, 1))
	require.ErrorIs(t, err, budget.ErrBudget)
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
	require.Equal(t, "column.Quantiles: 3 of values in [0, 100], in steps of 0.5, ε = 1 for one row, added or removed", q.String())
	_, err := new(Quantiles).MarshalBinary()
	require.ErrorIs(t, err, ErrFormat)
	last, n := math.Inf(-1), 0
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

func TestQuantileRedaction(t *testing.T) {
	b := quantileBuilder(t, quartiles, 1)
	heldCounts(b).cells[1_234_567_890_123] = 9_876_543_210_987
	dptest.Redacted(t, b, "1234567890123", "9876543210987")
}

// The state of a QuantileBuilder moves whole. One that no rows have, and a release, are refused.
func TestQuantileState(t *testing.T) {
	other, fewer := quartiles, quartiles
	other.Resolution, fewer.Levels[2] = 1, 0
	b, c := quantileBuilder(t, quartiles, 1, 2, 2, 99), quantileBuilder(t, quartiles, 50)
	dptest.Restores(t, b, c, func() { c.Add(3) }, quantileBuilder(t, other), quantileBuilder(t, fewer), builder(t, ages))
	require.Equal(t, heldCounts(b).cells, heldCounts(c).cells)
	want, err := c.AppendPrivateState(nil)
	require.NoError(t, err)
	require.ErrorIs(t, quantileBuilder(t, other).RestorePrivateState(want), ErrMismatch)
	require.ErrorIs(t, quantileBuilder(t, fewer).RestorePrivateState(want), ErrMismatch)
	for _, spoil := range []map[int64]int64{{-1: 1}, {201: 1}, {5: 0}, {5: -1}, {5: maxRows, 6: 1}, {5: math.MaxInt64}} {
		spoiled := quantileBuilder(t, quartiles)
		heldCounts(spoiled).cells = spoil
		data, err := spoiled.AppendPrivateState(nil)
		require.NoError(t, err)
		require.ErrorIs(t, c.RestorePrivateState(data), ErrFormat)
	}
	release, err := releasedQuantiles(t, quartiles, 1).MarshalBinary()
	require.NoError(t, err)
	require.ErrorIs(t, c.RestorePrivateState(release), ErrFormat)
	require.ErrorIs(t, new(Quantiles).UnmarshalBinary(want), ErrFormat, "private state is no release")
	got, err := c.AppendPrivateState(nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestQuantileReaders(t *testing.T) { dptest.Readers(t, releasedQuantiles(t, quartiles, 1, 2, 3)) }

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
	runs := dptest.Full(400, 12)
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
							e := rankError(sorted, q.Quantile(level), level, q.Params().Resolution)
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

// Incomes of median 80 in [0, 60,000]: by default the released median is one of the data's, not the
// first cell of an axis that is too coarse. (A thousand steps of 60 were off by 1406 of 10,000
// rows, where the bound said 33.)
func TestRanksHoldByDefault(t *testing.T) {
	const miss = 1e-12
	rng := rand.New(rand.NewPCG(80, 60)) // test data
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = min(80*math.Exp(1.2*rng.NormFloat64()), 60_000)
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	for range 10 {
		q := releasedQuantiles(t, quantilesOf(Params{Epsilon: 1, Max: 60_000}), values...)
		lo, hi := q.RankInterval(0.5, 1-miss)
		dptest.Alarm(t, miss)
		e := rankError(sorted, q.Quantile(0.5), 0.5, 0) // of the values as they are
		require.LessOrEqual(t, e, hi, "lo %v", lo)
	}
}
