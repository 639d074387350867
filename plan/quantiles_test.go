package plan

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Keys invert values, ascend with them, and are as fine as promised.
func TestAxes(t *testing.T) {
	for name, a := range map[string]axis{
		"asinh": asinhAxis(1, 1000), "wide": asinhAxis(0x1p-40, 0x1p20), "narrow": asinhAxis(1, 1), "widest": asinhAxis(0x1p-59, 1),
		"log": logAxis(0x1p-10, 1e6, 10), "point": logAxis(1, 1, 10), "uniform": uniformAxis(-5, 5), "positive": uniformAxis(0, 3),
	} {
		require.LessOrEqual(t, a.keys, uint64(1)<<32, name)
		require.Positive(t, a.keys)
		last := math.Inf(-1)
		for i := range 2000 {
			key := uint32(uint64(i) * (a.keys - 1) / 1999)
			x := a.value(key)
			require.True(t, x >= last && math.Abs(x) <= a.max*(1+1e-9), "%s: %v after %v", name, x, last)
			require.InDelta(t, float64(key), float64(a.key(x)), 1, "%s: key %d has value %v", name, key, x)
			last = x
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
			require.Less(t, uint64(a.key(x)), a.keys, "%s: %v", name, x)
		}
		require.Equal(t, a.key(0), a.key(math.NaN()))
	}
	a := asinhAxis(1, 1e6)
	require.Zero(t, a.value(a.key(0)))
	for _, x := range []float64{1e-3, 0.7, 55, 1e4, 9e5, -3, -8e5} {
		require.InDelta(t, x, a.value(a.key(x)), 1.0/8)
	}
}

// Dense and sparse columns, all bases, both methods and relations: the error in ranks is within
// what the exponent promises.
func TestQuantileAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 4000, 3
	x, _ := gaussian(rng, n, 0, []float64{1, 20, 0.1})
	sparse := Sparse{Offsets: []int{0}}
	for _, row := range x {
		for i, v := range row {
			sparse.Indices, sparse.Values = append(sparse.Indices, uint32(i)), append(sparse.Values, v)
		}
		sparse.Offsets = append(sparse.Offsets, len(sparse.Indices))
	}
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		for _, base := range []Base{AutoBase, Asinh, Uniform} {
			for _, search := range []int{0, 20} {
				q, err := NewQuantiles(QuantileParams{Rho: 0.1, Dim: d, Max: 1000, Unit: 0.1, Relation: relation, Base: base, Search: search, Workers: 2})
				require.NoError(t, err)
				require.Equal(t, budget.ZCDP(0.1, budget.Row(relation)), q.Guarantee())
				levels := []float64{0.25, 0.5, 0.75}
				a, err := q.Release(x, levels...)
				require.NoError(t, err)
				b, err := q.ReleaseSparse(context.Background(), sparse, levels...)
				require.NoError(t, err)
				for _, released := range []*Quantiles{a, b} {
					require.Equal(t, budget.ZCDP(0.1, budget.Row(relation)), released.Guarantee())
					for _, level := range levels {
						lo, hi := released.Interval(level, 0.999)
						require.True(t, lo < -100 && hi > 100 && hi < 700 || search > 0 && math.IsNaN(hi), "[%v, %v]", lo, hi)
						for i := range d {
							got, below := released.Quantile(i, level), 0
							for _, row := range x {
								if row[i] < got {
									below++
								}
							}
							// c = √(2·0.1/9) = .15 per rank: 300 ranks are e^{−45}; 20 steps have
							// σ = 30 ranks each. The cell of Uniform is fine enough.
							dptest.Alarm(t, 1e-15)
							require.InDelta(t, level*n, float64(below), 300, "%v base %v search %d level %v column %d", relation, base, search, level, i)
						}
					}
				}
			}
		}
	}
}

