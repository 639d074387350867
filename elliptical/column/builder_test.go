package column

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

var ages = Params{Epsilon: 1, Max: 100}

// held returns what a Builder holds.
func held(b *Builder) *state {
	data := private.Enter(b.secret)
	private.Leave(b.secret)
	return data
}

func builder(t testing.TB, p Params, values ...float64) *Builder {
	t.Helper()
	b := dptest.OK(New(p))(t)
	for _, x := range values {
		b.Add(x)
	}
	return b
}

func released(t testing.TB, p Params, values ...float64) *Summary {
	t.Helper()
	s := dptest.OK(builder(t, p, values...).Release())(t)
	return s
}

func privateBytes(t testing.TB, b *Builder) []byte {
	t.Helper()
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	return data
}

// Params that New refuses promise nothing.
func TestInvalidParams(t *testing.T) {
	nan, tooMany := math.NaN(), -1
	if n := int64(maxRows + 1); math.MaxInt > maxRows { // not where an int has 32 bits
		tooMany = int(n)
	}
	for i, p := range []Params{
		{Max: 1}, {Epsilon: 1, Rho: 1, Max: 1}, {Epsilon: nan, Max: 1}, {Rho: -1, Max: 1}, {Rho: 1, Delta: 1e-6, Max: 1}, {Epsilon: 1, Delta: 1, Max: 1}, {Epsilon: 1, Delta: nan, Max: 1},
		{Epsilon: 1, Max: 1, Relation: 3},
		// ranges
		{Epsilon: 1, Min: 5, Max: 5}, {Epsilon: 1, Min: 5, Max: 4}, {Epsilon: 1, Min: nan, Max: 1}, {Epsilon: 1, Max: math.Inf(1)}, {Epsilon: 1, Min: -0x1p201, Max: 1}, {Epsilon: 1, Max: 0x1p-201},
		{Epsilon: 1, Max: 1, TailIndex: 2}, {Epsilon: 1, Max: 1, Bound: 2}, {Epsilon: 1, Max: 1, Resolution: .1},
		// learned ranges
		{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Relation: budget.Replace}, {Epsilon: 1, TailIndex: 1}, {Epsilon: 1, TailIndex: nan}, {Epsilon: 1, Bound: -1}, {Epsilon: 1, Bound: 0x1p201},
		{Epsilon: 1, Bound: nan},
		// what is wanted
		{Epsilon: 1, Max: 1, Want: Variance}, {Epsilon: 1, Max: 1, Want: 9}, {Epsilon: 1, Want: Count, Relation: budget.Replace}, {Epsilon: 1, Max: 1, Want: Count},
		{Epsilon: 1, Min: -1, Want: Count}, {Epsilon: 1, Want: Count, Bound: 2}, {Epsilon: 1, Want: Sum},
		// rows
		{Epsilon: 1, Max: 1, Rows: 5}, {Epsilon: 1, Max: 1, Relation: budget.Replace, Rows: -1}, {Epsilon: 1, Max: 1, Relation: budget.Replace, Rows: tooMany},
	} {
		b, err := New(p)
		require.ErrorIs(t, err, ErrParams, "%d: %+v", i, p)
		require.Nil(t, b)
		quantiles := quantilesOf(p).normal()
		require.Equal(t, quantiles.validate() == nil, p.Guarantee().Promises(), "%+v", p)
	}
	require.Equal(t, budget.PureDP(1, budget.Row(budget.AddRemove)).String(), ages.Guarantee().String())
	require.Equal(t, budget.ZCDP(2, budget.Row(budget.Replace)).String(), Params{Rho: 2, Max: 1, Relation: budget.Replace}.Guarantee().String())
}

// Values become integers in range, next to where they are; clamped, with NaN at a fixed place.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, ends := range [][2]float64{{0, 100}, {-1, 1}, {1e15, 1e15 + 1}, {-0x1p200, 0x1p200}, {0, 0x1p-200}, {-3, -2}, {0x1p200 - 0x1p148, 0x1p200}} {
		for _, only := range []Statistic{0, Sum} {
			p := Params{Epsilon: 1, Min: ends[0], Max: ends[1], Want: only}.normal()
			require.NoError(t, p.validate())
			g := p.grid(half)
			require.Zero(t, g.place(math.NaN()))
			require.Equal(t, g.place(p.Max), g.place(math.Inf(1)))
			require.Equal(t, g.place(p.Min), g.place(math.Inf(-1)))
			if only == 0 {
				require.EqualValues(t, half, g.place(p.Max))
				require.EqualValues(t, -half, g.place(p.Min))
			}
			for range 200 {
				x := min(p.Min+(p.Max-p.Min)*rng.Float64(), p.Max)
				tau := g.place(x)
				require.LessOrEqual(t, max(tau, -tau), int64(half))
				back := g.middle + g.unit*float64(tau)/half
				require.InDelta(t, 0, (back-x)/g.unit, 1.01*rounding+0x1p-51*(math.Abs(p.Min)+math.Abs(p.Max))/g.unit)
			}
		}
	}
	g := grid{half: half}
	require.Zero(t, g.place(5))
	g.factor = math.NaN()
	require.Zero(t, g.place(5))
}

