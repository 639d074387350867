package threshold

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func sample() *Vector[string] {
	c := calibration{method: ExponentialRounding, step: 0.5, scale: 2, from: 10, threshold: 30}
	return &Vector[string]{
		params: Params{Epsilon: 1, Delta: 1e-6, Signed: true, Method: ExponentialRounding},
		law:    c,
		values: []entry[string]{{Key: "", Steps: 31}, {Key: "apple", Steps: 90}, {Key: "pear", Steps: -90}, {Key: "plum", Steps: 90}, {Key: "zebra", Steps: 30}},
	}
}

func TestVector(t *testing.T) {
	v := sample()
	require.Equal(t, 5, v.Len())
	require.Equal(t, 45.0, v.Estimate("apple"))
	require.Equal(t, -45.0, v.Estimate("pear"))
	require.Zero(t, v.Estimate("fig"))
	require.Equal(t, 15.0, v.Threshold())
	require.True(t, budget.ApproxDP(1, 1e-6, budget.L1(1)).Equal(v.Guarantee()))
	var keys []string
	for key, x := range v.All() {
		keys = append(keys, key)
		require.Equal(t, v.Estimate(key), x)
	}
	require.Equal(t, []string{"", "apple", "pear", "plum", "zebra"}, keys)
	top := func(n int) (keys []string) {
		for key := range v.Top(n) {
			keys = append(keys, key)
		}
		return keys
	}
	require.Equal(t, []string{"apple", "plum", ""}, top(3))
	require.Equal(t, []string{"apple", "plum", "", "zebra", "pear"}, top(99))
	require.Empty(t, top(0))
	require.Empty(t, top(-1))
	for range v.All() {
		break
	}
	for range v.Top(2) {
		break
	}
	require.Contains(t, v.String(), "5 keys of value ≥ 15 by ExponentialRounding")
}

// The interval covers the true value with the stated confidence, whatever that value is: shown or
// hidden, below R, around T, far above, for every mechanism.
func TestIntervalCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("many releases")
	}
	const confidence = 0.9
	n, most := 800, int64(140) // Bin(800, 0.1) has a mean of 80 and a standard deviation of 8.5
	if dptest.Long() {
		n, most = 4000, 525 // 400 and 19
	}
	for _, p := range []Params{
		{Epsilon: 1, Delta: 0.3, Integers: true},
		{Epsilon: 1, Delta: 0.3, Integers: true, Signed: true},
		{Epsilon: 0.2, Delta: 0.01, Integers: true, Method: LinearRounding},
		{Epsilon: 1, Delta: 0.05, Integers: true, Method: Laplace},
		{Epsilon: 1, Delta: 0.05, MaxKeys: 3, Method: Gaussian},
		{Epsilon: 1, Delta: 0.05, MaxKeys: 8, Stored: 8, Method: CorrelatedGaussian},
		{Epsilon: 1, Dim: 4, Integers: true, FalseKeys: 1},
		{Epsilon: 1, Dim: 4, Integers: true, FalseKeys: 1, Signed: true},
		{Epsilon: 1, Dim: 4, Integers: true, Method: DenseLaplace},
	} {
		c, err := p.choose()
		require.NoError(t, err)
		release := releaser(p, c)
		values := []int64{1, c.from - 1, c.from, c.from + 1, c.threshold - 1, c.threshold, 3 * c.threshold, 0}
		if p.Signed {
			values = append(values, -1, -c.threshold)
		}
		for _, v := range values {
			if v < 0 && !p.Signed {
				continue
			}
			missed, width := int64(0), 0.0
			for range n {
				r := release(map[int]int64{1: v})
				lo, hi := r.Interval(1, confidence)
				if x := float64(v) * c.step; x < lo || x > hi {
					missed++
				}
				width = max(width, hi-lo)
			}
			dptest.Alarm(t, 1e-10)
			require.LessOrEqual(t, missed, most, "%+v: value %d", p, v)
			require.Less(t, width, 2*p.ErrorBound(1, confidence)+c.step*float64(c.from+2), "%+v: value %d", p, v)
		}
	}
}

// Rounding can hide behind an equality: a value below R shown at exactly R + c.
func TestIntervalAtTheEdge(t *testing.T) {
	p := Params{Epsilon: 4, Delta: 1e-3, Sensitivity: 2, Integers: true, Method: LinearRounding}
	c, err := p.choose()
	require.NoError(t, err)
	q := p
	q.Method = c.method
	reach := c.reach(1e-4)
	v := &Vector[int]{params: q, law: c, values: []entry[int]{{Key: 1, Steps: c.from + reach}}}
	lo, _ := v.Interval(1, 0.9999)
	require.Equal(t, 1.0, lo)
}

