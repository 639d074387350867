package distinct

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sizes"
	"github.com/dpsketch/dpsketch/kor"
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
	b, err = y.Release()
	require.NoError(t, err)
	return a, b
}

// modelOf is what Compare computes with.
func modelOf(a, b *Sketch) *model {
	m := &model{flips: [2]float64{a.flipProb(), b.flipProb()}, curve: bareCurve(a.params)}
	for i, s := range []*Sketch{a, b} {
		c := s.count()
		m.ones[i], m.noise[i] = float64(s.ones), c.variance
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

// Estimates of all parts are close to unbiased, have the stated error and cover, for sets that are
// equal, overlap or are disjoint.
//
// With 250 runs the mean square of normal errors is off by 80 %, a coverage of .92 is seen below
// .72, and the mean is off by 7 standard errors each with probability below 1e-10. The long tests
// are sharper.
func TestCompareAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := Params{Epsilon: 3, Cells: 256, Levels: 8, CountShare: 0.1, Seed: hashing.Seed{1}}
	const runs = 250
	for _, sets := range [][3]int{{0, 0, 1500}, {800, 0, 700}, {500, 500, 500}, {700, 800, 0}} {
		truth := map[int]float64{
			sizes.Union: float64(sets[0] + sets[1] + sets[2]), sizes.Intersection: float64(sets[2]), sizes.OnlyA: float64(sets[0]), sizes.OnlyB: float64(sets[1]),
		}
		squares, stated, covered, sum := map[int]float64{}, map[int]float64{}, map[int]int{}, map[int]float64{}
		for range runs {
			a, b := pair(t, p, rng, sets[0], sets[1], sets[2])
			c, err := Compare(a, b)
			require.NoError(t, err)
			require.InDelta(t, c.Union().Estimate(), c.OnlyA().Estimate()+c.OnlyB().Estimate()+c.Intersection().Estimate(), 1e-6)
			for of, want := range truth {
				e := sized(c, of).Estimate() - want
				squares[of] += e * e
				sum[of] += e
				stated[of] += sized(c, of).StdErr() * sized(c, of).StdErr()
				if lo, hi := sized(c, of).Interval(0.95); lo <= want && want <= hi {
					covered[of]++
				}
			}
		}
		for of := range truth {
			dptest.Alarm(t, 3e-10)
			require.InDelta(t, 1, squares[of]/stated[of], 0.9, "%v %v", sets, of)
			require.Greater(t, float64(covered[of])/runs, 0.72, "%v %v", sets, of)
			require.Less(t, math.Abs(sum[of])/runs, (7/math.Sqrt(runs)+0.15)*math.Sqrt(stated[of]/runs), "%v %v", sets, of)
		}
	}
}

// The estimate is the zero of the score wherever there is a standard error, for sets of all sizes;
// and there is one, but for one comparison in 300, wherever both sets are within Largest and the
// noise is small beside Cells. That 40 in 1,400 have none has a probability below 1e-10.
func TestCompareSolves(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	unknown := 0
	for _, c := range []struct {
		epsilon, share float64
		cells, levels  int
		sets           [3]int
		within         bool
	}{
		{1, 0.125, 256, 8, [3]int{0, 0, 1000}, true}, {1, 0.125, 256, 8, [3]int{0, 0, 4000}, true}, {1, 0.1, 256, 8, [3]int{}, true},
		{2, 0.05, 256, 4, [3]int{0, 300, 300}, true}, {4, 0.1, 64, 6, [3]int{3, 500, 0}, true}, {4, 0.1, 64, 6, [3]int{500, 500, 0}, true},
		{20, 0.5, 64, 1, [3]int{16, 0, 0}, true}, {20, 0.5, 64, 10, [3]int{1000, 0, 5}, true}, {20, 0.02, 2048, 10, [3]int{20000, 0, 20}, true},
		{20, 0.5, 64, 4, [3]int{}, true}, {44, 0.9, 2048, 6, [3]int{}, true}, {44, 0.5, 64, 1, [3]int{0, 1, 0}, true},
		{44, 0.9, 2048, 6, [3]int{0, 0, 30}, true}, {30, 0.9, 256, 6, [3]int{0, 0, 3000}, true},
		{20, 0.5, 64, 1, [3]int{2000, 10, 0}, false}, {0.1, 0.5, 64, 2, [3]int{10, 0, 10}, false}, {4, 0.02, 64, 2, [3]int{5000, 0, 5000}, false},
	} {
		p := Params{Epsilon: c.epsilon, Cells: c.cells, Levels: c.levels, CountShare: c.share, Seed: hashing.Seed{1}}
		for range 100 {
			a, b := pair(t, p, rng, c.sets[0], c.sets[1], c.sets[2])
			m, err := compare(a, b)
			require.NoError(t, err)
			if !m.known() {
				if c.within {
					unknown++
				}
				continue
			}
			info, score := modelOf(a, b).linear(m.theta)
			inv, ok := info.inverse()
			require.True(t, ok)
			step := inv.times(score)
			for k := range step {
				require.LessOrEqual(t, math.Abs(step[k]), 0.1*math.Sqrt(inv[k][k]), "%v", c)
			}
		}
	}
	dptest.Alarm(t, 1e-10)
	require.Less(t, unknown, 40)
}

// Where weights of two estimates would take turns for ever there is an estimate in between. Where
// the union is all but surely that of full tables, and one that is a little larger would have no
// information at all, there is none.
func TestCompareAtTheEnds(t *testing.T) {
	turns, err := Compare(shown(8, 1, 7878310922938387717, 52), shown(8, 2, 7914917241258675509, 45))
	require.NoError(t, err)
	require.Less(t, sized(turns, sizes.Union).StdErr(), 20.0)
	full, err := Compare(shown(4, 1, 15563871314874398639, 34), shown(4, 2, 17282422625313746935, 28))
	require.NoError(t, err)
	require.True(t, math.IsInf(sized(full, sizes.Union).StdErr(), 1), "%v", full)
}

// Of sets of no keys and of few the estimates are unbiased too, as they can be negative. A mean of
// 800 is off by 7 of its standard errors with a probability below 1e-11.
func TestCompareOfSmallSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	p := Params{Epsilon: 1, Cells: 512, Levels: 6, CountShare: 0.1, Seed: hashing.Seed{1}}
	const runs = 800
	for _, keys := range []int{0, 10} {
		unknown := 0
		var sum, squares [sizes.OnlyB + 1]float64
		for range runs {
			a, b := pair(t, p, rng, keys, 0, 0)
			c, err := Compare(a, b)
			require.NoError(t, err)
			if math.IsNaN(c.Union().Estimate()) {
				unknown++
				continue
			}
			for of, truth := range map[int]float64{sizes.Union: float64(keys), sizes.Intersection: 0, sizes.OnlyA: float64(keys), sizes.OnlyB: 0} {
				e := sized(c, of).Estimate() - truth
				sum[of] += e
				squares[of] += e * e
			}
		}
		for of := sizes.Union; of <= sizes.OnlyB; of++ {
			known := float64(runs - unknown)
			sd := math.Sqrt(squares[of] / known)
			dptest.Alarm(t, 1e-11)
			require.InDelta(t, 0, sum[of]/known, (7/math.Sqrt(runs)+0.03)*sd, "%d keys, %v", keys, of)
		}
	}
}

