package means

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// exactSquare returns ‖v‖² exactly.
func exactSquare(v []int64) *big.Int {
	sum := new(big.Int)
	for _, x := range v {
		b := big.NewInt(x)
		sum.Add(sum, b.Mul(b, b))
	}
	return sum
}

// adversarialRows are rows for which float64 norms, or roundings, go wrong most easily.
func adversarialRows(rng *rand.Rand, d int, nonNegative bool) [][]float64 {
	var all [][]float64
	add := func(f func(i int) float64) {
		row := make([]float64, d)
		for i := range row {
			if row[i] = f(i); nonNegative {
				row[i] = math.Abs(row[i])
			}
		}
		all = append(all, row)
	}
	for _, x := range []float64{0, 1, -1, 0x1p-1074, 0x1p-27, 1 - 0x1p-53, 0x1p60, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		add(func(int) float64 { return x })
		add(func(i int) float64 { return x * float64(i%3-1) })
		add(func(i int) float64 {
			if i == 0 {
				return x
			}
			return 0x1p-30
		})
	}
	for range 60 {
		scale := math.Exp(rng.NormFloat64() * 20)
		add(func(int) float64 { return scale * rng.NormFloat64() })
		add(func(int) float64 { return math.Exp(rng.NormFloat64() * 30) })
	}
	return all
}

// Whatever the row and C, what is summed has norm at most C exactly, and two rows differ by at most
// 2C, or √2·C if no entry is negative.
func TestClippedRowsKeepTheirSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	clipped, sharp := 0, 0
	for _, limit := range []float64{1, math.Pi, 0x1p-50, 1e30, 1 - 0x1p-53} {
		for _, nonNegative := range []bool{false, true} {
			for _, d := range []int{1, 2, 7, 100} {
				if testing.Short() && d > 7 {
					continue
				}
				var before []int64
				for _, row := range adversarialRows(rng, d, nonNegative) {
					c := newClipper(limit, d)
					require.LessOrEqual(t, c.limit, limit)
					c.add(nil, row)
					most := big.NewInt(c.most * c.most)
					require.LessOrEqual(t, exactSquare(c.sums).Cmp(most), 0, "d = %d, C = %v, row %v", d, limit, row[:1])
					require.True(t, c.weight >= 0 && c.weight <= weightSteps)
					if nearly := new(big.Int).Div(new(big.Int).Mul(most, big.NewInt(999)), big.NewInt(1000)); exactSquare(c.sums).Cmp(nearly) > 0 {
						sharp++
					}
					clipped++
					if before != nil {
						difference := make([]int64, d)
						for i := range difference {
							difference[i] = c.sums[i] - before[i]
							require.False(t, nonNegative && c.sums[i] < 0)
						}
						factor := int64(4)
						if nonNegative {
							factor = 2
						}
						require.LessOrEqual(t, exactSquare(difference).Cmp(new(big.Int).Mul(most, big.NewInt(factor))), 0)
					}
					before = c.sums
				}
			}
		}
	}
	require.Greater(t, sharp, clipped/5, "the bound is met nearly")
}

// float64 arithmetic alone would let rows through that are too long: of rows in the direction (C,
// 1), with C = 2²⁶ − 1, some are scaled to (C, 1) itself. The check in integers finds them.
func TestNormsAreCheckedInIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	const limit = 1<<26 - 1
	tooLong := 0
	for range 20000 {
		s := math.Exp(3 * rng.Float64())
		y := []float64{limit * s, s}
		c := newClipper(limit, 2)
		if !c.round(c.row, y, limit/math.Sqrt(squaredNorm(y))) {
			tooLong++
		}
		c.add(nil, y)
		require.LessOrEqual(t, exactSquare(c.sums).Cmp(big.NewInt(limit*limit)), 0, "%v", s)
	}
	require.Positive(t, tooLong)
}

// Rounding to the nearest instead of towards 0 breaks the bound: the test above can fail.
func TestRoundingToNearestWouldLeak(t *testing.T) {
	c := newClipper(1, 1000)
	over := 0
	for k := range 100 {
		row := make([]float64, 1000)
		squares := new(big.Int)
		for i := range row {
			row[i] = 1 + float64((i*7+k*13)%11)/11
		}
		norm := math.Sqrt(squaredNorm(row))
		for i := range row {
			v := big.NewInt(int64(math.Round(row[i] / norm * float64(c.most))))
			squares.Add(squares, v.Mul(v, v))
		}
		if squares.Cmp(big.NewInt(c.most*c.most)) > 0 {
			over++
		}
	}
	require.Greater(t, over, 10)
}

