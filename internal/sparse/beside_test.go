package sparse

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// besideLaw is the joint law of one key, silent or in a bin, and of the number beside the keys, in
// bins: number − Z − M, of the Z that the key has too.
func besideLaw(value, number, a, sigma, beside, threshold, span float64, n int) []float64 {
	own, err := noise.NewGaussian(beside)
	if err != nil {
		panic(err)
	}
	law := make([]float64, 0, (n+1)*(n+2))
	const nodes, wide = 81, 8.0
	total := 0.0
	for i := range nodes { // the trapezoidal rule; normalised, it is itself a law with a discrete Z
		x := -wide + 2*wide*float64(i)/(nodes-1)
		z := math.Sqrt(a) * sigma * x
		key := binned(value+z, value > 0, sigma, threshold, span, n)
		bins := make([]float64, n+2)
		end := func(i int) float64 { return (float64(i)/float64(n) - 0.5) * span }
		for i := range bins {
			lo, hi := 1.0, 0.0
			if i > 0 {
				lo = own.Survival(end(i-1) - (number - z))
			}
			if i <= n {
				hi = own.Survival(end(i) - (number - z))
			}
			bins[i] = lo - hi
		}
		joint := product(key, bins)
		if len(law) == 0 {
			law = make([]float64, len(joint))
		}
		for j, p := range joint {
			law[j] += density(x) * p
		}
		total += density(x)
	}
	for j := range law {
		law[j] /= total
	}
	return law
}

// One key of finite count and the number, over the two-dimensional output: never above the bound,
// and at least the escape that is in it. A number that moves with the key is above the bound.
func TestCorrelatedDeltaWithANumberBeside(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	for _, s := range []struct{ weight, a, epsilon, sigma, tau float64 }{{1, 1, 1, 2, 6}, {0.5, 1, 0.5, 3, 10}, {2, 0.5, 2, 1, 3.5}, {1, 1, 0.5, 3, 15}} {
		bound, worst := correlatedDelta(1, 1, s.weight, s.a, s.epsilon, s.sigma, s.tau, 0), 0.0
		threshold, beside := 1+s.tau, s.sigma/math.Sqrt(s.weight)
		law := func(count, number float64) []float64 {
			return besideLaw(count, number, s.a, s.sigma, beside, threshold, 24*s.sigma, dptest.Fewer(90, 40))
		}
		wrong := 0.0
		for _, count := range []float64{0, threshold - 1, threshold + 10*s.sigma} {
			for _, d := range [][2]float64{{1, 1}, {1, 0}, {0, 1}, {0.5, 1}} {
				more, less := law(count+d[0], 0), law(count, d[1])
				h := max(hockeyStick(more, less, s.epsilon), hockeyStick(less, more, s.epsilon))
				require.LessOrEqual(t, h, bound*(1+1e-9), "%+v: %v + %v", s, count, d)
				worst = max(worst, h)
			}
			more, less := law(count+1, 1), law(count, 0)
			wrong = max(wrong, hockeyStick(more, less, s.epsilon))
		}
		// all else the bins blur
		require.GreaterOrEqual(t, worst, escapeOf(1, s.a, s.tau/s.sigma)*(1-1e-6), "%+v", s)
		if s.tau > 4*s.sigma {
			require.Greater(t, wrong, 1.2*bound, "%+v", s)
		}
	}
}

// besideParams are Params of k counters and of the number of counts that a sketch lost.
func besideParams(k int, epsilon, delta float64, m Method) Params {
	return Params{Epsilon: epsilon, Delta: delta, MaxKeys: k, Stored: k, Integers: true, Beside: true, Method: m}
}