// NaN, a missing value, is no row, whatever is released. Where the number of rows is public it is
// one: the middle of the interval. (It once counted as the middle, or as 0: with half of the values
// missing and the others 30, in a range up to 10⁶, the mean was 249,926.)
func TestNaNIsNoRow(t *testing.T) {
	nan, none := math.NaN(), math.Float64frombits(0xfff8000000000001)
	for _, p := range []Params{
		{Epsilon: 1, Max: 1e6}, {Epsilon: 1, Min: 20, Max: 1e6, Want: Mean}, {Epsilon: 1, Min: 20, Max: 30, Want: Sum}, {Epsilon: 1, Want: Count}, {Rho: 1, Max: 1e6},
		{Epsilon: 1, Delta: 1e-6, Max: 1e6}, {Epsilon: 1}, {Rho: 1, Bound: 100},
	} {
		want, got := privateBytes(t, builder(t, p, 30, 40, 50)), privateBytes(t, builder(t, p, nan, 30, 40, none, 50, nan))
		require.Equal(t, want, got, "%+v", p)
		if p.Want != 0 {
			continue
		}
		want = dptest.OK(quantileBuilder(t, dptest.OK(p.withLevels([]float64{0.5}))(t), 30, 40, 50).AppendPrivateState(nil))(t)
		got = dptest.OK(quantileBuilder(t, dptest.OK(p.withLevels([]float64{0.5}))(t), nan, 30, 40, none, 50).AppendPrivateState(nil))(t)
		require.Equal(t, want, got, "%+v", p)
	}
	for _, p := range []Params{{Epsilon: 1, Min: 20, Max: 40, Relation: budget.Replace}, {Rho: 1, Min: 20, Max: 40, Relation: budget.Replace, Want: Mean}} {
		require.Equal(t, privateBytes(t, builder(t, p, 25, 30, 30)), privateBytes(t, builder(t, p, nan, 25, none)))
	}
	p := dptest.OK(Params{Epsilon: 1, Min: 20, Max: 40, Relation: budget.Replace}.withLevels([]float64{0.5}))(t)
	want := dptest.OK(quantileBuilder(t, p, 25, 30, 30).AppendPrivateState(nil))(t)
	require.Equal(t, want, dptest.OK(quantileBuilder(t, p, nan, 25, none).AppendPrivateState(nil))(t))
}

// What hardly protects anybody says so, wherever it is printed.
func TestHardlyAnyProtection(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1000, Max: 1}, {Epsilon: 1, Delta: 0.5, Max: 1}, {Rho: 500}, {Epsilon: 1, Max: 1}} {
		plan, quantiles := dptest.OK(p.Plan())(t), dptest.OK(dptest.OK(NewQuantiles(p, 0.5))(t).Release())(t)
		for _, text := range []string{plan.String(), released(t, p).String(), quantiles.String(), p.Guarantee().String()} {
			require.Equal(t, p.Epsilon != 1 || p.Delta > 0, strings.Contains(text, "hardly any protection"), text)
		}
	}
}

// The state is a function of the rows: order and shards leave no trace.
func TestShardsAreTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 7, 7}
	for range 1000 {
		values = append(values, 130*rng.Float64()-10)
	}
	shuffled := slices.Clone(values)
	rng.Shuffle(len(values), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, p := range []Params{ages, {Epsilon: 1, Bound: 1e6}} {
		a, b, c := builder(t, p, shuffled[:300]...), builder(t, p, shuffled[300:301]...), builder(t, p, shuffled[301:]...)
		require.NoError(t, c.Merge(a))
		require.NoError(t, c.Merge(b))
		require.Equal(t, privateBytes(t, builder(t, p, values...)), privateBytes(t, c))
		require.True(t, a.Released() && b.Released())
		again, other := builder(t, p, 50), p
		other.Epsilon++
		dptest.Restores(t, c, again, func() { again.Add(3) }, builder(t, other), quantileBuilder(t, quartiles))
	}
	a, b := quantileBuilder(t, quartiles, shuffled[300:]...), quantileBuilder(t, quartiles, shuffled[:300]...)
	require.NoError(t, a.Merge(b))
	require.Equal(t, heldCounts(quantileBuilder(t, quartiles, values...)).cells, heldCounts(a).cells)
	require.True(t, b.Released())
}

func TestReleaseOnce(t *testing.T) {
	var others []*Builder
	for _, change := range []func(*Params){
		func(p *Params) { p.Epsilon++ }, func(p *Params) { p.Max++ }, func(p *Params) { p.Min-- }, func(p *Params) { p.Want = Mean },
		func(p *Params) { p.Want = Sum }, func(p *Params) { p.Delta = 1e-6 }, func(p *Params) { p.Relation = budget.Replace }, func(p *Params) { p.Epsilon, p.Rho = 0, 1 },
	} {
		other := ages
		change(&other)
		others = append(others, builder(t, other, 9))
	}
	dptest.Builder(t, func() *Builder { return builder(t, ages, 1, 2) }, func(b *Builder) { b.Add(1) }, others...)
	coarse := quartiles
	coarse.Resolution = 1
	dptest.Builder(t, func() *QuantileBuilder { return quantileBuilder(t, quartiles, 1, 2) }, func(b *QuantileBuilder) { b.Add(1) }, quantileBuilder(t, coarse, 5))
	b, q := builder(t, ages, 1, 2), quantileBuilder(t, quartiles, 1, 2)
	require.True(t, b.Guarantee().Equal(dptest.OK(b.Release())(t).Guarantee()))
	require.True(t, q.Guarantee().Equal(dptest.OK(q.Release())(t).Guarantee()))
}

