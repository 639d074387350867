package means

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

func release(t testing.TB, p Params, x [][]float64) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	if p.Method == TwoPass {
		return dptest.OK(m.ReleaseSparse(t.Context(), sparseOf(x)))(t)
	}
	return dptest.OK(m.Release(t.Context(), x))(t)
}

// sparseOf returns the rows with all their entries stored.
func sparseOf(x [][]float64) Sparse {
	s := Sparse{Offsets: []int{0}}
	for _, row := range x {
		for i, v := range row {
			s.Indices, s.Values = append(s.Indices, uint32(i)), append(s.Values, v)
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return s
}

// checkValid checks what every release has: finite numbers, and a budget that is spent exactly and
// never exceeded.
func checkValid(t testing.TB, m *Mean) {
	t.Helper()
	require.Empty(t, m.Wrong(m.Centres != nil, m.Lower != nil), "%+v", m.Params)
	require.True(t, m.Lower == nil || m.RangesFit())
	s, rho := m.Spent, m.Params.Rho
	require.InEpsilon(t, rho, s.Centre+s.Scale+s.Clip+s.Divisor+s.Sum, 1e-9)
	require.Equal(t, budget.ZCDP(rho, budget.Row(m.Params.Relation)), m.Params.Guarantee())
	for i := range m.Params.Dim {
		lo, hi := m.NoiseInterval(i, 0.95)
		require.True(t, lo < m.Values[i] && m.Values[i] < hi || m.Errors[i] < 1e-14*math.Abs(m.Values[i]), "%d: %v in [%v, %v]", i, m.Values[i], lo, hi)
	}
}

// rowsFor returns a number of rows that is enough for d coordinates at ρ = 2.
func rowsFor(d int) int { return 1000 + 3*d }

// Skewed rows are scaled, others are not, and the error is what the noise says.
func TestAdaptiveRelease(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, skew := range []float64{0, 1} {
		for _, d := range []int{30, 600} {
			if testing.Short() && d > 100 {
				continue
			}
			sds := dptest.Powers(d, skew)
			x, mean := dptest.NormalRows(rng, rowsFor(d), 3, sds)
			m := release(t, Params{Rho: 2, Dim: d, Max: 1e5, Resolution: 1, Workers: 2, Failure: 1e-9, Relation: budget.Replace}, x)
			checkValid(t, m)
			require.Equal(t, skew == 1, m.Scaled)
			expected := m.noiseNorm(2)
			// With skew the first coordinates dominate, and clipping adds a random error of
			// |w/γ − 1|, less than 0.3, of that of the sample.
			bound := 3*expected + 0.3*floats.Distance(sds, make([]float64, d), 2)/math.Sqrt(float64(rowsFor(d)))
			require.Less(t, floats.Distance(m.Values, mean, 2), bound, "skew %v d = %d", skew, d)
			// One run of 100 is below .62 with skew, one of 10⁴ below .48: .2 is beyond 10⁻⁹.
			require.Greater(t, floats.Distance(m.Values, mean, 2), 0.2*expected)
			require.InDelta(t, 1, m.gamma(), 0.1)
			require.Zero(t, m.Params.Workers)
			for i := range sds {
				require.InDelta(t, 3, m.Centre(i), 2*sds[i], "coordinate %d", i)
				if m.Scaled {
					require.InDelta(t, 0, math.Log(m.Scale(i)/sds[i]), 1, "coordinate %d", i)
				}
			}
		}
	}
}

// Degenerate data: no panic, no error, and where it is defined what the data say.
func TestDegenerateData(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	constant := make([][]float64, 300)
	outside := make([][]float64, 300)
	strange := make([][]float64, 300)
	for j := range constant {
		constant[j] = []float64{3, -7, 0}
		outside[j] = []float64{1e9, -1e9, inf}
		strange[j] = [][]float64{{nan, nan, nan}, {inf, -inf, 1}, {}, {1}, {1, 2, 3, 4, 5}, nil}[j%6]
	}
	for name, x := range map[string][][]float64{"none": nil, "one": {{1, 2, 3}}, "constant": constant, "outside": outside, "strange": strange, "empty rows": make([][]float64, 7)} {
		for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
			for _, method := range []Method{Adaptive, TwoPass, Thesis, Plain, InstanceOptimal} {
				for _, d := range []int{1, 3, 700} {
					if d > 3 && relation == budget.AddRemove && !dptest.Long() {
						continue
					}
					p := Params{Rho: 100, Dim: d, Max: 10, Resolution: 1, Relation: relation, Method: method, NonNegative: method == TwoPass}
					m := release(t, p, x)
					checkValid(t, m)
					if d == 3 && method == Adaptive && len(x) == 300 && name != "strange" {
						want := map[string][]float64{"constant": {3, -7, 0}, "outside": {10, -10, 10}}[name]
						require.Less(t, floats.Distance(m.Values, want, 2), 0.5, "%s under %v", name, relation)
					}
				}
			}
		}
	}
	zeros := Sparse{Offsets: make([]int, 101)}
	for _, p := range []Params{{Rho: 100, Dim: 5, NonNegative: true, Relation: budget.Replace}, {Rho: 100, Dim: 5, Max: 1, Relation: budget.Replace}, {Rho: 100, Dim: 5, Max: 1, Steps: Steps{Centre: Median}, Relation: budget.Replace}} {
		m := dptest.OK(New(p))(t)
		for _, s := range []Sparse{zeros, {}, {Offsets: []int{0}}} {
			out := dptest.OK(m.ReleaseSparse(t.Context(), s))(t)
			checkValid(t, out)
			if s.Rows() == 100 {
				// at ρ = 1 they would be too few: a median of 100 zeros misses 0 more often than
				// not
				require.Less(t, floats.Distance(out.Values, make([]float64, 5), 2), 1.0)
			}
		}
	}
}

// Sparse rows out of order, with indices twice or too large, are put in order; broken ones are
// refused.
func TestSparseRowsAreMadeCanonical(t *testing.T) {
	s := Sparse{Offsets: []int{0, 4, 4, 6}, Indices: []uint32{3, 1, 3, 9, 0, 2}, Values: []float64{1, 2, 4, 8, math.NaN(), 5}}
	require.Equal(t, Sparse{Offsets: []int{0, 2, 2, 4}, Indices: []uint32{1, 3, 0, 2}, Values: []float64{2, 5, 0, 5}}, s.canonical(4))
	ones := Sparse{Offsets: []int{0, 4, 5}, Indices: []uint32{3, 1, 3, 9, 2}}
	require.Equal(t, Sparse{Offsets: []int{0, 2, 3}, Indices: []uint32{1, 3, 2}, Values: []float64{1, 2, 1}}, ones.canonical(4), "as if ones were stored")
	set := Sparse{Offsets: []int{0, 3, 4}, Indices: []uint32{3, 1, 9, 2}}
	require.Equal(t, Sparse{Offsets: []int{0, 2, 3}, Indices: []uint32{1, 3, 2}}, set.canonical(4))
	clamped := Sparse{Offsets: []int{0, 3}, Indices: []uint32{2, 2, 2}, Values: []float64{8, -7, 1}}
	require.Equal(t, []float64{2}, clamped.canonical(4).Values, "not clamped one by one")
	one, other := Sparse{Offsets: []int{0, 3}, Indices: []uint32{2, 2, 2}, Values: []float64{1e17, 1, -1e17}}, Sparse{Offsets: []int{0, 3}, Indices: []uint32{2, 2, 2}, Values: []float64{1, -1e17, 1e17}}
	require.Equal(t, one.canonical(4), other.canonical(4), "in any order")
	ordered := Sparse{Offsets: []int{0, 2}, Indices: []uint32{0, 3}}
	require.Equal(t, ordered, ordered.canonical(4))
	m := dptest.OK(New(Params{Rho: 1, Dim: 4, NonNegative: true, Relation: budget.Replace}))(t)
	for _, broken := range []Sparse{{Indices: []uint32{1}}, {Offsets: []int{0, 2}, Indices: []uint32{1}}, {Offsets: []int{1, 1}, Indices: []uint32{1}},
		{Offsets: []int{0, 2, 1}, Indices: []uint32{1}}, {Offsets: []int{0, 1}, Indices: []uint32{1}, Values: []float64{}}, {Values: []float64{1}}} {
		require.ErrorIs(t, dptest.Err(m.ReleaseSparse(t.Context(), broken)), check.ErrParams)
	}
}

func TestContextStopsARelease(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(1, 1)), 50, 0, dptest.Powers(3, 0))
	for _, p := range []Params{{Rho: 1, Dim: 3, Max: 9, Relation: budget.Replace}, {Rho: 1, Dim: 3, Max: 9, NonNegative: true, Relation: budget.Replace}, {Rho: 1, Dim: 3, Max: 9, Method: Plain, Relation: budget.Replace}, {Rho: 1, Dim: 3, Max: 9, Method: Thesis, Relation: budget.Replace}} {
		m := dptest.OK(New(p))(t)
		require.ErrorIs(t, dptest.Err(m.Release(ctx, x)), context.Canceled)
	}
}

