package sparse

import (
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
		Law:    Law{Params{Epsilon: 1, Delta: 1e-6, Signed: true, Method: ExponentialRounding}, c},
		values: []Entry[string]{{Key: "", Steps: 31}, {Key: "apple", Steps: 90}, {Key: "pear", Steps: -90}, {Key: "plum", Steps: 90}, {Key: "zebra", Steps: 30}},
	}
}

// The interval covers the true value with the stated confidence, whatever that value is: shown or
// hidden, below R, around T, far above, for every mechanism.
func TestIntervalCovers(t *testing.T) {
	dptest.NotShort(t, "many releases")
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
		c := dptest.OK(p.choose())(t)
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
			require.Less(t, width, 2*lawOf(t, p).ErrorBound(1, confidence)+c.step*float64(c.from+2), "%+v: value %d", p, v)
		}
	}
}

// Rounding can hide behind an equality: a value below R shown at exactly R + c.
func TestIntervalAtTheEdge(t *testing.T) {
	p := Params{Epsilon: 4, Delta: 1e-3, Sensitivity: 2, Integers: true, Method: LinearRounding}
	c := dptest.OK(p.choose())(t)
	q := p
	q.Method = c.method
	reach := c.reach(1e-4)
	v := &Vector[int]{Law: Law{q, c}, values: []Entry[int]{{Key: 1, Steps: c.from + reach}}}
	lo, _ := v.Interval(1, 0.9999)
	require.Equal(t, 1.0, lo)
}

// Two signed users can move a key by twice the rounded limit, and the noise is for that.
func TestChangeOfTwoSignedUsers(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Dim: 1, MaxKeys: 1, MaxValue: 1 + 0x1p-16, Signed: true, Relation: budget.Replace, Method: Gaussian}
	c := dptest.OK(p.choose())(t)
	delta := dptest.OK(noise.GaussianDelta(c.scale, 1, 2*math.Ceil(p.MaxValue/c.step)))(t)
	require.LessOrEqual(t, delta, 1e-6)
}

// A control: with noise of twice the scale the intervals fail.
func TestIntervalsFailForOtherNoise(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 0.01, Integers: true}
	c := dptest.OK(p.choose())(t)
	twice := c
	twice.scale *= 2
	missed, release := 0, releaser(p, twice)
	for range 2000 {
		r := release(map[int]int64{1: 100})
		r.numbers = c
		if lo, hi := r.Interval(1, 0.9); lo > 100 || hi < 100 {
			missed++
		}
	}
	// 0.9 quantile of half the scale: 30 % miss; 350 of 2000 has probability below 1e-30
	require.Greater(t, missed, 350)
}

func TestInterval(t *testing.T) {
	v := sample()
	c := v.numbers.reach(0.05)
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
		c := dptest.OK(p.choose())(t)
		bound := lawOf(t, p).ErrorBound(60, 0.9)
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