// The noise of the sum is what its sensitivity and budget ask for, under every relation.
func TestSumNoise(t *testing.T) {
	for _, row := range []struct {
		relation            budget.Relation
		nonNegative, sparse bool
		dim                 int
		want                float64
	}{
		{budget.Replace, false, true, 2, 2}, {budget.Replace, false, false, 1, 2},
		{budget.Replace, true, true, 2, math.Sqrt2}, {budget.Replace, true, true, 1, 1}, {budget.Replace, true, false, 2, 2}, {budget.Replace, true, false, 1, 2},
		{budget.AddRemove, false, true, 2, 1}, {budget.AddRemove, true, true, 2, 1}, {budget.AddRemove, true, false, 1, 1},
	} {
		p := Params{Rho: 1, Dim: row.dim, Max: 1, Relation: row.relation, NonNegative: row.nonNegative}.adaptable(row.sparse)
		r := newRun(context.Background(), p, &rows{bounds: bounds{dim: row.dim, least: -1, most: 1}})
		c := newClipper(3, row.dim)
		_, sd := r.noisySums(c, 0.125)
		require.GreaterOrEqual(t, sd, row.want*c.limit*2*(1-1e-15))
		require.InEpsilon(t, row.want*c.limit*2, sd, 1e-12)
	}
}

// shapedRun returns a run whose rows are shaped by the given centres and factors.
func shapedRun(t testing.TB, x *rows, centre, factor []float64) *run {
	t.Helper()
	r := newRun(context.Background(), Params{Rho: 1, Dim: x.dim, Max: x.most, Relation: budget.Replace}.Resolved(), x)
	copy(r.centre, centre)
	copy(r.factor, factor)
	require.NoError(t, r.measure())
	return r
}

// Rows that are not clipped are summed without being written out, and rows of equal ones whole, as
// the clipper would: dense, sparse and sparse ones, with and without centres and ranges.
func TestWholeRowsAreSummedAsByTheClipper(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 6)) // test data
	const d, n = 23, 300
	dense, values := randomSparse(rng, n, d)
	ones := Sparse{Offsets: values.Offsets, Indices: values.Indices}
	stored := Sparse{Offsets: values.Offsets, Indices: values.Indices, Values: slices.Repeat([]float64{1}, len(values.Indices))}
	low, high := make([]float64, d), make([]float64, d)
	for i := range high {
		low[i], high[i] = -rng.Float64(), rng.Float64()
	}
	for j := range dense {
		dense[j] = dense[j][:rng.IntN(d+1)] // missing entries are 0
	}
	for _, x := range []rows{{dense: dense}, {sparse: &values}, {sparse: &ones}} {
		for _, own := range []*ranges{nil, {low, high}} {
			for _, kind := range []string{"equal", "scaled", "centred"} {
				x.dim, x.least, x.most, x.ranges = d, -2, 2, own
				centre, factor := make([]float64, d), make([]float64, d)
				for i := range factor {
					if factor[i] = 0.3; kind != "equal" {
						factor[i] = math.Exp(rng.NormFloat64())
					}
					if kind == "centred" && i%4 == 0 {
						centre[i], factor[i] = rng.NormFloat64(), -factor[i]
					}
				}
				r := shapedRun(t, &x, centre, factor)
				require.Equal(t, kind == "equal" && x.sparse == &ones && own == nil, r.shaping.equal != nil)
				view, limit, squares := shaped{shaping: r.shaping}, 0.0, r.squares
				for _, square := range r.squares[:n/2] {
					limit = max(limit, math.Sqrt(square)) // some rows are above it
				}
				limit *= 0.9
				got := dptest.OK(r.clipAll(limit))(t)
				want := newClipper(limit, d)
				for j := range n {
					want.add(view.row(j))
				}
				require.Equal(t, want.weight, got.weight)
				require.Less(t, got.weight, int64(n*weightSteps), "some rows are clipped")
				require.Equal(t, want.sums, got.sums, kind)
				if x.sparse != &ones {
					continue
				}
				x.sparse = &stored
				r = shapedRun(t, &x, centre, factor)
				require.Equal(t, squares, r.squares, "%s: the rounding of a square depends on whether values are stored", kind)
				same := dptest.OK(r.clipAll(limit))(t)
				require.Equal(t, got.sums, same.sums)
				require.Equal(t, got.weight, same.weight)
				x.sparse = &ones
			}
		}
	}
}

