package distinct

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// pair returns releases of two sets of given sizes with fresh seeds.
func pair(t testing.TB, p Params, rng *rand.Rand, onlyA, onlyB, both int) (a, b *Sketch) {
	p.Seed = hashing.NewSeed()
	x, y := builder(t, p), builder(t, p)
	for i := range onlyA + onlyB + both {
		key := rng.Uint64()
		if i < onlyA || i >= onlyA+onlyB {
			x.Add(key)
		}
		if i >= onlyA {
			y.Add(key)
		}
	}
	var err error
	a, err = x.Release()
	require.NoError(t, err)
	b = dptest.OK(y.Release())(t)
	return a, b
}

// modelOf is what Compare computes with.
func modelOf(a, b *Sketch) *model {
	m := &model{flips: [2]float64{a.flipProb(), b.flipProb()}, curve: bareCurve(a.params)}
	for i, s := range []*Sketch{a, b} {
		c := s.count()
		m.ones[i], m.noise[i] = c.ones, c.variance
	}
	m.observe(a, b)
	return m
}

// The law of the shown patterns is that of the true ones and all flips.
func TestShownPatterns(t *testing.T) {
	m := model{flips: [2]float64{0.2, 0.35}}
	o := [4]float64{0.1, 0.2, 0.3, 0.4}
	var want [4]float64
	for y := range 4 {
		for flips := range 4 {
			mass := o[y]
			for i, bit := range []int{2, 1} { // A's bit, then B's
				if flips&bit != 0 {
					mass *= m.flips[i]
				} else {
					mass *= 1 - m.flips[i]
				}
			}
			want[y^flips] += mass
		}
	}
	require.InDeltaSlice(t, want[:], func() []float64 { q := m.shown(o); return q[:] }(), 1e-15)
}