func TestRowsMustMatchUnderReplace(t *testing.T) {
	x := make([][]float64, 5)
	m := dptest.OK(New(Params{Rho: 1, Dim: 2, Max: 1, Rows: 6, Relation: budget.Replace}))(t)
	require.ErrorIs(t, dptest.Err(m.Release(t.Context(), x)), check.ErrMismatch)
	m = dptest.OK(New(Params{Rho: 1, Dim: 2, Max: 1, Rows: 6, Relation: budget.AddRemove}))(t)
	dptest.OK(m.Release(t.Context(), x))(t, "there the number of rows is private")
}

// Given scales cost nothing and are used.
func TestGivenScales(t *testing.T) {
	sds := dptest.Powers(50, 1)
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(1, 1)), 500, 0, sds)
	m := dptest.OK(New(Params{Rho: 1, Dim: 50, Max: 1e4, Resolution: 1, Relation: budget.Replace}))(t)
	for _, broken := range [][]float64{nil, make([]float64, 50), append(make([]float64, 49), math.NaN()), append(make([]float64, 49), math.Inf(1))} {
		require.ErrorIs(t, dptest.Err(m.WithScales(broken)), check.ErrParams)
	}
	given := dptest.OK(m.WithScales(sds))(t)
	out := dptest.OK(given.Release(t.Context(), x))(t)
	require.Zero(t, out.Spent.Scale)
	require.True(t, out.Scaled)
	require.Equal(t, sds[3], out.Scale(3))
}