// What is summed of a row is a function of that row alone: whatever comes beside it, such as a row
// with a repeated index or out of order, it is measured and rounded as by itself. (A repeated index
// once made the values stored, and with it 2.2 million other rows rounded in another way.)
func TestNoRowChangesHowAnotherIsRounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8)) // test data
	const d = 40
	nan, inf := math.NaN(), math.Inf(1)
	for trial := range dptest.Full(400, 60) {
		n := []int{9, 16, 25, 36}[trial%4]
		usual := Sparse{Offsets: []int{0, n}}
		for _, i := range rng.Perm(d)[:n] {
			usual.Indices = append(usual.Indices, uint32(i))
		}
		slices.Sort(usual.Indices)
		odd := []Sparse{
			{Offsets: []int{0, 0}}, {Offsets: []int{0, 2}, Indices: []uint32{5, 5}}, {Offsets: []int{0, 3}, Indices: []uint32{7, 3, 7}},
			{Offsets: []int{0, 2}, Indices: []uint32{d + 5, 1}}, {Offsets: []int{0, d}, Indices: make([]uint32, d)},
		}
		if trial%3 == 2 {
			usual.Values = make([]float64, n)
			for i := range usual.Values {
				usual.Values[i] = math.Exp(rng.NormFloat64())
			}
			for k := range odd {
				odd[k].Values = []float64{nan, inf, -inf, math.Copysign(0, -1), 1e300, 5e-324, 1}[:min(len(odd[k].Indices), 7)]
				odd[k].Values = append(odd[k].Values, make([]float64, len(odd[k].Indices)-len(odd[k].Values))...)
			}
		}
		centre, factor := make([]float64, d), make([]float64, d)
		common, apart := math.Exp(rng.NormFloat64()), trial%6 >= 3
		for i := range factor {
			factor[i] = common
			if apart {
				factor[i] = math.Exp(rng.NormFloat64())
			}
		}
		sums := func(limit float64, parts ...Sparse) (square float64, sums []int64) {
			s := Sparse{Offsets: []int{0}}
			for _, p := range parts {
				s.Indices, s.Values = append(s.Indices, p.Indices...), append(s.Values, p.Values...)
				s.Offsets = append(s.Offsets, len(s.Indices))
			}
			s = s.canonical(d)
			r := shapedRun(t, &rows{bounds: bounds{dim: d, least: -2, most: 2}, sparse: &s}, centre, factor)
			square = r.squares[len(parts)-1]
			c := dptest.OK(r.clipAll(limit))(t)
			return square, append(c.sums, c.weight)
		}
		square, _ := sums(1, usual)
		for _, share := range []float64{rng.Float64(), 1, 1.5} {
			limit := math.Sqrt(square) * share
			_, alone := sums(limit, usual)
			for k, o := range odd {
				_, without := sums(limit, o)
				beside, both := sums(limit, o, usual)
				require.Equal(t, square, beside, "odd row %d", k)
				for i := range both {
					both[i] -= without[i]
				}
				require.Equal(t, alone, both, "odd row %d", k)
			}
		}
	}
}

// The float64 arithmetic can take a row of equal entries for short enough that is too long: two
// entries of k are, by one square of a step, where 2k² = C² + 1.
func TestEqualRowsKeepTheNormBound(t *testing.T) {
	const most, each = 54_608_393, 38_613_965
	c, tooLong := newClipper(most, 2), 0
	require.EqualValues(t, most, c.most)
	for i := range 400 {
		y := 1 + float64(i)/401
		e := c.equalRow(y*most, 2*y*most*y*most, 2)
		require.LessOrEqual(t, 2*e.each*e.each, c.most*c.most)
		require.GreaterOrEqual(t, e.each, int64(each-1))
		if scale := c.scale(2 * y * most * y * most); int64(y*most*scale) == each {
			tooLong++
		}
	}
	require.Positive(t, tooLong, "the arithmetic rounds some of them up")
}