// The information and the score are those of generalised least squares with the whole covariance
// matrix of all patterns and both counts, derivatives by differences.
func TestFitIsGeneralisedLeastSquares(t *testing.T) {
	p := Params{Epsilon: 1.5, Cells: 300, Levels: 5, CountShare: 0.2, Seed: hashing.Seed{1}}
	a, b := pair(t, p, rand.New(rand.NewPCG(3, 4)), 400, 700, 300)
	m := modelOf(a, b)
	theta := vector{350, 720, 330}
	n, size := m.curve.cells, 3*p.Levels+2
	mean := func(theta vector) []float64 {
		all, last := make([]float64, size), size-2
		for i, l := range m.curve.log[:p.Levels] {
			at := m.level(theta, l)
			for y := range 3 {
				all[3*i+y] = n * at.q[y]
			}
			all[last] += n * (1 - at.a)
			all[last+1] += n * (1 - at.b)
		}
		return all
	}
	cov, off := mat.NewSymDense(size, nil), mat.NewVecDense(size, nil)
	expected := mean(theta)
	add := func(i, j int, x float64) { cov.SetSym(i, j, cov.At(i, j)+x) }
	for i, l := range m.curve.log[:p.Levels] {
		at := m.level(theta, l)
		withCount := m.covariances(&at)
		for y := range 3 {
			for w := y; w < 3; w++ {
				add(3*i+y, 3*i+w, -n*at.q[y]*at.q[w])
			}
			add(3*i+y, 3*i+y, n*at.q[y])
			add(3*i+y, size-2, n*withCount[0][y])
			add(3*i+y, size-1, n*withCount[1][y])
			off.SetVec(3*i+y, m.patterns[i][y]-expected[3*i+y])
		}
		add(size-2, size-2, n*at.a*(1-at.a))
		add(size-1, size-1, n*at.b*(1-at.b))
		add(size-2, size-1, n*(at.e-at.a*at.b)) // of the empty cells, as of the others
	}
	add(size-2, size-2, m.noise[0])
	add(size-1, size-1, m.noise[1])
	off.SetVec(size-2, m.ones[0]-expected[size-2])
	off.SetVec(size-1, m.ones[1]-expected[size-1])
	slopes := mat.NewDense(size, 3, nil)
	for k := range 3 {
		const h = 1e-3
		up, down := theta, theta
		up[k] += h
		down[k] -= h
		above, below := mean(up), mean(down)
		for i := range above {
			slopes.Set(i, k, (above[i]-below[i])/(2*h))
		}
	}
	var inverse, weighted, information mat.Dense
	require.NoError(t, inverse.Inverse(cov))
	weighted.Mul(slopes.T(), &inverse)
	information.Mul(&weighted, slopes)
	var want mat.VecDense
	want.MulVec(&weighted, off)
	info, score := m.linear(theta)
	for k := range 3 {
		require.InDelta(t, want.AtVec(k), score[k], 1e-6*math.Abs(want.AtVec(k))+1e-9)
		for j := range 3 {
			require.InEpsilon(t, information.At(k, j), info[k][j], 1e-6)
		}
	}
	again, ok := info.inverse()
	require.True(t, ok)
	for k := range 3 {
		column := info.times(again[k])
		for j := range 3 {
			require.InDelta(t, map[bool]float64{true: 1}[j == k], column[j], 1e-9)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	a, b := released(t, small, run(0, 100)...), released(t, small, run(50, 150)...)
	dptest.OK(Compare(a, b))(t)
	whole := small
	whole.CountShare = 1
	var others []*Sketch
	for _, change := range []func(*Params){func(p *Params) { p.Cells++ }, func(p *Params) { p.Levels-- }, func(p *Params) { p.Seed[3]++ }} {
		other := small
		change(&other)
		others = append(others, released(t, other, 1))
	}
	again, _ := dptest.RoundTrip(t, a)
	for _, other := range append(others, nil, &Sketch{}, released(t, whole, 1), a, again) {
		require.ErrorIs(t, dptest.Err(Compare(a, other)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(Compare(other, a)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(Union(a, other)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(Union(a, b, other)), ErrMismatch)
	}
	other := small
	other.Epsilon, other.CountShare = 3, 0.4
	c := dptest.OK(Compare(a, released(t, other, run(50, 150)...)))(t, "parties choose their own ε")
	require.NotContains(t, c.String(), "NaN")
	require.ErrorIs(t, dptest.Err(Union()), ErrParams)
	require.ErrorIs(t, dptest.Err(Union(&Sketch{})), ErrMismatch)
}

// within checks that the estimates are within what those of A and B leave possible, the intervals
// around them, and nothing infinite; and returns the comparison.
func within(t testing.TB, a, b *Sketch, confidences ...float64) *kor.Comparison {
	c := dptest.OK(Compare(a, b))(t)
	sizeA, sizeB := max(a.Estimate(), 0), max(b.Estimate(), 0)
	slack := 1e-9 * (1 + sizeA + sizeB)
	union, both := c.Union().Estimate(), c.Intersection().Estimate()
	require.True(t, max(sizeA, sizeB)-slack <= union && union <= sizeA+sizeB+slack, "%v of %v and %v", c, sizeA, sizeB)
	require.True(t, 0 <= both && both <= min(sizeA, sizeB)+slack, "%v of %v and %v", c, sizeA, sizeB)
	require.InDelta(t, union, c.OnlyA().Estimate()+c.OnlyB().Estimate()+both, slack)
	for of := sets.Union; of <= sets.OnlyB; of++ {
		e := sized(c, of).Estimate()
		require.True(t, e >= -slack && !math.IsInf(e, 0) && sized(c, of).StdErr() >= 0, "%v", c)
		for _, confidence := range confidences {
			lo, hi := sized(c, of).Interval(confidence)
			require.True(t, -slack <= lo && lo <= e+slack && e <= hi+slack, "%v: %v in [%v, %v] at %v", of, e, lo, hi, confidence)
		}
	}
	return c
}

// Of sets of all sizes, none included, and far beyond Largest too, with noise that leaves nothing
// or hardly any, what is told is within its range; and the truth is in intervals of confidence 1 −
// 1e-9.
func TestComparisonsStayWithin(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct {
		epsilon, share float64
		cells, levels  int
		sets           [3]int
	}{
		{1, 0.125, 256, 8, [3]int{0, 0, 1000}}, {1, 0.1, 256, 8, [3]int{}}, {4, 0.1, 64, 6, [3]int{3, 500, 0}}, {4, 0.1, 64, 6, [3]int{500, 500, 0}},
		{20, 0.5, 64, 1, [3]int{16, 0, 0}}, {20, 0.5, 64, 10, [3]int{1000, 0, 5}}, {20, 0.5, 64, 4, [3]int{}}, {44, 0.9, 2048, 6, [3]int{}},
		{44, 0.9, 2048, 6, [3]int{0, 0, 30}}, {20, 0.5, 64, 1, [3]int{2000, 10, 0}}, {0.1, 0.5, 64, 2, [3]int{10, 0, 10}}, {4, 0.02, 64, 2, [3]int{5000, 0, 5000}},
		{1e-3, 0.5, 64, 4, [3]int{100, 0, 50}}, {0x1p-28, 0.5, 64, 4, [3]int{1, 0, 1}}, {0.1, 0.05, 256, 8, [3]int{10, 900, 10}},
	} {
		p := Params{Epsilon: c.epsilon, Cells: c.cells, Levels: c.levels, CountShare: c.share, Seed: hashing.Seed{1}}
		union := float64(c.sets[0] + c.sets[1] + c.sets[2])
		for range dptest.Full(60, 8) {
			a, b := pair(t, p, rng, c.sets[0], c.sets[1], c.sets[2])
			told := within(t, a, b, 0, 0.5, 0.95, 1-1e-9, 1-0x1p-53)
			for of, truth := range map[int]float64{sets.Union: union, sets.Intersection: float64(c.sets[2])} {
				lo, hi := sized(told, of).Interval(1 - 1e-9)
				require.True(t, lo <= truth && truth <= hi || c.epsilon > 4, "%v: [%v, %v], %v of %v", c, lo, hi, truth, of)
			}
			also := dptest.OK(Union(a, b))(t)
			require.Equal(t, told.Union().Estimate(), also.Estimate())
			both := dptest.OK(Compare(b, a))(t)
			require.InDelta(t, told.OnlyA().Estimate(), both.OnlyB().Estimate(), 1e-3*(1+union))
			third := *b
			third.id = third.id.Derive(1)
			also = dptest.OK(Union(a, b, &third))(t)
			lo, hi := also.Interval(0.95)
			require.True(t, 0 <= lo && lo <= hi && math.IsNaN(also.Estimate()) == math.IsInf(also.StdErr(), 1))
		}
	}
	within(t, shown(8, 1, 7878310922938387717, 52), shown(8, 2, 7914917241258675509, 45), 0.95)
	within(t, shown(4, 1, 15563871314874398639, 34), shown(4, 2, 17282422625313746935, 28), 0.95)
}

// What Compare reaches at n = 2048, by the default the short form of it: for |A|, |B| and |A∩B| the
// root of the mean square error of A∩B and A∪B, and the mean width of their intervals at .95. The
// coverage is at least .94 for all parts, to three standard errors; and where all parts are clear
// of 0 intervals are at most 3 % wider than those by the standard error. Of 1000 keys in 300,000
// half is known to 20, by chance, and none or all to 500. At ε ≤ ½ the bits tell nothing of
// these sets, and half of |A| is the estimate: its error is half of Plan.StdErr of A, 166 and 33.5
// at ε = .1 and ½, and that of A∪B is Plan.StdErr of B, 29,100.
func TestCompareTable(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 2)
	runs := deep(1500, dptest.Full(120, 24))
	rng := rand.New(rand.NewPCG(25, 26))
	for i, c := range []struct {
		a, b, both, cells                        int
		epsilon                                  float64
		rmseBoth, rmseUnion, wideBoth, wideUnion float64 // 0 where only the coverage counts
		regular                                  bool
	}{
		{1000, 300_000, 500, 2048, 1, 20, 5550, 1147, 24_200, false},
		{20_000, 20_000, 2000, 2048, 2, 537, 672, 2188, 2670, true},
		{1000, 1000, 500, 2048, 4, 11.6, 19.6, 47.8, 76.6, true},
		{1000, 300_000, 500, 2048, 0.1, 166, 29_100, 2614, 127_000, false},
		{1000, 300_000, 500, 2048, 0.5, 33.5, 7630, 1288, 33_200, false},
		{1000, 300_000, 500, 2048, 4, 94, 4620, 1022, 20_800, false},
		{20_000, 300_000, 20_000, 2048, 4, 1156, 4650, 3070, 17_700, false},
		{1000, 300_000, 0, 2048, 1, 498, 5460, 1143, 24_200, false},
		{1000, 300_000, 1000, 2048, 1, 497, 5270, 1150, 24_200, false},
		{100_000, 100_000, 0, 2048, 1, 8010, 8360, 17_500, 28_200, false},
		{100_000, 100_000, 50_000, 2048, 0.5, 15_700, 16_000, 81_800, 97_400, false},
		{20_000, 20_000, 20_000, 2048, 1, 1130, 1130, 3090, 3030, false},
		{20_000, 20_000, 2000, 512, 0.4, 7050, 7350, 25_600, 29_600, false},
		{20_000, 20_000, 2000, 2048, 0.3, 7030, 7040, 20_800, 23_400, false},
		{20_000, 20_000, 10_000, 2048, 4, 257, 369, 1031, 1485, true},
		{200, 200, 100, 64, 4, 0, 0, 0, 0, false},
		{200, 200, 100, 64, 0.1, 0, 0, 0, 0, false}, {200, 200, 100, 64, 1, 0, 0, 0, 0, false}, {200, 200, 0, 64, 4, 0, 0, 0, 0, false},
		{200, 200, 200, 64, 4, 0, 0, 0, 0, false}, {20, 200, 10, 64, 2, 0, 0, 0, 0, false}, {10, 10, 5, 64, 4, 0, 0, 0, 0, false},
		{0, 0, 0, 256, 1, 0, 0, 0, 0, false}, {2000, 2000, 1000, 64, 4, 0, 0, 0, 0, false},
	} {
		if i == 3 && !dptest.Long() {
			break
		}
		p := Params{Epsilon: c.epsilon, Cells: c.cells, Levels: 22, CountShare: 0.05}
		truths := [...]float64{sets.Union: float64(c.a + c.b - c.both), sets.Intersection: float64(c.both), sets.OnlyA: float64(c.a - c.both), sets.OnlyB: float64(c.b - c.both)}
		var all [sets.OnlyB + 1]figures
		var wide, stated [sets.OnlyB + 1]float64
		for range runs {
			a, b := pair(t, p, rng, c.a-c.both, c.b-c.both, c.both)
			told := dptest.OK(Compare(a, b))(t)
			for of, truth := range truths {
				lo, hi := sized(told, of).Interval(0.95)
				all[of].add(sized(told, of).Estimate(), truth, lo, hi)
				wide[of] += (hi - lo) / float64(runs)
				stated[of] += sized(told, of).StdErr() / float64(runs)
			}
		}
		n := float64(runs)
		t.Logf("%v: ∩ %.4g, ∪ %.5g, widths %.5g, %.5g, coverage %.3f %.3f %.3f %.3f", c, all[sets.Intersection].rmse(), all[sets.Union].rmse(),
			wide[sets.Intersection], wide[sets.Union], all[0].coverage(), all[1].coverage(), all[2].coverage(), all[3].coverage())
		for of, f := range all {
			require.GreaterOrEqual(t, f.coverage(), 0.94-4*math.Sqrt(0.06/n), "%v: %v", c, of)
			if c.regular {
				require.LessOrEqual(t, wide[of], 1.03*2*1.96*stated[of], "%v: %v", c, of)
			}
		}
		if c.rmseBoth > 0 {
			const off = 1.08
			require.LessOrEqual(t, all[sets.Intersection].rmse(), c.rmseBoth*(off+4/math.Sqrt(2*n)), "%v", c)
			require.LessOrEqual(t, all[sets.Union].rmse(), c.rmseUnion*(off+4/math.Sqrt(2*n)), "%v", c)
			require.GreaterOrEqual(t, stated[sets.Union], 0.6*all[sets.Union].rmse(), "%v", c)
			require.LessOrEqual(t, wide[sets.Intersection], c.wideBoth*(off+1.5/math.Sqrt(n)), "%v", c)
			require.LessOrEqual(t, wide[sets.Union], c.wideUnion*(off+1.5/math.Sqrt(n)), "%v", c)
		}
	}
}

// A union with a set that is smaller than the error of the other one's count: intervals by the
// deviation held .80 to .84 of the .95. With 600 runs a coverage of .95 is seen below .88 with
// probability below 1e-10.
func TestUnionWithASmallSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	p := Params{Epsilon: 4, Cells: 64, CountShare: 0.02}
	const runs = 600
	covered := 0
	for range runs {
		a, b := pair(t, p, rng, 20, 5000, 20)
		if lo, hi := dptest.OK(Compare(a, b))(t).Union().Interval(0.95); lo <= 5040 && 5040 <= hi {
			covered++
		}
	}
	dptest.Alarm(t, 1e-10)
	require.Greater(t, float64(covered)/runs, 0.88)
}