// Dense rows without negative entries are clipped around their medians as others are: around the
// origin those of N(100, 15) have 16 times the error. One release's error has a standard deviation
// of .27 of the mean, so of so many the ratio is off by seven standard errors at most. Rows that
// Release refuses as dense ReleaseSparse takes.
func TestDenseRowsOfOneSign(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	cryptotest.SetGlobalRandom(t, 5)
	// test data
	x, mean := dptest.NormalRows(rand.New(rand.NewPCG(25, 26)), 4000, 100, slices.Repeat([]float64{15}, 10))
	releases := dptest.Full(100, 20)
	slack := 1 + 7*.27*math.Sqrt2/math.Sqrt(float64(releases))
	for _, relation := range []budget.Relation{budget.AddRemove, budget.Replace} {
		errorOf := func(p Params) (sum float64) {
			p.Rho, p.Dim, p.Max, p.P, p.Relation = 0.5, 10, 1000, 2, relation
			for range releases {
				sum += floats.Distance(release(t, p, x).Values, mean, 2)
			}
			return sum / float64(releases)
		}
		signed, unsigned := errorOf(Params{}), errorOf(Params{NonNegative: true})
		t.Logf("%v: %.4f signed, %.4f without a sign", relation, signed, unsigned)
		dptest.Alarm(t, 1e-9)
		require.Less(t, unsigned, slack*signed)
		require.Less(t, 4*unsigned, errorOf(Params{NonNegative: true, Method: TwoPass}))
	}
	m := dptest.OK(New(Params{Rho: 1, Dim: 10, NonNegative: true, Method: TwoPass}))(t)
	require.ErrorIs(t, dptest.Err(m.Release(t.Context(), x)), check.ErrParams)
	dptest.OK(m.ReleaseSparse(t.Context(), sparseOf(x)))(t)
}