// However far the square of a row's norm was rounded, what is summed of it has norm at most C
// exactly. The square of a sparse row is that of zeros, and what stored entries change; where those
// cancel it may be off by far more than what is left. Without the slack of whole many rows would be
// too long.
func TestShortcutsKeepTheNormBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7)) // test data
	const d = 40
	tooLong, trials := 0, dptest.Full(800, 160)
	for trial := range trials {
		centre, factor := make([]float64, d), make([]float64, d)
		s := Sparse{Offsets: []int{0, 0}}
		for i := range d {
			factor[i] = math.Exp(rng.NormFloat64())
			if trial%2 == 0 && i < 8 {
				centre[i] = 1e8 * rng.Float64()
				s.Values = append(s.Values, centre[i]+rng.NormFloat64())
				s.Indices = append(s.Indices, uint32(i))
			} else if rng.IntN(2) == 0 {
				s.Values = append(s.Values, rng.NormFloat64())
				s.Indices = append(s.Indices, uint32(i))
			}
		}
		if trial%4 == 3 { // rows of ones
			s.Values = nil
			for i := range factor {
				factor[i] = factor[0]
			}
		}
		s.Offsets[1] = len(s.Indices)
		x := &rows{bounds: bounds{dim: d, least: -1e9, most: 1e9}, sparse: &s}
		_, y := (&shaped{shaping: newShaping(x, centre, factor)}).row(0)
		norm := math.Sqrt(squaredNorm(y))
		for range 20 {
			limit := norm * (1 + rng.NormFloat64()*math.Exp2(-float64(rng.IntN(60))))
			if !(limit > 0) {
				continue
			}
			r := shapedRun(t, x, centre, factor)
			shortcut := r.squares[0] <= limit*limit
			c := dptest.OK(r.clipAll(limit))(t)
			most := big.NewInt(c.most * c.most)
			require.LessOrEqual(t, exactSquare(c.sums).Cmp(most), 0, "trial %d: C = %v, norm %v", trial, limit, norm)
			if shortcut {
				forced := newClipper(limit, d)
				w := newWholeRows(newShaping(x, centre, factor), forced.step)
				w.add(forced, 0)
				w.finish(forced)
				if exactSquare(forced.sums).Cmp(most) > 0 {
					tooLong++
				}
			}
		}
	}
	require.Greater(t, tooLong, trials/8)
}

// The groups of pairs of a sparse column are those of the same column written out.
func TestGroupsOfSparseColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5)) // test data
	const n, d = 203, 4
	dense, s := randomSparse(rng, n, d)
	s = s.canonical(d)
	list := []int{2, 0, 3}
	sums := func(x *rows, k int) (sums, means [][]float64) {
		sums, means = make([][]float64, len(list)), make([][]float64, len(list))
		err := x.values(list, nil, 2, func() error { return nil }, func(at, _ int, rows []uint32, v []float64) {
			groupSums(rows, v, k, n/(2*k), func(sum float64) {
				if sum > 0 {
					sums[at] = append(sums[at], sum)
				}
			})
			for _, x := range v {
				if x != 0 {
					means[at] = append(means[at], x)
				}
			}
		})
		require.NoError(t, err)
		return sums, means
	}
	for _, k := range []int{1, 2, 7, 101, 102} {
		want, entries := sums(&rows{bounds: bounds{dim: d, least: -1, most: 1}, dense: dense}, k)
		got, stored := sums(&rows{bounds: bounds{dim: d, least: -1, most: 1}, sparse: &s}, k)
		require.Equal(t, want, got, "k = %d", k)
		require.Equal(t, entries, stored)
		require.Equal(t, k == 102, want[0] == nil)
	}
	var one []float64
	groupSums([]uint32{0, 3, 4, 5, 11}, []float64{1, 2, 4, 1, 9}, 2, 2, func(sum float64) { one = append(one, sum) })
	require.Equal(t, []float64{0.5 + 2, 4.5}, one, "(1, 0), (0, 2); (4, 1), (0, 0); the row of 9 is in no whole group")
}

// randomSparse returns the same rows in both forms.
func randomSparse(rng *rand.Rand, n, d int) ([][]float64, Sparse) {
	s, dense := Sparse{Offsets: []int{0}}, make([][]float64, n)
	for j := range dense {
		dense[j] = make([]float64, d)
		for i := range d {
			if rng.Float64() < 0.3 {
				dense[j][i] = 2*rng.Float64() - 1
				s.Indices, s.Values = append(s.Indices, uint32(i)), append(s.Values, dense[j][i])
			}
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return dense, s
}