// Of a set a hundred times beyond Largest noise alone tells how many cells are empty: unions have
// no estimate, but for some 2 % of releases, and intervals have no upper end. More than 12 % of 300
// have a probability below 1e-13.
func TestUnionBeyondLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	const runs = 300
	for _, epsilon := range []float64{4, 8} {
		p := Params{Epsilon: epsilon, Cells: 256, Levels: 4, CountShare: 0.02, Seed: hashing.Seed{1}}
		keys := 100 * planned(p).Largest
		answers, missed := map[int]int{}, map[int]int{}
		for range runs {
			p.Seed = hashing.NewSeed()
			large := builder(t, p)
			poissonKeys(large, rng, keys)
			a, err := large.Release()
			require.NoError(t, err)
			sketches := []*Sketch{a, released(t, p, run(0, 100)...), released(t, p)}
			for k := 2; k <= 3; k++ {
				union, err := Union(sketches[:k]...)
				require.NoError(t, err)
				if !math.IsNaN(union.Estimate()) {
					answers[k]++
				}
				if lo, hi := union.Interval(0.95); !(lo <= keys && keys <= hi) {
					missed[k]++
				}
			}
		}
		dptest.Alarm(t, 4e-13)
		for k := 2; k <= 3; k++ {
			require.Less(t, answers[k], 36, "%d releases", k)
			require.Less(t, missed[k], 48, "%d releases", k)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	a, b := released(t, small, run(0, 100)...), released(t, small, run(50, 150)...)
	_, err := Compare(a, b)
	require.NoError(t, err)
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
		_, err := Compare(a, other)
		require.ErrorIs(t, err, ErrMismatch)
		_, err = Compare(other, a)
		require.ErrorIs(t, err, ErrMismatch)
		_, err = Union(a, other)
		require.ErrorIs(t, err, ErrMismatch)
		_, err = Union(a, b, other)
		require.ErrorIs(t, err, ErrMismatch)
	}
	other := small
	other.Epsilon, other.CountShare = 3, 0.4
	c, err := Compare(a, released(t, other, run(50, 150)...))
	require.NoError(t, err, "parties choose their own ε")
	require.NotContains(t, c.String(), "NaN")
	_, err = Union()
	require.ErrorIs(t, err, ErrParams)
	_, err = Union(&Sketch{})
	require.ErrorIs(t, err, ErrMismatch)
}