// One user's value in many parts, all the parts together within the limit, never moves a total by
// more than the limit.
func TestSplitValues(t *testing.T) {
	for _, m := range []Method{Gaussian, Laplace, ExponentialRounding} {
		b, err := build[int](Params{Epsilon: 100, Delta: 1e-6, MaxKeys: 1, Method: m})
		require.NoError(t, err)
		for range 1 << 18 {
			b.Add(1, 0x1p-18)
		}
		s := inside(b.secret)
		require.LessOrEqual(t, float64(s.totals.Entries()[0].Steps)*s.law.step, 1.0, m)
	}
}

// Two signed users can move a key by twice the rounded limit, and the noise is for that.
func TestChangeOfTwoSignedUsers(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Dim: 1, MaxKeys: 1, MaxValue: 1 + 0x1p-16, Signed: true, Relation: budget.Replace, Method: Gaussian}
	c, err := p.choose()
	require.NoError(t, err)
	delta, err := noise.GaussianDelta(c.scale, 1, 2*math.Ceil(p.MaxValue/c.step))
	require.NoError(t, err)
	require.LessOrEqual(t, delta, 1e-6)
}

// The zero Vector answers, and has no encoding.
func TestZeroVector(t *testing.T) {
	var v Vector[string]
	lo, hi := v.Interval("a", 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(v.StdDev()) && math.IsNaN(v.ErrorBound(1, 0.5)))
	require.Zero(t, v.Len())
	require.Zero(t, v.Estimate("a"))
	require.Equal(t, "threshold.Vector (not released)", v.String())
	require.True(t, math.IsNaN(v.Threshold()))
	require.False(t, v.Guarantee().Promises())
	_, err := v.MarshalBinary()
	require.ErrorIs(t, err, ErrFormat)
}

// A control: with noise of twice the scale the intervals fail.
func TestIntervalsFailForOtherNoise(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 0.01, Integers: true}
	c, err := p.choose()
	require.NoError(t, err)
	twice := c
	twice.scale *= 2
	missed, release := 0, releaser(p, twice)
	for range 2000 {
		r := release(map[int]int64{1: 100})
		r.law = c
		if lo, hi := r.Interval(1, 0.9); lo > 100 || hi < 100 {
			missed++
		}
	}
	// 0.9 quantile of half the scale: 30 % miss; 350 of 2000 has probability below 1e-30
	require.Greater(t, missed, 350)
}

func TestInterval(t *testing.T) {
	v := sample()
	c := v.law.reach(0.05)
	lo, hi := v.Interval("apple", 0.95)
	require.Equal(t, [2]float64{45 - float64(c)/2, 45 + float64(c)/2}, [2]float64{lo, hi})
	lo, hi = v.Interval("pear", 0.95)
	require.Equal(t, [2]float64{-45 - float64(c)/2, -45 + float64(c)/2}, [2]float64{lo, hi})
	lo, hi = v.Interval("fig", 0.95)
	require.Equal(t, (29+float64(c))/2, hi)
	require.Equal(t, -hi, lo)
	// "zebra" at T = 30, R = 10: at 0.99997 the noise may have been 21, and then the value
	// anything from R on, as a smaller one is released with probability at most
	// e^{−10}/(1+e^{−1/2}) = 2.8e-5; at 0.99999 that is not enough.
	lo, _ = v.Interval("zebra", 0.99997)
	require.Equal(t, 5.0, lo)
	lo, _ = v.Interval("zebra", 0.99999)
	require.Equal(t, 0.5, lo)
	for _, bad := range []float64{-0.1, 1, math.NaN(), 2} {
		lo, hi = v.Interval("apple", bad)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
}

// ErrorBound holds for all keys at once.
func TestErrorBound(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 0.5, Delta: 1e-2, Integers: true},
		{Epsilon: 0.5, Delta: 1e-2, MaxKeys: 20, Method: Gaussian},
		{Epsilon: 0.5, Dim: 1000, FalseKeys: 20},
	} {
		c, err := p.choose()
		require.NoError(t, err)
		bound := p.ErrorBound(60, 0.9)
		require.Equal(t, bound, releaser(p, c)(nil).ErrorBound(60, 0.9))
		missed, release := 0, releaser(p, c)
		const n = 500
		for range n {
			totals := map[int]int64{}
			for key := range 60 {
				totals[key] = int64(key) * c.threshold / 30
			}
			v := release(totals)
			for key := range 1000 {
				if math.Abs(v.Estimate(key)-float64(int64(key)*c.threshold/30)*c.step) > bound && key < 60 || key >= 60 && math.Abs(v.Estimate(key)) > bound {
					missed++
					break
				}
			}
		}
		dptest.Alarm(t, 1e-9) // Bin(500, 0.1): mean 50, 95 or more with probability below 1e-9
		require.Less(t, missed, 95, "%+v", p)
	}
}