// The thresholds for D of a merged sketch as a coordinate: 2.8 %, 1.4 % and .7 % above those
// without, and the noise of c + D 1.149, 1.076 and 1.039 times the least.
func TestBesideTable(t *testing.T) {
	for _, row := range []struct {
		k            int
		want, spread float64
	}{{64, 109.1, 1.149}, {256, 211.3, 1.076}, {1024, 422.5, 1.039}} {
		l := dptest.OK(besideParams(row.k, 1, 1e-6, CorrelatedGaussian).Law())(t)
		require.InEpsilon(t, row.want, l.Threshold(), 2e-3, row.k)
		least := dptest.OK(noise.GaussianSigma(1, 1e-6, math.Sqrt(float64(row.k)+math.Sqrt(float64(row.k)))/2))(t)
		require.InEpsilon(t, row.spread, l.StdDevOf(1, 1)/least, 4e-3, row.k)
		require.Less(t, l.StdDevOf(1, 1), 1.09*l.StdDev())
	}
	// By independent noise the threshold grows by √(1 + 1/√l), by Laplace noise as ε falls.
	for _, m := range []Method{Gaussian, Laplace, ExponentialRounding} {
		with := dptest.OK(besideParams(64, 1, 1e-6, m).Law())(t)
		p := besideParams(64, 1, 1e-6, m)
		p.Beside = false
		ratio := math.Sqrt(1 + 1./8)
		if m != Gaussian {
			ratio = 1 + math.Pow(64, -2./3)
		}
		require.InEpsilon(t, ratio, with.Threshold()/lawOf(t, p).Threshold(), 1e-2, m)
	}
}

// Every mechanism that has a number beside the keys is (ε, δ)-private with it: over the whole
// output of two keys and the number, for all neighbours. Half of the noise of the number alone is
// not enough.
func TestBesideIsPrivateExactly(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	const epsilon, delta = 1.0, 1e-3
	for _, m := range []Method{ExponentialRounding, LinearRounding, Laplace, Gaussian} {
		t.Run(m.String(), func(t *testing.T) {
			p := besideParams(2, epsilon, delta, m)
			p.Stored = 0
			c := dptest.OK(p.choose())(t)
			values := []int64{0, 1, 2, c.threshold, c.threshold + 1}
			if m == Gaussian { // on a grid of two steps to the unit
				sigma, tau, ok := calibrateGaussian(2, p.weight(m), true, epsilon, delta)
				require.True(t, ok)
				c = normalOnGrid(m, 2, 0, sigma, tau, p.weight(m))
				values = []int64{0, 2, c.threshold + 1, c.threshold + 3}
			}
			unit := int64(1)
			if m == Gaussian {
				unit = 2
			}
			worst := func(c calibration, epsilon float64) (largest float64) {
				in := instance{c: c, values: values}
				number := func(v int64) law { // the same noise without a threshold
					reach := int64(14*c.beside) + 2
					l := make(law, 2*reach+1)
					tail := func(x int64) float64 {
						if m != Gaussian {
							return c.number().Distribution().Survival(float64(x) - 0.5)
						}
						d := dptest.OK(noise.NewGaussian(c.beside))(t)
						return d.Survival(float64(x) - 0.5)
					}
					for x := -reach; x <= reach; x++ {
						l[x+reach] = tail(x-v) - tail(x-v+1)
						if x == -reach {
							l[0] = 1 - tail(x-v+1)
						}
						if x == reach {
							l[2*reach] = tail(x - v)
						}
					}
					return l
				}
				for _, x := range values {
					for _, y := range values {
						for d := range 8 {
							up := []int64{x + unit*int64(d&1), y + unit*int64(d>>1&1), -unit * int64(d>>2)}
							p := []law{in.coordinate(up[0], c), in.coordinate(up[1], c), number(up[2])}
							q := []law{in.coordinate(x, c), in.coordinate(y, c), number(0)}
							for i := 1; i >= 0; i-- { // equal coordinates do not matter
								if d>>i&1 == 0 {
									p, q = append(p[:i:i], p[i+1:]...), append(q[:i:i], q[i+1:]...)
								}
							}
							largest = max(largest, divergence(p, q, epsilon), divergence(q, p, epsilon))
						}
					}
				}
				return largest
			}
			limit := delta*(1+1e-9) + 1e-13
			require.LessOrEqual(t, worst(c, epsilon), limit)
			half := c
			half.beside /= 2
			require.Greater(t, worst(half, epsilon), limit)
			if m == Gaussian { // what the accountant takes it for
				p.MaxValue = 2
				g := Law{p, c}.Guarantee()
				require.LessOrEqual(t, worst(c, 0.2), g.DeltaAt(0.2)*(1+1e-9))
				require.Greater(t, worst(half, 0.2), g.DeltaAt(0.2))
				p.Beside = false
				require.Greater(t, worst(c, 0.2), Law{p, c}.Guarantee().DeltaAt(0.2), "without the number it is less")
			}
		})
	}
}

