package jl

import (
	"fmt"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// seeds returns how many draws to make: quick by default.
func seeds(quick int) int {
	switch {
	case dptest.Deep():
		return 100_000
	case dptest.Long():
		return max(quick, 4_000)
	case testing.Short():
		return quick / 2
	}
	return quick
}

// tally keeps the moments of an estimator about its true mean.
type tally struct {
	n                   float64
	sum, square, fourth float64
	truth, variance     float64
}

func (a *tally) add(estimate float64) {
	d := estimate - a.truth
	a.n++
	a.sum += d
	a.square += d * d
	a.fourth += d * d * d * d
}

// bias returns the bias in standard errors, by the variance of the formula.
func (a *tally) bias() float64 { return a.sum / math.Sqrt(a.n*a.variance) }

// spread returns the variance over the formula, and its standard error.
func (a *tally) spread() (ratio, stderr float64) {
	v := a.square / a.n
	return v / a.variance, math.Sqrt(max(a.fourth/a.n-v*v, 0)/a.n) / a.variance
}

// vectors returns two vectors of integers with a few large coordinates, and the numbers that the
// formulas take.
func vectors(n int) (x, y []float64, v lengths) {
	r := rand.New(rand.NewPCG(11, uint64(n)))
	x, y = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = math.Round(4*r.NormFloat64()), math.Round(4*r.NormFloat64())
	}
	x[0], y[1], x[n/2], y[n/2] = 15, -12, 20, 14
	return x, y, lengthsOf(x, y)
}

// lengthsOf returns what the formulas take.
func lengthsOf(x, y []float64) (v lengths) {
	for i := range x {
		z := x[i] - y[i]
		v.xx += x[i] * x[i]
		v.yy += y[i] * y[i]
		v.xy += x[i] * y[i]
		v.zz += z * z
		v.x4 += math.Pow(x[i], 4)
		v.z4 += math.Pow(z, 4)
		v.aligned += x[i] * x[i] * y[i] * y[i]
	}
	return v
}

type lengths struct{ xx, yy, xy, zz, x4, z4, aligned float64 }

// Definition 4.2 and the variances of the transforms, without noise. The seeds are fixed, so that
// what is measured is always the same number: there is nothing to reject falsely, and 5 standard
// errors are what a wrong formula has to hide in: 5 to 15 % of the variance, with -deep 1 to 2 %.
func TestLengthPreserving(t *testing.T) {
	for name, p := range cases() {
		t.Run(name, func(t *testing.T) {
			x, y, v := vectors(int(p.Dim))
			ix, iy := make([]int64, p.Dim), make([]int64, p.Dim)
			var none disturbance
			norm := &tally{truth: v.xx, variance: p.spread().distance(none, v.xx, v.x4)}
			dot := &tally{truth: v.xy, variance: p.spread().inner(none, none, v.xx, v.yy, v.xy, v.aligned)}
			c := p.factor()
			for i := range seeds(3_000) {
				p.Seed = seed(i)
				m := p.newMatrix()
				for j := range ix {
					ix[j], iy[j] = int64(x[j]), int64(y[j])
				}
				sx, sy := apply(m, ix), apply(m, iy)
				a, b := 0.0, 0.0
				for r := range sx {
					a += float64(sx[r]) * float64(sx[r]) * c * c
					b += float64(sx[r]) * float64(sy[r]) * c * c
				}
				norm.add(a)
				dot.add(b)
			}
			for what, a := range map[string]*tally{"‖Sx‖²": norm, "⟨Sx, Sy⟩": dot} {
				if a.variance == 0 { // all rows of a Hadamard matrix
					require.Less(t, a.square, 1e-18*a.n*a.truth*a.truth, what)
					continue
				}
				ratio, stderr := a.spread()
				t.Logf("%-10s bias %+.2f standard errors, variance/formula %.4f ± %.4f", what, a.bias(), ratio, stderr)
				require.Less(t, math.Abs(a.bias()), 4.0, what)
				require.InDelta(t, 1, ratio, 5*stderr, what)
			}
		})
	}
}

