package means

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// sparseRow is a row of a Sparse matrix.
type sparseRow struct {
	indices []uint32
	values  []float64
}

// matrix returns the rows without the nil ones.
func matrix(list []*sparseRow) *Sparse {
	s := &Sparse{Offsets: []int{0}, Values: []float64{}}
	for _, row := range list {
		if row != nil {
			s.Indices, s.Values = append(s.Indices, row.indices...), append(s.Values, row.values...)
			s.Offsets = append(s.Offsets, len(s.Indices))
		}
	}
	return s
}

// hostileRows are what one row of three coordinates may be: at the ends of the ranges and beyond
// them, on either side and mixed, nearly nothing and nothing. The last sparse one has no entries.
func hostileRows() (dense [][]float64, sparse []*sparseRow) {
	inf, nan := math.Inf(1), math.NaN()
	dense = [][]float64{
		{5, 5, 5}, {-5, 5, -5}, {1e300, -1e300, -1e300}, {-inf, -inf, inf}, {nan, nan, nan}, {nan, 4, -4}, {0, 0x1p-1074, math.Copysign(0, -1)}, {3, -2}, {0.1, 0.2, 0.3}, {0, 0, 0},
	}
	for _, row := range dense[:len(dense)-1] {
		sparse = append(sparse, &sparseRow{[]uint32{0, 1, 2}[:len(row)], row})
	}
	return dense, append(sparse, &sparseRow{[]uint32{2, 0, 2, 2}, []float64{1e308, 1, 1e308, -1e308}}, &sparseRow{[]uint32{1, 1}, []float64{nan, 7}},
		&sparseRow{[]uint32{9, 0}, []float64{5, -5}}, &sparseRow{[]uint32{0, 1}, []float64{0, 0}}, &sparseRow{})
}

// side is one of two neighbours, under the public numbers of one release.
type side struct {
	*run
	columns []quantile.Column // as keys of values, and of distances from the centres
	norms   quantile.Column   // of those that are not 0
	sums    []*clipper        // for several C
}

// sideOf returns what steps make of rows under the shape and the C that were released.
func sideOf(t *testing.T, out *Mean, x *rows) side {
	t.Helper()
	s := side{run: newRun(t.Context(), out.Params, x)}
	copy(s.centre, out.Centres)
	for i := range s.scale {
		if s.scale[i] = 1; out.Scales != nil {
			s.scale[i] = out.Scales[i]
		}
	}
	if out.Scaled {
		s.shape()
	}
	if out.Params.Method == TwoPass && out.Params.Relation == budget.Replace {
		s.centre[0], s.factor[0] = s.clean(0, math.Inf(1)), -s.factor[0] // a column that seems full
	}
	for i := range out.Params.Dim {
		for _, k := range []*quantile.Keying{{Axis: s.p.centreAxis()}, {Axis: s.p.scaleAxis(), Centre: s.centre}} {
			require.NoError(t, x.columns([]int{i}, 1, s.stop, k, []uint32{7, 1000}, func(_, _ int, c quantile.Column) {
				s.columns = append(s.columns, quantile.Column{Keys: slices.Clone(c.Keys), Zeros: c.Zeros, Zero: c.Zero})
			}))
		}
	}
	bound := s.normBound()
	a := quantile.LogAxis(bound*0x1p-48, bound, normBits)
	for _, limit := range []float64{out.Limit, out.Limit / 3, bound} {
		s.sums = append(s.sums, dptest.OK(s.clipAll(limit))(t))
	}
	require.NoError(t, s.measure())
	for _, square := range s.squares {
		if square > 0 {
			s.norms.Keys = append(s.norms.Keys, a.Key(math.Sqrt(square)))
		}
	}
	return s
}