// What is released has the law that StdDevOf and ReachOf tell, the noise that is shared included.
func TestBesideIsReleased(t *testing.T) {
	runs := dptest.Fewer(4000, 1000)
	for _, m := range []Method{ExponentialRounding, Laplace, Gaussian, CorrelatedGaussian} {
		t.Run(m.String(), func(t *testing.T) {
			l := dptest.OK(besideParams(8, 1, 1e-3, m).Law())(t)
			var src noise.Source
			sums := map[[2]float64][]float64{}
			beyond := map[[2]float64]int64{}
			for range runs {
				v := Release(&src, l, []Entry[string]{{Key: "key", Steps: l.Whole(5000)}}, l.Whole(400), nil)
				require.Equal(t, l, v.Law)
				for _, w := range [][2]float64{{1, 0}, {0, 1}, {1, 0.5}, {1, 1}} {
					x := w[0]*(v.Estimate("key")-5000) + w[1]*(v.Beside()-400)
					sums[w] = append(sums[w], x)
					if math.Abs(x) > l.ReachOf(w[0], w[1], 0.1) {
						beyond[w]++
					}
				}
			}
			for w, list := range sums {
				variance := l.StdDevOf(w[0], w[1]) * l.StdDevOf(w[0], w[1])
				dptest.Moments(t, fmt.Sprint(w), list, 0, variance, 6*variance*variance, 1e-10)
				if float64(beyond[w]) > 0.1*float64(runs) {
					dptest.Tail(t, fmt.Sprint(w), beyond[w], int64(runs), 0.1, 1e-10)
				}
			}
			require.Less(t, l.StdDevOf(1, 1), 1.6*math.Hypot(l.StdDevOf(1, 0), l.StdDevOf(0, 1)))
		})
	}
}

// A number is for users that add integers; without Params.Beside there is none, whatever is given.
func TestBesideParams(t *testing.T) {
	good := besideParams(4, 1, 1e-6, Auto)
	for name, change := range map[string]func(p *Params){
		"Integers": func(p *Params) { p.Integers = false },
		"MaxKeys":  func(p *Params) { p.MaxKeys = 0 },
		"Signed":   func(p *Params) { p.Signed = true },
		"Relation": func(p *Params) { p.Relation = 2 },
	} {
		p := good
		change(&p)
		require.ErrorIs(t, dptest.Err(p.Law()), check.ErrParams, name)
	}
	pure := good
	pure.Delta, pure.Dim = 0, 100
	require.ErrorContains(t, dptest.Err(pure.Law()), "beside")
	var src noise.Source
	v := Release[string](&src, lawOf(t, good), nil, MaxTotal, nil)
	require.InEpsilon(t, float64(MaxTotal)*v.numbers.step, v.Beside(), 1e-6)
	require.Equal(t, int64(MaxTotal), v.Whole(math.MaxInt64))
	good.Beside = false
	for _, m := range []Method{Gaussian, Laplace, ExponentialRounding} {
		good.Method = m
		v = Release[string](&src, lawOf(t, good), nil, 100, nil)
		require.Zero(t, v.Beside(), m)
		require.True(t, math.IsNaN(v.StdDevOf(1, 1)))
		require.True(t, math.IsNaN(v.ReachOf(1, 1, 0.1)))
		require.True(t, math.IsNaN(v.ReachOf(1, 0, 0)))
	}
	require.True(t, math.IsNaN(Law{}.Threshold()) && math.IsNaN(Law{}.StdDev()) && math.IsNaN(Law{}.ErrorBound(1, 0.5)))
	require.False(t, Law{}.Guarantee().Promises())
}