func TestReleaseTwice(t *testing.T) {
	b, err := build[string](Params{Epsilon: 1, Delta: 1e-6})
	require.NoError(t, err)
	require.False(t, b.Released())
	_, err = b.Release()
	require.NoError(t, err)
	require.True(t, b.Released())
	b.Add("a", 1)
	_, err = b.Release()
	require.ErrorIs(t, err, ErrReleased)
	var zero Builder[int]
	zero.Add(1, 1)
	require.True(t, zero.Released())
	_, err = zero.Release()
	require.ErrorIs(t, err, ErrReleased)
}

func TestEmpty(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Delta: 0.5, MaxKeys: 9}, {Epsilon: 1, Dim: 1 << 60}} {
		b, err := build[int](p)
		require.NoError(t, err)
		v, err := b.Release()
		require.NoError(t, err)
		require.Zero(t, v.Len()) // at most 1/(2·Dim) for the pure one
		require.True(t, p.Guarantee().Equal(v.Guarantee()))
	}
}

// Keys without a value are never released where δ > 0, however low the threshold; what sums to 0
// has none.
func TestOnlyKeysWithAValue(t *testing.T) {
	for range 300 {
		b, err := build[int](Params{Epsilon: 0.01, Delta: 1 - 1e-9, Integers: true})
		require.NoError(t, err)
		for _, key := range []int{5, -3, 8} {
			b.Add(key, 3)
		}
		b.Add(9, 2)
		b.Add(9, -2)
		b.Add(10, -5)
		b.Add(11, 0)
		b.Add(12, 0.3)
		b.Add(13, math.NaN())
		v, err := b.Release()
		require.NoError(t, err)
		for key := range v.All() {
			require.Contains(t, []int{5, -3, 8}, key)
		}
		require.Equal(t, len(v.values), cap(v.values), "hidden keys must not lie behind the released ones")
	}
}

// Sums saturate; infinities and NaN are what the doc says.
func TestSaturation(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Signed: true, Integers: true}
	b, err := build[string](p)
	require.NoError(t, err)
	for range 3 {
		b.Add("up", math.Inf(1))
		b.Add("down", math.Inf(-1))
		b.Add("up", math.MaxFloat64)
		b.Add("nan", math.NaN())
	}
	b.Add("back", math.Inf(1))
	b.Add("back", math.Inf(-1))
	v, err := b.Release()
	require.NoError(t, err)
	require.InEpsilon(t, 0x1p61, v.Estimate("up"), 1e-12)
	require.InEpsilon(t, -0x1p61, v.Estimate("down"), 1e-12)
	require.Equal(t, 2, v.Len())
}

// Real values under ℓ₁ are rounded at random, with the right mean, also far off the grid; on the
// grid nothing is drawn.
func TestRoundingToTheGrid(t *testing.T) {
	b, err := build[int](Params{Epsilon: 1, Delta: 1e-6})
	require.NoError(t, err)
	s := inside(b.secret)
	step := s.law.step
	for _, x := range []float64{0.25, 0.9, -0.25, 17.6, 1e-2} {
		const n = 20_000
		up := int64(0)
		low := math.Floor(x)
		for range n {
			got := float64(s.steps(x * step))
			require.True(t, got == low || got == low+1)
			up += int64(got - low)
		}
		dptest.ChiSquare(t, fmt.Sprint(x), []int64{up, n - up}, []float64{x - low, 1 - x + low}, 1e-10)
	}
	for _, x := range []float64{0, 1, -5, 1 << 40} {
		require.Equal(t, int64(x), s.steps(x*step))
	}
	require.Zero(t, s.steps(5e-324), "all but impossible to round up")
	b, err = build[int](Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1})
	require.NoError(t, err)
	s = inside(b.secret)
	require.EqualValues(t, 17, s.steps(17.6*s.law.step), "towards 0")
	require.Zero(t, s.steps(-5), "users do not take back")
	b, err = build[int](Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1, Signed: true})
	require.NoError(t, err)
	require.EqualValues(t, -17, inside(b.secret).steps(-17.6*inside(b.secret).law.step), "towards 0")
}

func TestVectorIsSafeForReaders(t *testing.T) {
	dptest.Readers(t, sample())
	dptest.Readers(t, sampleInts())
}
