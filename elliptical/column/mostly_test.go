package column

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// someOf returns n rows, of which some are drawn from one law and the rest from another, and the
// mean.
func someOf(n, some int, of, rest func() float64) (rows []float64, mean float64) {
	for i := range n {
		x := rest()
		if i < some {
			x = of()
		}
		rows, mean = append(rows, x), mean+x/float64(n)
	}
	return rows, mean
}

// holds counts the intervals at .95 that hold the mean.
func holds(t *testing.T, p Params, runs int, draw func() ([]float64, float64)) (n int64) {
	for range runs {
		rows, mean := draw()
		lo, hi := released(t, p, rows...).Interval(Mean, .95)
		if lo <= mean && mean <= hi {
			n++
		}
	}
	return n
}

// atLeast requires that the probability of so many hits of all may be the wanted one.
func atLeast(t *testing.T, want float64, hits int64, runs int) {
	t.Helper()
	const alarm = 3e-10
	_, upper := dptest.ClopperPearson(hits, int64(runs), 1-alarm)
	dptest.Alarm(t, alarm)
	require.GreaterOrEqual(t, upper, want, "%d of %d", hits, runs)
}

// Where the rows are too few for a range, its mean and sum are not a number, null in JSON, and
// never 10¹⁶; the ends that a Bound has are known. The number of rows is there.
func TestFewRowsHaveNoMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 400)) // test data
	for _, n := range []int{0, 50, 100, 200, 400} {
		for _, l := range []sampled{tuned[1], tuned[3], tuned[7], {"constant", func(*rand.Rand, int) float64 { return 5 }}} {
			for _, p := range []Params{{Epsilon: 1}, {Epsilon: 1, Bound: 1e6}} {
				rows, _ := l.rows(rng, n)
				s := released(t, p, rows...)
				dptest.Alarm(t, 1e-40) // 320 rows of noise
				require.True(t, math.IsNaN(s.Value(Mean)) && math.IsNaN(s.Value(Sum)) && math.IsInf(s.StdErr(Mean), 1))
				require.InDelta(t, n, s.Value(Count), 100)
				lo, hi := s.Interval(Mean, .95)
				end := math.Inf(1)
				if p.Bound > 0 {
					end = p.Bound
				}
				require.True(t, lo >= -end && hi <= end && lo < hi && (p.Bound > 0 || math.IsInf(lo, -1) && math.IsInf(hi, 1)), "%v of %d rows: [%v, %v]", l.name, n, lo, hi)
				from, to := s.Range()
				require.True(t, math.IsNaN(from) && math.IsNaN(to) && len(s.Tail()) == 0)
				var shown struct{ Mean, Sum, Count struct{ Estimate *float64 } }
				require.NoError(t, json.Unmarshal(dptest.OK(json.Marshal(s))(t), &shown))
				require.True(t, shown.Mean.Estimate == nil && shown.Sum.Estimate == nil && shown.Count.Estimate != nil)
			}
		}
	}
}

// Longitudes of zip codes: 31 rows far on the other side are not seen. With the Bound of 180 the
// interval holds the mean as it does without, and is no longer.
func TestABoundNeverHurts(t *testing.T) {
	runs := dptest.Full(200, 40)
	rng := rand.New(rand.NewPCG(1, 80)) // test data
	draw := func() ([]float64, float64) {
		return someOf(41_751, 451, func() float64 {
			if rng.IntN(451) < 31 {
				return 134 + 32*rng.Float64()
			}
			return -157 + rng.NormFloat64()
		}, func() float64 {
			for {
				if x := -90 + 15*rng.NormFloat64(); x > -125 && x < -67 {
					return x
				}
			}
		})
	}
	for _, p := range []Params{{Epsilon: 1}, {Epsilon: 1, Bound: 180}} {
		hits := holds(t, p, runs, draw)
		t.Logf("%+v: %d of %d", p, hits, runs)
		atLeast(t, .95, hits, runs)
	}
	rows, _ := draw()
	width := func(p Params) float64 { // the median of eleven: 2.3 with the Bound, 3.4 without
		var widths []float64
		for range 11 {
			lo, hi := released(t, p, rows...).Interval(Mean, .95)
			widths = append(widths, hi-lo)
		}
		return slices.Sorted(slices.Values(widths))[5]
	}
	dptest.Alarm(t, 1e-9)
	require.Less(t, width(Params{Epsilon: 1, Bound: 180}), 1.05*width(Params{Epsilon: 1}))
	s := released(t, Params{Epsilon: 1, Bound: 180}, rows...)
	lo, hi := s.Interval(Mean, .95)
	from, to := s.IntervalBounded(Mean, .995)
	require.True(t, lo >= from && hi <= to)
}

