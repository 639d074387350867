package jl

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// The runs of 10⁵ seeds: go test ./jl -run 'Estimators|LengthPreserving' -long -v
var long = flag.Bool("long", false, "10⁵ seeds for each estimator")

// seeds returns how many draws to make.
func seeds(quick int) int {
	switch {
	case *long:
		return 100_000
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

// bias returns the bias in standard errors.
func (a *tally) bias() float64 { return a.sum / math.Sqrt(a.square) }

// spread returns the variance over the formula, and its standard error.
func (a *tally) spread() (ratio, stderr float64) {
	v := a.square / a.n
	return v / a.variance, math.Sqrt(max(a.fourth/a.n-v*v, 0)/a.n) / a.variance
}

// deviations is the number of standard errors that are too many: normal, that is once in 1.7·10⁶.
const deviations = 5

func (a *tally) check(t *testing.T, name string) {
	t.Helper()
	ratio, stderr := a.spread()
	t.Logf("%-60s bias %+.2f standard errors, variance/formula %.4f ± %.4f", name, a.bias(), ratio, stderr)
	if a.variance == 0 { // a full SRHT
		require.Less(t, a.square, 1e-18*a.n*a.truth*a.truth, name)
		return
	}
	require.LessOrEqual(t, math.Abs(a.bias()), float64(deviations), "%s: bias", name)
	// The standard error is itself estimated, and too small where a rare large square is missing: of the quick runs only a gross error is asked.
	slack := 1e-9
	if a.n < 50_000 {
		slack = 0.25
	}
	require.InDelta(t, 1, ratio, deviations*stderr+slack, "%s: variance", name)
}

// vectors returns two vectors of integers with a few large coordinates, and the numbers that the formulas take.
func vectors(n int) (x, y []float64, v lengths) {
	r := rand.New(rand.NewPCG(11, uint64(n)))
	x, y = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = math.Round(4*r.NormFloat64()), math.Round(4*r.NormFloat64())
	}
	x[0], y[1], x[n/2], y[n/2] = 15, -12, 20, 14
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
	return x, y, v
}

type lengths struct{ xx, yy, xy, zz, x4, z4, aligned float64 }

// Definition 4.2 and the variances of the transforms, without noise.
func TestLengthPreserving(t *testing.T) {
	for name, p := range cases() {
		x, y, v := vectors(int(p.Dim))
		ix, iy := make([]int64, p.Dim), make([]int64, p.Dim)
		for j := range ix {
			ix[j], iy[j] = int64(x[j]), int64(y[j])
		}
		var none disturbance
		norm := &tally{truth: v.xx, variance: p.spread().distance(none, v.xx, v.x4)}
		dot := &tally{truth: v.xy, variance: p.spread().inner(none, none, v.xx, v.yy, v.xy, v.aligned)}
		c := p.factor()
		for i := range seeds(3_000) {
			p.Seed = seed(i)
			m := p.newMatrix()
			sx, sy := m.apply(append([]int64(nil), ix...)), m.apply(append([]int64(nil), iy...))
			a, b := 0.0, 0.0
			for r := range sx {
				a += float64(sx[r]) * float64(sx[r]) * c * c
				b += float64(sx[r]) * float64(sy[r]) * c * c
			}
			norm.add(a)
			dot.add(b)
		}
		norm.check(t, name+", ‖Sx‖²")
		dot.check(t, name+", ⟨Sx, Sy⟩")
	}
}

// noisy are all kinds of noise on all transforms.
func noisy() map[string]Params {
	all := map[string]Params{}
	for name, p := range cases() {
		p.Epsilon = 1
		all[name+", Laplace"] = p
		p.Integers, p.Epsilon = true, 2
		all[name+", discrete Laplace"] = p
		p.Integers, p.Delta, p.Noise = false, 1e-3, Gaussian
		all[name+", Gaussian"] = p
		p.Epsilon, p.Delta, p.Rho = 0, 0, 0.5
		all[name+", ρ"] = p
		if p.Transform == SRHT || p.Transform == FJLT {
			p.Input = true
			all[name+", input ρ"] = p
			p.Epsilon, p.Rho, p.Noise = 1, 0, 0
			all[name+", input Laplace"] = p
		}
		p.Input, p.Relation = false, noise.L2
		p.Epsilon, p.Delta, p.Rho, p.Noise = 1, 1e-3, 0, 0
		all[name+", ℓ₂"] = p
	}
	return all
}

// Unbiased, and with the stated variance, for each transform, noise and estimator; the two parties have different ε.
func TestEstimators(t *testing.T) {
	for name, p := range noisy() {
		if unusual := strings.Contains(name, "padded") || strings.Contains(name, "dense") || strings.Contains(name, "s = k"); unusual && !*long || testing.Short() && p.sensitivityDependsOnSeed() {
			continue
		}
		x, y, v := vectors(int(p.Dim))
		q := p // the other party's
		if q.Rho > 0 {
			q.Rho *= 2
		} else {
			q.Epsilon *= 1.5
		}
		var norm, distance, dot *tally
		n := seeds(1200)
		for i := range n {
			p.Seed, q.Seed = seed(i), seed(i)
			a, err := New(p)
			require.NoError(t, err)
			b, err := New(q)
			require.NoError(t, err)
			noiseA, noiseB := p.noiseOf((*a.state).law), q.noiseOf((*b.state).law)
			if i == 0 || p.sensitivityDependsOnSeed() { // then the variance is the mean one
				if i == 0 {
					norm, distance, dot = &tally{truth: v.xx}, &tally{truth: v.zz}, &tally{truth: v.xy}
				}
				share := 1.0
				if p.sensitivityDependsOnSeed() {
					share = 1 / float64(n)
				}
				norm.variance += share * p.spread().distance(noiseA, v.xx, v.x4)
				distance.variance += share * p.spread().distance(noiseA.plus(noiseB), v.zz, v.z4)
				dot.variance += share * p.spread().inner(noiseA, noiseB, v.xx, v.yy, v.xy, v.aligned)
			}
			a.AddDense(x)
			b.AddDense(y)
			s, err := a.Release()
			require.NoError(t, err)
			o, err := b.Release()
			require.NoError(t, err)
			norm.add(s.SquaredNorm())
			d, err := s.SquaredDistance(o)
			require.NoError(t, err)
			distance.add(d)
			d, err = s.Dot(o)
			require.NoError(t, err)
			dot.add(d)
		}
		norm.check(t, name+", SquaredNorm")
		distance.check(t, name+", SquaredDistance")
		dot.check(t, name+", Dot")
	}
}

// sensitivityDependsOnSeed reports whether the noise depends on the matrix, so that the formula, which is for one scale, is a mean over seeds. The transform and its noise are
// then not independent, but nearly so.
func (p Params) sensitivityDependsOnSeed() bool { return !p.outlined() && !p.Input }

// The printed Theorem 4.3 subtracts 2ks/ε² for two parties' noise: the same test refutes it. So it does the printed Theorem 4.2, without 1/√k, and a variance without the factor 3 of
// Lemma 4.11. The margins: the bias of 4.3 is 2ks/ε² = 128 against a standard deviation of 220 or so, in 20,000 draws 80 standard errors.
func TestPrintedTheoremsFail(t *testing.T) {
	p := Params{Dim: 32, Rows: 16, Sparsity: 4, Epsilon: 1}
	right, printed := &tally{truth: 4}, &tally{truth: 4}
	for i := range 20_000 {
		p.Seed = seed(i)
		a, err := New(p)
		require.NoError(t, err)
		b, err := a.Sibling()
		require.NoError(t, err)
		a.Add(3, 2)
		s, _ := a.Release()
		o, _ := b.Release()
		d, err := s.SquaredDistance(o)
		require.NoError(t, err)
		right.add(d)
		k, sparsity := float64(p.Rows), float64(p.Sparsity)
		printed.add(squares(s.difference(o)) - 2*k*sparsity)
	}
	require.Less(t, math.Abs(right.bias()), float64(deviations))
	require.Greater(t, printed.bias(), 20.0)
	require.InDelta(t, 128, printed.sum/printed.n, 20, "the bias is 2ks/ε²")

	p = Params{Dim: 32, Rows: 16, Transform: Normal, Rho: 2}
	right, printed = &tally{truth: 100}, &tally{truth: 100}
	for i := range 2_000 {
		p.Seed = seed(i)
		a, err := New(p)
		require.NoError(t, err)
		a.Add(3, 10)
		s, _ := a.Release()
		right.add(s.SquaredNorm())
		printed.add(float64(p.Rows) * squares(s.rows())) // entries N(0, 1); at most less is subtracted than is there
	}
	require.Less(t, math.Abs(right.bias()), float64(deviations))
	require.Greater(t, printed.bias(), 20.0)
}

// Lemma 4.11: at q = 1/(u/3 + 1) the variance is 4.66·Z²/k for flat z, not 3; at 1/(u/9 + 1) it is just under 3.
func TestLemma411(t *testing.T) {
	p := Params{Dim: 1 << 12, Rows: 64, Transform: FJLT, Density: 1 / (4096.0/3 + 1)}
	flat := func(p Params) float64 { // ‖z‖₄⁴ = Z²/u
		return p.spread().distance(disturbance{}, 1, 1/float64(p.Dim)) * float64(p.Rows)
	}
	require.InDelta(t, 5, flat(p), 0.01, "2 + 3·3·(u/3)/u")
	p.Density = 0
	require.InDelta(t, 3, flat(p), 0.01)
	require.Less(t, flat(p), 3.0)
}

// The noise on the input of an FJLT: the formula for normal noise that the thesis' Lemma 4.8 bounds.
func TestInputNoiseFormula(t *testing.T) {
	const u, k, z, f, sigma2 = 64.0, 16.0, 30.0, 100.0, 2.5
	p := Params{Dim: u, Rows: k, Transform: FJLT, Density: 0.25}
	kurtosis := normalFourth / (normalSecond * normalSecond) / 0.25
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
	require.InEpsilon(t, 2/k*(z*z-f)+16*s*z/(e*e)+56*k*s*s/math.Pow(e, 4), p.DistanceVariance(z, f), 1e-4, "16sZ/ε² + 56ks²/ε⁴")
	p.Rho, p.Epsilon = 0.5, 0 // σ = 1 for the normalised sketch
	require.InEpsilon(t, 2/k*(z*z-f)+8*z+8*k, p.DistanceVariance(z, f), 1e-4, "8σ²Z + 8kσ⁴")
	require.InEpsilon(t, 2/k*(z*z-f)+4*z+2*k, p.NormVariance(z, f), 1e-4)
	require.InEpsilon(t, (z*800+100*100-2*50)/k+z+800+k, p.DotVariance(z, 800, 100, 50), 1e-4)
	p = Params{Dim: 1024, Rows: k, Transform: SRHT, Rho: 0.5, Seed: seed(0)}
	require.InEpsilon(t, 2/k*(z*z-f)*(1024-k)/1023+8*z+8*k, p.DistanceVariance(z, f), 1e-3)
	p.Rows = 1024
	require.InEpsilon(t, 8*z+8*1024, p.DistanceVariance(z, f), 1e-3, "no variance of the transform at k = u")
}

// The moments of the noise are those of the draws' exact law.
func TestMoments(t *testing.T) {
	for _, l := range []law{{kind: Laplace, scale: 512}, {kind: Laplace, scale: 0.7}, {kind: DiscreteLaplace, scale: 0.25}, {kind: DiscreteLaplace, scale: 30}, {kind: Gaussian, scale: 512}} {
		var mass func(x float64) float64
		switch l.kind {
		case DiscreteLaplace:
			d, err := noise.NewDiscreteLaplace(l.scale)
			require.NoError(t, err)
			mass = d.Prob
		case Laplace:
			d, err := noise.NewLaplace(l.scale)
			require.NoError(t, err)
			mass = func(x float64) float64 { return d.Survival(x-0.5) - d.Survival(x+0.5) }
		default:
			d, err := noise.NewGaussian(l.scale)
			require.NoError(t, err)
			mass = func(x float64) float64 { return d.Survival(x-0.5) - d.Survival(x+0.5) }
		}
		second, fourth := 0.0, 0.0
		for x := 1.0; x < 60*l.scale+60; x++ {
			second += 2 * x * x * mass(x)
			fourth += 2 * x * x * x * x * mass(x)
		}
		a, b := l.moments()
		require.InEpsilon(t, second, a, 1e-9, "%v", l)
		require.InEpsilon(t, fourth, b, 1e-9, "%v", l)
	}
	// Discrete Laplace noise against Laplace noise of the same ε, as a share of 2/ε².
	for e, share := range map[float64]float64{1: 0.921, 2: 0.724, 3: 0.496, 4: 0.304, 6: 0.090} {
		second, _ := law{kind: DiscreteLaplace, scale: 1 / e}.moments()
		require.InDelta(t, share, second*e*e/2, 6e-4, fmt.Sprint(e))
	}
}