// The printed Theorem 4.3 subtracts 2ks/ε² for two parties' noise: the same test refutes it. So it
// does the printed Theorem 4.2, without 1/√k, and a variance without the factor 3 of Lemma 4.11.
// The margins: the bias of 4.3 is 2ks/ε² = 128 against a standard deviation of 220 or so, in 5,000
// draws 40 standard errors.
func TestPrintedTheoremsFail(t *testing.T) {
	p := Params{Dim: 32, Rows: 16, Sparsity: 4, Epsilon: 1}
	p.Seed = seed(0)
	variance := square(planned(p).DistanceStdErr(4, 16))
	right, printed := &tally{truth: 4, variance: variance}, &tally{truth: 4, variance: variance}
	for i := range 5_000 {
		p.Seed = seed(i)
		a := dptest.OK(New(p))(t)
		b := dptest.OK(a.Sibling())(t)
		a.Add(3, 2)
		s, _ := a.Release()
		o, _ := b.Release()
		d := dptest.OK(s.SquaredDistance(o))(t)
		right.add(d)
		k, sparsity := float64(p.Rows), float64(p.Sparsity)
		printed.add(squares(s.difference(o)) - 2*k*sparsity)
	}
	dptest.Alarm(t, 1e-9)
	require.Less(t, math.Abs(right.bias()), 7.0)
	require.Greater(t, printed.bias(), 20.0)
	require.InDelta(t, 128, printed.sum/printed.n, 20, "the bias is 2ks/ε²")

	p = Params{Dim: 32, Rows: 16, Transform: Normal, Rho: 2}
	// κ₂ is below 3 for all these seeds
	variance = p.spread().distance(disturbance{output: cumulants{two: 3}}, 100, 1e4)
	right, printed = &tally{truth: 100, variance: variance}, &tally{truth: 100, variance: variance}
	for i := range 500 {
		p.Seed = seed(i)
		a := dptest.OK(New(p))(t)
		a.Add(3, 10)
		s, _ := a.Release()
		right.add(s.SquaredNorm())
		// entries N(0, 1); at most less is subtracted than is there
		printed.add(float64(p.Rows) * squares(s.rows()))
	}
	dptest.Alarm(t, 1e-9)
	require.Less(t, math.Abs(right.bias()), 7.0)
	require.Greater(t, printed.bias(), 20.0)
}

// Lemma 4.11: at q = 1/(u/9 + 1) the variance is just under 3·Z²/k for flat z.
func TestLemma411(t *testing.T) {
	p := Params{Dim: 1 << 12, Rows: 64, Transform: FJLT}
	// ‖z‖₄⁴ = Z²/u
	flat := p.spread().distance(disturbance{}, 1, 1/float64(p.Dim)) * float64(p.Rows)
	require.InDelta(t, 3, flat, 0.01)
	require.Less(t, flat, 3.0)
}

// The noise on the input of an FJLT: the formula for normal noise that the thesis' Lemma 4.8
// bounds.
func TestInputNoiseFormula(t *testing.T) {
	const u, k, z, f, sigma2 = 64.0, 16.0, 30.0, 100.0, 2.5
	p := Params{Dim: u, Rows: k, Transform: FJLT}
	kurtosis := normalFourth / (normalSecond * normalSecond) / p.density()
	n := disturbance{input: cumulants{two: 2 * sigma2}}
	w4 := math.Pow(z+2*u*sigma2, 2) + 8*sigma2*z + 8*u*sigma2*sigma2
	w44 := f + 12*sigma2*z + 12*u*sigma2*sigma2
	want := (2*w4+(kurtosis-3)/u*(3*w4-2*w44))/k + 8*sigma2*z + 8*u*sigma2*sigma2
	require.InEpsilon(t, want, p.spread().distance(n, z, f), 1e-12)
}