// 209 rows of 10,000 are not 0, and their mean is 4055: nothing else says where they are. Mean and
// interval are about right, and so are those of a share of 1 % that hardly is above the noise.
func TestMostlyZero(t *testing.T) {
	runs := dptest.Full(300, 60)
	rng := rand.New(rand.NewPCG(209, 4055)) // test data
	for _, some := range []func() float64{lognormal(rng, 4055/math.Exp(.5), 1), lognormal(rng, 4055/math.Exp(.125), .5), constant(4055)} {
		within, held := int64(0), int64(0)
		for range runs {
			rows, mean := someOf(10_000, 209, some, constant(0))
			s := released(t, Params{Epsilon: 1}, rows...)
			if math.Abs(s.Value(Mean)/mean-1) < .35 {
				within++
			}
			if lo, hi := s.Interval(Mean, .95); lo <= mean && mean <= hi {
				held++
			}
		}
		t.Logf("%d within 35 %%, %d held of %d", within, held, runs)
		atLeast(t, .98, within, runs)
		atLeast(t, .98, held, runs)
	}
	// Bird strikes, of which 2.1 % cost anything, exp(N(8, 2.5²)): these do not thin out at what is
	// seen, so most intervals have no upper end. (.88 at ρ = ½ before that asked more of few rows.)
	for _, p := range []Params{{Epsilon: 1}, {Rho: .5}} {
		hits := holds(t, p, runs, func() ([]float64, float64) { return someOf(10_000, 210, lognormal(rng, math.Exp(8), 2.5), constant(0)) })
		t.Logf("strikes, %v: %d of %d", p.Guarantee(), hits, runs)
		atLeast(t, .94, hits, runs)
	}
	aside := 0
	for range 30 { // 70 % zeros: the centre is 0, but for 13 of 20,000 releases
		rows, _ := someOf(1000, 300, rng.ExpFloat64, constant(0))
		if released(t, Params{Epsilon: 1}, rows...).found.centre != 0 {
			aside++
		}
	}
	dptest.Alarm(t, 1e-11)
	require.Less(t, aside, 7)
}

// Of 1000 rows some ten have another value than the others, 30 have any, or 20 are large refunds
// among invoices: the error is 1.2, 1.2 and .49 sampling errors (it was 2.0, 2.3 and .72), that of
// package plan, with a private number of rows too, .8 to 1.3, 1.47 and .43 to .45. plan misses the
// ten in one release of a hundred, and then by all of them; it has no interval that holds.
func TestFewRowsAside(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 70)
	rng := rand.New(rand.NewPCG(70, 71)) // test data
	const n = 1000
	m := dptest.OK(plan.New(plan.Params{Rho: .5, Dim: 1, Max: 1e6}))(t)
	for _, c := range []struct {
		of         sampled
		most, plan float64
	}{{tuned[12], 1.4, 1.3}, {unseen[7], 1.4, 1.1}, {own[2], .58, 1.2}} {
		runs := dptest.Full(3000, 300)
		squares, peer, held := 0.0, 0.0, int64(0)
		for range runs {
			rows, mean := c.of.rows(rng, n)
			unit := stat.StdDev(rows, nil) / math.Sqrt(n)
			s := released(t, Params{Rho: .5}, rows...)
			squares += math.Pow((s.Value(Mean)-mean)/unit, 2) / float64(runs)
			if lo, hi := s.Interval(Mean, .95); lo <= mean && mean <= hi {
				held++
			}
			if dptest.Long() {
				p := dptest.OK(m.Release(context.Background(), slices.Collect(slices.Chunk(rows, 1))))(t)
				peer += math.Pow((p.Estimate(0)-mean)/unit, 2) / float64(runs)
			}
		}
		t.Logf("%s: %.2f sampling errors, held %d of %d; plan %.2f", c.of.name, math.Sqrt(squares), held, runs, math.Sqrt(peer))
		require.Less(t, math.Sqrt(squares), c.most)
		atLeast(t, .95, held, runs)
		require.True(t, !dptest.Long() || squares < c.plan*c.plan*peer)
	}
}