// Sparse columns: quantiles among the zeros are exactly 0.
func TestQuantilesOfSparseColumns(t *testing.T) {
	s := Sparse{Offsets: []int{0}}
	for j := range 1000 {
		s.Indices = append(s.Indices, uint32(j%500))
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	q, err := NewQuantiles(QuantileParams{Rho: 10, Dim: 500, Max: 2, Unit: 1, Relation: budget.Replace})
	require.NoError(t, err)
	out, err := q.ReleaseSparse(context.Background(), s, 0.5)
	require.NoError(t, err)
	zeros := 0
	for i := range out.Dim() {
		if out.Quantile(i, 0.5) == 0 {
			zeros++
		}
	}
	require.Greater(t, zeros, 490)
}

func TestQuantileParams(t *testing.T) {
	good := QuantileParams{Rho: 1, Dim: 2, Max: 1, Relation: budget.Replace}
	for _, change := range []func(*QuantileParams){
		func(q *QuantileParams) { q.Rho = 0 }, func(q *QuantileParams) { q.Dim = 0 }, func(q *QuantileParams) { q.Max = math.NaN() },
		func(q *QuantileParams) { q.Base = lastBase + 1 }, func(q *QuantileParams) { q.Search = -1 }, func(q *QuantileParams) { q.Relation = 3 },
	} {
		p := good
		change(&p)
		_, err := NewQuantiles(p)
		require.ErrorIs(t, err, ErrParams)
	}
	q, err := NewQuantiles(good)
	require.NoError(t, err)
	for _, levels := range [][]float64{nil, {-0.1}, {math.NaN()}, {0.5, 1.1}} {
		_, err := q.Release(nil, levels...)
		require.ErrorIs(t, err, ErrParams)
	}
	out, err := q.Release(nil, 0, 1)
	require.NoError(t, err, "without rows the quantiles are noise")
	require.Equal(t, []float64{0, 1}, out.Levels())
	twice, err := q.Release(nil, 1, 0, 1)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1}, twice.Levels())
	_, err = q.Release(nil, slices.Repeat([]float64{0.5}, 2000)...)
	require.NoError(t, err, "one level")
	many := make([]float64, maxLevels+1)
	for i := range many {
		many[i] = float64(i) / maxLevels
	}
	_, err = q.Release(nil, many...)
	require.ErrorIs(t, err, ErrParams)
	for _, c := range []struct {
		i     int
		level float64
	}{{-1, 0}, {2, 0}, {0, 0.5}, {0, math.NaN()}} {
		require.True(t, math.IsNaN(out.Quantile(c.i, c.level)))
	}
	for _, confidence := range []float64{-1, 1, math.NaN()} {
		_, hi := out.Interval(0, confidence)
		require.True(t, math.IsNaN(hi))
	}
	good.Rows = 3
	q, _ = NewQuantiles(good)
	_, err = q.Release(nil, 0.5)
	require.ErrorIs(t, err, ErrMismatch)
	require.True(t, math.IsNaN(good.RankError(0.5, 1, 0.1)) && math.IsNaN(good.RequiredRho(0, 0.5, 1, 0.1)))
	var invalid QuantileParams
	require.True(t, math.IsNaN(invalid.RankError(0.5, 1, 0.1)) && math.IsNaN(invalid.RequiredRho(9, 0.5, 1, 0.1)))
	require.Zero(t, invalid.Candidates()+uint64(invalid.Size(1)))
	require.False(t, invalid.Guarantee().Promises())
}

// The planning formulas against releases: the rank error of the search, and the budget at which
// constant columns are found.
func TestQuantilePlanning(t *testing.T) {
	constant := make([][]float64, 2000)
	for j := range constant {
		constant[j] = []float64{3, -2}
	}
	p := QuantileParams{Rho: 1, Dim: 2, Max: 10, Unit: 1, Relation: budget.Replace}
	p.Rho = p.RequiredRho(2000, 0.5, 1/float64(p.Candidates()), 1e-6)
	q, err := NewQuantiles(p)
	require.NoError(t, err)
	out, err := q.Release(constant, 0.5)
	require.NoError(t, err)
	require.InDelta(t, 3, out.Quantile(0, 0.5), 0.01)
	require.InDelta(t, -2, out.Quantile(1, 0.5), 0.01)
	p = QuantileParams{Rho: 0.02, Dim: 2, Max: 10, Unit: 1, Search: 16, Relation: budget.Replace}
	bound := p.RankError(0.5, 1, 1e-6)
	require.InEpsilon(t, math.Sqrt(16*math.Log(16*2/1e-6)/0.01), bound, 1e-12)
	require.InEpsilon(t, 0.02, p.RequiredRho(int(2*bound), 0.5, 1, 1e-6), 0.01)
}

// The interval of ranks holds in the worst column that there can be: one cell is right, and all
// others are as little wrong as the interval does not allow.
func TestQuantileIntervalHolds(t *testing.T) {
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		for _, level := range []float64{0, 0.5, 0.75} {
			q := &Quantiles{params: QuantileParams{Rho: 8, Dim: 1, Max: 1, Unit: 1, Base: Uniform, Relation: relation}.resolved(), levels: []float64{level}, keys: []uint32{0}}
			ch := map[budget.Relation]change{budget.Replace: replaced, budget.AddRemove: added}[relation]
			for _, confidence := range []float64{0, 0.5, 0.99} {
				_, reach := q.Interval(level, confidence)
				require.True(t, reach > 0 && reach < 30, "%v", reach)
				const n = 40
				w := newWeights(8, level, ch, n)
				c, target := make([]int64, n+1), w.target(n)
				for s := range c {
					c[s] = w.score(target, int64(s), int64(s))
				}
				right, wrong := float64(w.at(0)), 0.0
				for s, score := range c {
					if float64(score)/float64(w.den) > reach {
						// all other cells, for each rank in turn
						wrong = max(wrong, float64(uniformCells-1)*float64(w.at(c[s])))
					}
				}
				require.LessOrEqual(t, wrong/(wrong+right), 1-confidence+1e-12, "%v level %v", relation, level)
			}
		}
	}
}