func TestZeroComparison(t *testing.T) {
	a, b := released(t, small, run(0, 100)...), released(t, small, run(50, 150)...)
	good, err := Compare(a, b)
	require.NoError(t, err)
	for _, c := range []*kor.Comparison{nil, {}} {
		lo, hi := c.Union().Interval(0.9)
		require.True(t, math.IsNaN(c.Union().Estimate()) && math.IsNaN(c.Union().StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
		require.NotEmpty(t, c.String())
	}
	lo, hi := sized(good, sizes.Union).Interval(1)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	lo, hi = sized(good, sizes.Union).Interval(0)
	require.Equal(t, lo, hi)
	var zero kor.Cardinality
	lo, hi = zero.Interval(0.9)
	require.True(t, math.IsNaN(zero.Estimate()) && math.IsNaN(zero.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
	require.NotEmpty(t, zero.String())
	union, err := Union(a, b, released(t, small, run(0, 300)...))
	require.NoError(t, err)
	dptest.Readers(t, good)
	dptest.Readers(t, union)
}

// Where bits tell next to nothing there are no estimates, nothing is NaN but these, and the
// intervals are what the counts tell.
func TestNothingToCompare(t *testing.T) {
	p := Params{Epsilon: 1e-3, Cells: 64, Levels: 4, CountShare: 0.5, Seed: hashing.Seed{1}}
	a, b := released(t, p, run(0, 100)...), released(t, p, run(50, 150)...)
	c, err := Compare(a, b)
	require.NoError(t, err)
	for of := sizes.Union; of <= sizes.OnlyB; of++ {
		lo, hi := sized(c, of).Interval(0.95)
		require.Equal(t, math.IsInf(sized(c, of).StdErr(), 1), math.IsNaN(sized(c, of).Estimate()))
		require.True(t, 0 <= lo && lo <= hi && !math.IsNaN(sized(c, of).StdErr()))
	}
	sketches := []*Sketch{a, b}
	for range 40 {
		union, err := Union(sketches...)
		require.NoError(t, err)
		require.True(t, math.IsNaN(union.Estimate()) && math.IsInf(union.StdErr(), 1))
		lo, hi := union.Interval(0.95)
		require.True(t, lo <= hi && lo >= 0)
		require.Contains(t, union.String(), "between")
		sketches = append(sketches, released(t, p, run(0, 10)...))
	}
	p.Epsilon = 0x1p-28
	a, b = released(t, p, 1), released(t, p, 2)
	c, err = Compare(a, b)
	require.NoError(t, err)
	require.Equal(t, math.IsInf(sized(c, sizes.Union).StdErr(), 1), math.IsNaN(c.Union().Estimate()))
}

// Sets far beyond Largest have no estimates and no "± +Inf", but bounds, which are those of Union
// and hold for all parts.
func TestBoundsWithoutEstimates(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	p := Params{Epsilon: 1, Cells: 256, Levels: 4, CountShare: 0.1}
	without := 0
	for range 60 {
		a, b := pair(t, p, rng, 10_000, 20_000, 30_000)
		c, err := Compare(a, b)
		require.NoError(t, err)
		if !math.IsNaN(c.Union().Estimate()) {
			continue
		}
		without++
		require.NotContains(t, c.String(), "±")
		require.Contains(t, c.String(), "union between ")
		union, err := Union(a, b)
		require.NoError(t, err)
		lo, hi := union.Interval(0.999)
		least, most := sized(c, sizes.Union).Interval(0.999)
		require.Equal(t, [2]float64{lo, hi}, [2]float64{least, most})
		for of, truth := range map[int]float64{sizes.Union: 60_000, sizes.Intersection: 30_000, sizes.OnlyA: 10_000, sizes.OnlyB: 20_000} {
			require.True(t, math.IsNaN(sized(c, of).Estimate()) && math.IsInf(sized(c, of).StdErr(), 1))
			lo, hi := sized(c, of).Interval(1 - 1e-11)
			dptest.Alarm(t, 1e-11)
			require.True(t, 0 <= lo && lo <= truth && truth <= hi, "%v: [%v, %v]", of, lo, hi)
		}
		lo, hi = sized(c, sizes.Union).Interval(1 - 0x1p-53)
		require.True(t, lo == 0 && math.IsInf(hi, 1) || lo <= hi)
	}
	require.Greater(t, without, 5)
}

// Where most unions get no estimate, the few that get one by chance hold as well.
func TestEstimateByChance(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(25, 26))
	p := Params{Epsilon: 0.5, Cells: 2048, Levels: 16, CountShare: 0.1}
	let, covered := 0, 0
	for range dptest.Full(3000, 400) {
		a, b := pair(t, p, rng, 333, 333, 333)
		union, err := Union(a, b)
		require.NoError(t, err)
		if math.IsNaN(union.Estimate()) {
			continue
		}
		let++
		if lo, hi := union.Interval(0.95); lo <= 999 && 999 <= hi {
			covered++
		}
	}
	t.Logf("%d estimates, %d intervals hold", let, covered)
	require.Greater(t, let, 3)
	require.GreaterOrEqual(t, float64(covered), 0.9*float64(let))
}