// Under Replace the number of rows is public: that of the Params, or the Builder's.
func TestRows(t *testing.T) {
	p := Params{Epsilon: 1, Max: 1, Relation: budget.Replace, Rows: 3}
	b := builder(t, p, 1, 1)
	require.ErrorIs(t, dptest.Err(b.Release()), ErrMismatch)
	b.Add(1)
	s := dptest.OK(b.Release())(t)
	require.Equal(t, 3.0, s.Value(Count))
	p.Rows = 0
	s = released(t, p, 1, 0)
	lo, hi := s.Interval(Count, 0.9)
	require.True(t, s.Value(Count) == 2 && lo == 2 && hi == 2)
	s = released(t, p)
	require.True(t, s.Value(Count) == 0 && s.Value(Mean) >= 0 && s.Value(Mean) <= 1)
}

// What is not released has no value, nor has the zero Summary.
func TestNotReleased(t *testing.T) {
	check := func(s *Summary, has ...Statistic) {
		for of := Statistic(0); of <= StdDev+1; of++ {
			lo, hi := s.Interval(of, 0.9)
			released := false
			for _, x := range has {
				released = released || x == of
			}
			for _, x := range []float64{s.Value(of), lo, hi} {
				require.Equal(t, !released, math.IsNaN(x), "%v of %v", of, s)
			}
		}
		for _, confidence := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
			lo, hi := s.Interval(Count, confidence)
			require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
	check(new(Summary))
	check(nil)
	for _, p := range kinds() {
		s := released(t, p, 0.5, 1)
		switch {
		case p.only() != 0:
			check(s, p.only())
		case p.moments() == 1:
			check(s, Count, Sum, Mean)
		default:
			check(s, Count, Sum, Mean, Variance, StdDev)
		}
		require.Equal(t, p, s.Params())
	}
	var s Summary
	require.False(t, s.Guarantee().Promises())
	require.False(t, new(Builder).Guarantee().Promises())
	require.ErrorIs(t, dptest.Err(s.MarshalBinary()), ErrFormat)
	for p, text := range map[Params]string{
		{}: "column.Summary (empty)", {Rho: 1, Want: Count}: "column.Summary: a count, ρ = 1 (zCDP) for one row, added or removed",
		{Rho: 1, Max: 2, Want: Sum}: "a sum of values in [0, 2]", {Rho: 1, Max: 2, Want: Mean}: "count, sum and mean of", ages: "count, sum, mean and variance of values in [0, 100]",
	} {
		s := new(Summary)
		if p != (Params{}) {
			s = released(t, p)
		}
		require.Contains(t, s.String(), text)
	}
	require.Equal(t, "Variance", Variance.String())
}

func TestRedaction(t *testing.T) {
	b := builder(t, ages, 1)
	s := held(b)
	s.rows, s.first, s.second = 1_234_567_890_123, exact.Int128Of(9_876_543_210_987), exact.Int128Of(5_556_667_778_889)
	dptest.Redacted(t, b, "1234567890123", "9876543210987", "5556667778889")
	q := quantileBuilder(t, quartiles, 1)
	heldCounts(q).cells[1_234_567_890_123] = 9_876_543_210_987
	dptest.Redacted(t, q, "1234567890123", "9876543210987")
}

func TestReaders(t *testing.T) {
	dptest.Readers(t, released(t, ages, 1, 2, 3))
	dptest.Readers(t, releasedQuantiles(t, quartiles, 1, 2, 3))
}

// States that no rows have leave the receiver as it is; a state is no Summary.
func TestRestoreRejects(t *testing.T) {
	b := builder(t, ages, 1, 2, 3)
	data := privateBytes(t, b)
	for _, spoil := range []func(s *state){
		func(s *state) { s.rows = -1 }, func(s *state) { s.rows = maxRows + 1 }, func(s *state) { s.first = exact.Int128Of(4 * half) },
		func(s *state) { s.first = exact.Int128Of(-4 * half) }, func(s *state) { s.second = exact.Int128Of(-1) }, func(s *state) { s.second.Hi = 1 },
	} {
		other := builder(t, ages, 1, 2, 3)
		spoil(held(other))
		require.ErrorIs(t, b.RestorePrivateState(privateBytes(t, other)), ErrFormat)
	}
	require.Equal(t, data, privateBytes(t, b))
	var s Summary
	require.ErrorIs(t, s.UnmarshalBinary(data), ErrFormat, "private state is no release")
	release := dptest.OK(released(t, ages, 1).MarshalBinary())(t)
	require.ErrorIs(t, b.RestorePrivateState(release), ErrFormat)
}