// weightAt returns ln w of a candidate.
func weightAt(w *quantile.Weights, c quantile.Column, r uint32) float64 {
	lo, hi := int64(0), int64(0)
	for _, key := range c.Keys {
		if key < r {
			lo++
		}
		if key <= r {
			hi++
		}
	}
	if c.Zero < r {
		lo += c.Zeros
	}
	if c.Zero <= r {
		hi += c.Zeros
	}
	return math.Log(float64(w.At(w.Score(w.Target(c.Size()), lo, hi))))
}

// weightChange returns the most that ln w of a candidate differs by between two columns.
func weightChange(of func(n int) *quantile.Weights, x, y quantile.Column) (change float64) {
	v, w := of(int(x.Size())), of(int(y.Size()))
	for _, key := range append(slices.Concat(x.Keys, y.Keys), x.Zero, y.Zero) {
		for _, r := range []uint32{key - min(key, 1), key, key + 1} {
			change = max(change, math.Abs(weightAt(v, x, r)-weightAt(w, y, r)))
		}
	}
	return change
}

// requirePrivateSteps holds all that noise is added to, or that is drawn by weights, against what
// each step is calibrated for: for two neighbours, in integers, before any noise. Of weights that
// is √(2ρ) for each ln w (weights.go). It returns how far the sums are apart, of how far they may
// be.
func requirePrivateSteps(t *testing.T, name string, x, y side) (part float64) {
	t.Helper()
	const rho, loss = 0.02, 0.2 * (1 + 1e-12)
	p, n := x.p, int64(x.x.count()-y.x.count())
	require.True(t, n == 0 || n*n == 1 && p.Relation != budget.Replace)
	for i := range x.columns {
		for _, level := range []float64{0.5, 0.841} {
			change := weightChange(func(n int) *quantile.Weights { return quantile.NewWeights(rho, level, x.ranks(), n) }, x.columns[i], y.columns[i])
			require.LessOrEqual(t, change, loss, "%s: column %d", name, i)
		}
	}
	for _, k := range []int64{1, 3} {
		change := weightChange(func(n int) *quantile.Weights { return quantile.NewAbove(rho, k, int64(n)) }, x.norms, y.norms)
		require.LessOrEqual(t, change, loss, "%s: C", name)
	}
	change := weightChange(func(n int) *quantile.Weights { return quantile.NewWeights(rho, 0.5, x.normChange(), n) }, x.norms, y.norms)
	require.LessOrEqual(t, change, loss, "%s: M₁", name)
	for c, a := range x.sums {
		b, difference := y.sums[c], make([]int64, p.Dim)
		require.LessOrEqual(t, max(a.weight-b.weight, b.weight-a.weight), int64(weightSteps), name)
		require.Equal(t, x.sumChange(a), y.sumChange(b), "what noise is for does not depend on rows")
		for i := range difference {
			difference[i] = a.sums[i] - b.sums[i]
		}
		square, _ := new(big.Float).SetInt(exactSquare(difference)).Float64()
		part = max(part, math.Sqrt(square)/x.sumChange(a))
		require.LessOrEqual(t, part, 1.0, "%s: at C = %v sums differ by %v steps", name, a.limit, difference)
	}
	return part
}

// requireNoise holds the noise of a release against what one row may change.
func requireNoise(t *testing.T, name string, out *Mean, s side) {
	t.Helper()
	if out.Params.Method == TwoPass {
		return // the noise of two sums
	}
	require.InEpsilon(t, s.sumChange(s.sums[0])*s.sums[0].step/math.Sqrt(2*out.Spent.Sum), out.noiseOfSum(0)*out.Divisor*math.Abs(s.factor[0]), 1e-6, name)
}

// neighbourCase is a way to release.
type neighbourCase struct {
	p                   Params
	sparse, own, scales bool
}