// The variances of the thesis' transforms and noise as closed formulas.
func TestVarianceFormulas(t *testing.T) {
	const k, s, e, z, f = 256.0, 4.0, 0.5, 700.0, 9000.0
	p := Params{Dim: 1000, Rows: k, Sparsity: s, Epsilon: e, Seed: seed(0)}
	require.InEpsilon(t, 2/k*(z*z-f)+16*s*z/(e*e)+56*k*s*s/math.Pow(e, 4), square(planned(p).DistanceStdErr(z, f)), 1e-4, "16sZ/ε² + 56ks²/ε⁴")
	p.Rho, p.Epsilon = 0.5, 0 // σ = 1 for the normalised sketch
	require.InEpsilon(t, 2/k*(z*z-f)+8*z+8*k, square(planned(p).DistanceStdErr(z, f)), 1e-4, "8σ²Z + 8kσ⁴")
	require.InEpsilon(t, 2/k*(z*z-f)+4*z+2*k, square(planned(p).NormStdErr(z, f)), 1e-4)
	require.InEpsilon(t, (z*800+100*100-2*50)/k+z+800+k, square(planned(p).DotStdErr(z, 800, 100, 50)), 1e-4)
	p = Params{Dim: 1024, Rows: k, Transform: SRHT, Rho: 0.5, Seed: seed(0)}
	require.InEpsilon(t, 2/k*(z*z-f)*(1024-k)/1023+8*z+8*k, square(planned(p).DistanceStdErr(z, f)), 1e-3)
	p.Rows = 1024
	require.InEpsilon(t, 8*z+8*1024, square(planned(p).DistanceStdErr(z, f)), 1e-3, "no variance of the transform at k = u")
}

// The moments of the noise are those of the draws' exact law.
func TestMoments(t *testing.T) {
	for _, l := range []calibrated.Noise{inSteps(Laplace, 512), inSteps(Laplace, 0.7), inSteps(DiscreteLaplace, 0.25),
		inSteps(DiscreteLaplace, 30), inSteps(Gaussian, 512)} {
		mass := massOf(t, l)
		var m [5]float64 // E X⁰, …, E X⁸
		for x := 1.0; x < 60*(l.Steps())+60; x++ {
			for i := range m {
				m[i] += 2 * math.Pow(x, 2*float64(i)) * mass(x)
			}
		}
		c := cumulantsOf(l, 1)
		require.InEpsilon(t, m[1], c.two, 1e-9, "%v", l)
		require.InEpsilon(t, m[2], c.fourth(), 1e-9, "%v", l)
		r := c.rowNoise()
		require.InEpsilon(t, m[2]-m[1]*m[1], r.v2, 1e-9, "%v", l)
		require.InEpsilon(t, m[3]-2*m[2]*m[1]+m[1]*m[1]*m[1], r.cross, 1e-9, "%v", l)
		require.InEpsilon(t, m[4]-4*m[3]*m[1]+6*m[2]*m[1]*m[1]-3*math.Pow(m[1], 4), r.v4, 1e-9, "%v", l)
	}
	// Staircase noise has .52 and .11 of the variance of Laplace noise at ε = 4 and 8.
	for e, share := range map[float64]float64{1: 0.959, 4: 0.52, 8: 0.108} {
		l := calibrated.Noise{Kind: calibrated.Staircase, Scale: 512, Shape: e, Step: 1}
		var m [5]float64
		for x, mass := range masses(t, l) {
			for i := range m {
				m[i] += math.Pow(float64(x), 2*float64(i)) * mass
			}
		}
		got := l.Moments()
		for i := range got {
			require.InEpsilon(t, m[i+1], got[i], 1e-7, "ε = %v, %d", e, i)
		}
		require.InEpsilon(t, share, got[0]/(2*512*512/(e*e)), 0.002)
	}
	// Discrete Laplace noise against Laplace noise of the same ε, as a share of 2/ε².
	for e, share := range map[float64]float64{1: 0.921, 2: 0.724, 3: 0.496, 4: 0.304, 6: 0.090} {
		second := cumulantsOf(inSteps(DiscreteLaplace, 1/e), 1).two
		require.InDelta(t, share, second*e*e/2, 6e-4, fmt.Sprint(e))
	}
}

func square(x float64) float64 { return x * x }