// A column of one value has a short interval, also where the cell of the centre is not that value;
// and no column of nearly one value is off by more than ten means.
func TestConstantColumns(t *testing.T) {
	for _, x := range []float64{5, -math.Pi, 1e9 + 1./3} {
		for _, p := range []Params{{Epsilon: 1}, {Rho: .5}} {
			s := released(t, p, slices.Repeat([]float64{x}, 20_000)...)
			const miss = 1e-10
			dptest.Alarm(t, 2*miss)
			lo, hi := s.Interval(Mean, 1-miss)
			require.True(t, lo <= x && x <= hi, "%v in [%v, %v]", x, lo, hi)
			require.InEpsilon(t, x, s.Value(Mean), 1e-4)
			widest := 0.0
			for range 5 {
				s := released(t, p, slices.Repeat([]float64{x}, 20_000)...)
				lo, hi := s.Interval(Mean, .95)
				widest = max(widest, hi-lo)
				if hi-lo < .1*math.Abs(x) {
					break
				}
				widest = 0
			}
			require.Greater(t, widest, 0.0)
		}
	}
	for range 10 { // rows that noise hides may be as far from the others as 0 is
		rows, mean := someOf(20_000, 10, constant(9), constant(5))
		const miss = 1e-10
		lo, hi := released(t, Params{Epsilon: 1}, rows...).Interval(Mean, 1-miss)
		dptest.Alarm(t, miss)
		require.True(t, lo <= mean && mean <= hi, "%v in [%v, %v]", mean, lo, hi)
	}
	cryptotest.SetGlobalRandom(t, 99)
	rng := rand.New(rand.NewPCG(99, 100)) // test data
	for _, p := range []Params{{Epsilon: 1}, {Rho: .5}} {
		for _, l := range []struct{ some, rest func() float64 }{{constant(5), constant(5)}, {rng.ExpFloat64, constant(0)}, {constant(1), constant(0)}} {
			rows, mean := someOf(1000, 10, l.some, l.rest)
			absurd, runs := 0, dptest.Full(17_000, 300)
			for range runs {
				if x := released(t, p, rows...).Value(Mean); math.Abs(x-mean) > 10*mean {
					t.Logf("%v: %v for %v", p, x, mean)
					absurd++
				}
			}
			require.Zero(t, absurd, "of %d", runs)
		}
	}
}

// At the n·ε that the page asks for, 40 rows far out of 2000, and 50 of 5000, are too few to change
// the mean, and the interval allows for them: it held .02 and .00 of the means.
func TestHiddenShare(t *testing.T) {
	runs := dptest.Full(1000, 100)
	rng := rand.New(rand.NewPCG(40, 50)) // test data
	few := map[int]int{2000: 40, 5000: 50}
	for n, x := range map[int]float64{2000: 300, 5000: 1e5} {
		hits := holds(t, Params{Epsilon: 1}, runs, func() ([]float64, float64) { return someOf(n, few[n], constant(x), rng.NormFloat64) })
		t.Logf("%d rows: %d of %d", n, hits, runs)
		atLeast(t, .94, hits, runs)
	}
}

// One salary of 40 million is a third of the mean of 2000. Nothing private sees it: the interval is
// about the others, and String and JSON say so; that for all values up to a Bound holds.
func TestOneHiddenRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(59, 40)) // test data
	rows, mean := someOf(2000, 1, constant(4e7), lognormal(rng, 36_000, .5))
	_, others := someOf(1999, 0, nil, func() float64 { return rows[1+rng.IntN(1999)] })
	for _, p := range []Params{{Epsilon: 1}, {Rho: .5}, {Epsilon: 1, Bound: 1e8}} {
		s := released(t, p, rows...)
		const miss = 1e-10
		lo, hi := s.IntervalBounded(Mean, 1-miss)
		dptest.Alarm(t, 2*miss)
		require.True(t, lo <= mean && mean <= hi)
		require.InEpsilon(t, others, s.Value(Mean), .2)
		lo, hi = s.Interval(Mean, 1-miss)
		require.True(t, lo < others && others < hi)
		require.Contains(t, s.String(), "intervals for all values if they thin out like a Pareto tail of index 1.5")
		require.Contains(t, string(dptest.OK(json.Marshal(s))(t)), `"about":"all values if they thin out`)
	}
	require.Contains(t, string(dptest.OK(json.Marshal(released(t, ages, 3)))(t)), `"about":"values clamped to [0, 100]"`)
	require.NotContains(t, string(dptest.OK(json.Marshal(released(t, Params{Epsilon: 1, Want: Count}, 3)))(t)), "about")
}