// neighbourCases are all methods under both relations, for dense and sparse rows, with and without
// ranges and scales of one's own; by default every fifth of them, and all of Plain and of medians.
func neighbourCases() (cases []neighbourCase) {
	for _, method := range []Method{Adaptive, TwoPass, Thesis, Plain, InstanceOptimal} {
		for _, centre := range []Centre{AutoCentre, Median, Origin} {
			for option := range 1 << 5 {
				c := neighbourCase{Params{Rho: 100, Dim: 3, Max: 6, Relation: budget.AddRemove, Method: method, NonNegative: option&2 > 0, Resolution: 0.01, Steps: Steps{Centre: centre}},
					option&1 > 0, option&4 > 0, option&8 > 0}
				if option&16 > 0 {
					c.p.Relation = budget.Replace
				} else if c.scales {
					c.p.Rows = 8 // public places
				}
				if c.p.Validate() == nil && (method != TwoPass || c.sparse) && (method != InstanceOptimal || centre == AutoCentre) {
					cases = append(cases, c)
				}
			}
		}
	}
	return cases
}

// Every step keeps what it is calibrated for, whatever one row is and wherever it stands: it is
// removed, or a sparse one loses its entries, or it is replaced. What noise is for is met nearly.
// (A sparse row that lost its entries once moved from one end to the middle of a range and, around
// medians, by 2C where the noise was for C.)
func TestEveryStepKeepsItsSensitivity(t *testing.T) {
	dptest.NotShort(t, "a second")
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(91, 92)) // test data
	dense, sparse := hostileRows()
	base, list := make([][]float64, 8), make([]*sparseRow, 8)
	for j := range base {
		base[j] = []float64{4 + rng.NormFloat64(), rng.NormFloat64(), float64(j % 2)}
		list[j] = &sparseRow{[]uint32{0, 1, 2}, base[j]}
	}
	cases, sharp := neighbourCases(), 0
	for i, c := range cases {
		if c.p.Method != Plain && !(c.sparse && c.p.Steps.Centre == Median) && i%5 > 0 && !dptest.Long() {
			continue
		}
		m, name, at := dptest.OK(New(c.p))(t), fmt.Sprintf("%+v", c), rng.IntN(len(base))
		if c.own && c.p.NonNegative {
			m = dptest.OK(m.WithRanges([]float64{0, 0, 0}, []float64{5, 3, 1}))(t)
		} else if c.own {
			m = dptest.OK(m.WithRanges([]float64{0, -1, -4}, []float64{5, 3, 0}))(t)
		}
		if c.scales {
			m = dptest.OK(m.WithScales([]float64{3, 1, 0.2}))(t)
		}
		var out *Mean
		var sides []side
		first := 1 // up to here are others to compare with
		if c.sparse {
			out = dptest.OK(m.ReleaseSparse(t.Context(), *matrix(list)))(t)
			for _, row := range append([]*sparseRow{nil, {}}, sparse...) {
				all := slices.Clone(list)
				all[at] = row
				s := matrix(all).canonical(3)
				sides = append(sides, sideOf(t, out, &rows{bounds: m.bounds(), sparse: &s}))
			}
			first = 2
		} else {
			out = dptest.OK(m.Release(t.Context(), base))(t)
			for _, row := range append([][]float64{nil}, dense...) {
				all := slices.Clone(base)
				all[at] = row
				x := &rows{bounds: m.bounds(), dense: all}
				if c.p.Relation != budget.Replace {
					x = x.present()
				}
				sides = append(sides, sideOf(t, out, x))
			}
		}
		replaced := c.p.Relation == budget.Replace
		if replaced {
			sides = sides[min(first, len(sides)):]
		}
		part := 0.0
		for i, x := range sides {
			others := sides[:first]
			if replaced { // neither is the first: all is the same the other way round
				others = sides[:i+1]
			}
			for _, y := range others {
				part = max(part, requirePrivateSteps(t, name, x, y))
			}
		}
		requireNoise(t, name, out, sides[0])
		require.Greater(t, part, 0.5, "%s: noise for more than a row changes", name)
		sharp++
	}
	require.Greater(t, sharp, 50)
}