// Twenty rows far from all others move the mean by more than NoiseInterval, which knows the noise
// alone, and not out of IntervalBounded.
func TestFarRows(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 4)
	// test data
	x, mean := dptest.NormalRows(rand.New(rand.NewPCG(27, 28)), 30_000, 0, []float64{1})
	for j := range 20 {
		mean[0] += (1000 - x[j][0]) / 30_000
		x[j][0] = 1000
	}
	m := release(t, Params{Rho: 0.5, Dim: 1, Max: 2000, Resolution: 0.1}, x)
	_, hi := m.NoiseInterval(0, 0.95)
	require.Less(t, hi, mean[0]/2)
	lo, hi := m.Bounded(0, 0.95)
	require.True(t, lo <= mean[0] && mean[0] <= hi, "[%v, %v]", lo, hi)
}

// A release of many entries takes all cores unless Workers says otherwise, and tells the same.
func TestManyEntriesTakeAllCores(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n, d = manyEntries / 32, 32
	x := make([][]float64, n)
	for j := range x {
		x[j] = make([]float64, d)
		for i := range x[j] {
			x[j][i] = float64((i + j) % 7)
		}
	}
	sparse := &Sparse{Indices: make([]uint32, manyEntries)}
	require.Equal(t, 4, (&rows{sparse: sparse}).workers(0))
	require.Equal(t, 4, (&rows{bounds: bounds{dim: d}, dense: x}).workers(0))
	require.Equal(t, 1, (&rows{bounds: bounds{dim: d}, dense: x[1:]}).workers(0))
	require.Equal(t, 3, (&rows{bounds: bounds{dim: d}, dense: x[1:]}).workers(3))
	for _, workers := range []int{0, 1, 7} {
		for i, value := range release(t, Params{Rho: 1e6, Dim: d, Max: 10, Workers: workers, Relation: budget.Replace}, x).Values {
			require.InDelta(t, 3, value, 0.01, "%d workers, column %d", workers, i)
		}
	}
}

// Every selection of steps gives a valid release, of dense and of sparse rows.
func TestEveryStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, _ := dptest.NormalRows(rng, 400, 0.5, dptest.Powers(6, 1))
	_, sparse := randomSparse(rng, 400, 6)
	for _, method := range []Method{Adaptive, Thesis, InstanceOptimal} {
		for at, s := range []Steps{{}, {Scaling: Scaled}, {Scaling: Unscaled}, {Spread: Pairs, Group: 3}, {Spread: Direct}, {Spread: Means}, {Base: quantile.Uniform},
			{Search: 12}, {Clip: 0.5}, {Undivided: true}, {Unshrunk: true, Regularized: true}, {Floor: 0.25}, {Centre: Origin}, {Centre: Median}} {
			m, err := New(Params{Rho: 5, Dim: 6, Max: 100, Resolution: 0.1, Relation: budget.Relation(1 + at%2), Method: method, Steps: s})
			if err != nil {
				require.ErrorIs(t, err, check.ErrParams)
				continue
			}
			checkValid(t, dptest.OK(m.Release(t.Context(), x))(t))
			checkValid(t, dptest.OK(m.ReleaseSparse(t.Context(), sparse))(t))
		}
	}
}