// n rows at once are n rows; fewer than none are none, and NaN is no row.
func TestAddN(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Min: -4, Max: 9}, {Rho: 1}, {Epsilon: 1, Min: -4, Max: 9, Relation: 2}} {
		a, b := builder(t, p), builder(t, p)
		for _, x := range []float64{3, -2.5, 100, math.Inf(-1), math.NaN(), 0} {
			for _, n := range []int{3, 0, -7, math.MinInt, 70} {
				a.AddN(x, n)
				for range n {
					b.Add(x)
				}
			}
		}
		require.Equal(t, privateBytes(t, b), privateBytes(t, a))
	}
	c, d := quantileBuilder(t, quartiles), quantileBuilder(t, quartiles)
	c.AddN(2.5, 12)
	c.AddN(2.5, -12)
	c.AddN(math.NaN(), 4)
	for range 12 {
		d.Add(2.5)
	}
	require.Equal(t, heldCounts(d).cells, heldCounts(c).cells)
	new(Builder).AddN(1, 1)
	new(QuantileBuilder).AddN(1, 1)
	if math.MaxInt > mostAtOnce { // on 64 bits
		huge, ranks := builder(t, Params{Epsilon: 1, Min: -4, Max: 9}), quantileBuilder(t, quartiles)
		huge.AddN(9, math.MaxInt)
		ranks.AddN(9, math.MaxInt)
		_, err := huge.Release()
		require.ErrorContains(t, err, "rows at once")
		_, err = ranks.Release()
		require.ErrorContains(t, err, "rows at once")
	}
	kept := builder(t, Params{Epsilon: 1})
	kept.AddN(9, mostKeptAtOnce+1)
	_, err := kept.Release()
	require.ErrorContains(t, err, "rows at once")
}

// A row more adds 1 to the weight of one place, wherever it is and whatever 0 weighs, as the proof
// of a draw asks, and places are those of the cell; dealing out without a carry is no such rule.
func TestCandidates(t *testing.T) {
	axis := rank.Linear(-2, 2, 1)
	c := candidatesOf(&axis)
	for place := range 2 * axis.Cells() {
		cell := c.cell(place)
		require.True(t, cell >= 0 && cell < axis.Cells())
		require.Equal(t, place >= c.zero && place <= c.zero+c.extra, cell == axis.Cell(0))
	}
	weights := func(rows []int64, spread func(cells []quantile.Cell) []quantile.Cell) map[uint32]int64 {
		var cells []quantile.Cell
		for cell, n := range rows {
			cells = append(cells, quantile.Cell{Index: uint32(cell), Weight: n})
		}
		all, last := map[uint32]int64{}, int64(-1)
		for _, place := range spread(cells) {
			require.Greater(t, int64(place.Index), last)
			last = int64(place.Index)
			all[place.Index] = place.Weight
		}
		return all
	}
	changed := func(spread func(cells []quantile.Cell) []quantile.Cell) (most int64) {
		for n := range int64(40) {
			for cell := range 5 {
				rows := []int64{1, 0, n, 2, 7}
				before := weights(rows, spread)
				rows[cell]++
				after, total := weights(rows, spread), int64(0)
				for place, w := range after {
					total += max(w-before[place], before[place]-w)
				}
				most = max(most, total)
			}
		}
		return most
	}
	require.EqualValues(t, 1, changed(c.spread))
	require.Greater(t, changed(func(cells []quantile.Cell) []quantile.Cell {
		places := c.spread(cells)
		for i, p := range places {
			if at := int64(p.Index); at >= c.zero && at <= c.zero+c.extra {
				places[i].Weight = cells[c.zero].Weight / (c.extra + 1)
			}
		}
		return places
	}), int64(1))
}
