package jl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// What the noise does to a length and to a product has the fourth moment that moments_proof.md
// gives, exactly where one row holds the whole vector, over the whole law of the noise.
func TestFourthMomentsOfNoise(t *testing.T) {
	const k = 3
	still := spread{rows: k, dim: 1} // a matrix without variance
	for _, l := range []calibrated.Noise{inSteps(DiscreteLaplace, 0.3), inSteps(DiscreteLaplace, 2), inSteps(Laplace, 3)} {
		n := Params{Rows: k}.noiseOf(l, false)
		m := lawMoments(t, l, 1)
		for _, x := range []float64{0, 1, 7} {
			all := [5]float64{1}
			for _, row := range []float64{x, 0, 0} {
				all = addMoments(all, polynomialMoments([]float64{-m[2], 2 * row, 1}, m))
			}
			bound := still.noiseFourth(n)
			require.InEpsilon(t, all[4], math.Pow(bound.root(x*x), 4), 1e-7)
			for _, y := range []float64{0, 2} {
				require.InEpsilon(t, productMoment([]float64{x, 0, 0}, []float64{0, y, 0}, m), still.productFourth(n, n, x*x, y*y), 1e-7)
			}
		}
	}
}

// productMoment returns E (Σ xψ + yφ + φψ)⁴, all odd moments of whose terms are 0, given those of
// φ and ψ.
func productMoment(x, y, m []float64) float64 {
	var second, fourth, seconds float64
	for i := range x {
		a, b := x[i]*x[i], y[i]*y[i]
		v := (a+b)*m[2] + m[2]*m[2]
		second, seconds = second+v, seconds+v*v
		fourth += (a*a+b*b)*m[4] + m[4]*m[4] + 6*a*b*m[2]*m[2] + 6*(a+b)*m[2]*m[4]
	}
	return fourth + 3*(second*second-seconds)
}

// Over all matrices of a tiny shape and the whole law of the noise, the fourth moment of the error
// is at most as moments_proof.md has it.
func TestFourthMoments(t *testing.T) {
	for _, c := range []struct {
		p    Params
		x, y []float64
	}{
		{Params{Dim: 3, Rows: 4, Sparsity: 2}, []float64{2, 1, -1}, []float64{1, 0, 3}},
		{Params{Dim: 2, Rows: 8}, []float64{1, 1}, []float64{1, -1}},
		{Params{Dim: 4, Rows: 3}, []float64{1, 1, 1, 1}, []float64{2, 0, 0, 0}},
	} {
		p := c.p
		p.Epsilon, p.Seed, p.Independence = 1, seed(0), 8
		z, zz := squares(c.x), squares(c.y)
		for _, scale := range []float64{0.15, 0.3, 0.5, 2} {
			l := inSteps(DiscreteLaplace, scale)
			n, m := p.noiseOf(l, false), lawMoments(t, l, p.factor())
			noise, whole, product, count := 0.0, 0.0, 0.0, 0.0
			eachMatrix(p, func(rows func(v []float64) []float64) {
				sx, d := rows(c.x), -z
				w := [5]float64{1}
				for _, y := range sx {
					w = addMoments(w, polynomialMoments([]float64{-m[2], 2 * y, 1}, m))
					d += y * y
				}
				count++
				noise += w[4]
				whole += d*d*d*d + 6*d*d*w[2] + 4*d*w[3] + w[4]
				product += productMoment(sx, rows(c.y), m)
			})
			sum, ok := p.fourth(n)
			require.True(t, ok)
			bound := p.spread().noiseFourth(n)
			require.LessOrEqual(t, noise/count, math.Pow(bound.root(z), 4))
			require.LessOrEqual(t, whole/count, math.Pow(sum.root(z), 4))
			require.Greater(t, 12*whole/count, math.Pow(sum.root(z), 4))
			require.LessOrEqual(t, product/count, p.spread().productFourth(n, n, z, zz))
		}
	}
	_, ok := Params{Dim: 3, Rows: 4, Independence: 6}.fourth(disturbance{})
	require.False(t, ok, "not with less independence than eight coordinates want")
	_, ok = Params{Dim: 3, Rows: 4, Transform: SRHT}.fourth(disturbance{})
	require.False(t, ok)
}

// lawMoments returns those of the noise, from 0 to 8, in a unit.
func lawMoments(t *testing.T, l calibrated.Noise, unit float64) []float64 {
	m := make([]float64, 9)
	for v, mass := range masses(t, l) {
		for i := range m {
			m[i] += mass * math.Pow(float64(v)*unit, float64(i))
		}
	}
	return m
}

// polynomialMoments returns E f(φ)ⁱ for i ≤ 4, f of the given coefficients, the constant first.
func polynomialMoments(f, law []float64) (m [5]float64) {
	power := []float64{1}
	for i := range m {
		for j, c := range power {
			m[i] += c * law[j]
		}
		next := make([]float64, len(power)+len(f)-1)
		for j, a := range power {
			for l, b := range f {
				next[j+l] += a * b
			}
		}
		power = next
	}
	return m
}

// addMoments returns the moments of the sum of two independent variables.
func addMoments(a, b [5]float64) (sum [5]float64) {
	for i, row := range [5][]float64{{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}} {
		for j, choose := range row {
			sum[i] += choose * a[j] * b[i-j]
		}
	}
	return sum
}

// eachMatrix visits all SJLTs with each entry a column in its block, as a function that multiplies
// by it.
func eachMatrix(p Params, visit func(rows func(v []float64) []float64)) {
	s, n := p.sparsity(), p.Rows/p.sparsity()
	entries := make([]int, int(p.Dim)*s) // twice the row within its block, and the sign
	var walk func(i int)
	walk = func(i int) {
		if i == len(entries) {
			visit(func(v []float64) []float64 {
				rows := make([]float64, p.Rows)
				for j, x := range v {
					for r := range s {
						e := entries[j*s+r]
						rows[r*n+e/2] += float64(1-2*(e%2)) * x * p.factor()
					}
				}
				return rows
			})
			return
		}
		for e := range 2 * n {
			entries[i] = e
			walk(i + 1)
		}
	}
	walk(0)
}

// The widths of intervals in standard errors of a distance: where noise is most of the error, where
// the matrix is, and what 8-wise independence and several entries a column do to that.
func TestWidthsOfIntervals(t *testing.T) {
	for _, c := range []struct {
		p       Params
		z       float64
		ten, at float64 // of the upper end at 90 and at 99 %, in standard errors there
	}{
		{Params{Rows: 256, Epsilon: 1}, 30, 2.42, 4.94},
		{Params{Rows: 1024, Epsilon: 1}, 300, 2.39, 4.49},
		{Params{Rows: 256, Rho: 0.01, Sparsity: 8}, 3e3, 2.35, 4.19},
		{Params{Rows: 256, Rho: 0.5, Sparsity: 8}, 1e5, 2.51, 4.46},
		{Params{Rows: 1024, Rho: 0.5, Sparsity: 16}, 1e5, 2.50, 4.45},
		{Params{Rows: 1024, Rho: 0.5, Transform: SRHT}, 1e3, 2.34, 4.17},
		{Params{Rows: 1024, Rho: 0.5, Sparsity: 16, Independence: 4}, 1e5, 3.162, 10},
		{Params{Rows: 1024, Epsilon: 1}, 1e5, 3.162, 10}, // a collision of two heavy ones
	} {
		p := c.p
		p.Dim, p.Seed = 1000, seed(0)
		plan := planned(p)
		n, _ := plan.noise()
		for miss, want := range map[float64]float64{0.1: c.ten, 0.01: c.at} {
			_, hi := p.interval(n.plus(n), c.z, miss)
			require.InEpsilon(t, want, (hi-c.z)/plan.DistanceStdErr(hi, 0), 0.003, "%+v", p)
		}
	}
}

// Intervals of squared distances and of products hold with their confidence, over 10,000 pairs of
// sketches with -long, for differences that are normal, sparse and in one coordinate.
func TestCoverageOfIntervals(t *testing.T) {
	const dim = 100
	random := rand.New(rand.NewPCG(1, 2))
	normal, sparse, one := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for i := range normal {
		normal[i] = random.NormFloat64()
	}
	sparse[3], sparse[50], one[7] = 10, 10, 15
	tries := 200
	if dptest.Long() {
		tries = 10_000
	}
	confidences := []float64{0.9, 0.95, 0.99}
	for _, p := range []Params{
		{Rows: 64, Epsilon: 1}, {Rows: 64, Epsilon: 20}, {Rows: 64, Epsilon: 20, Delta: 1e-6, Sparsity: 8, Independence: 8},
		{Rows: 64, Rho: 1, Transform: SRHT},
	} {
		p.Dim = dim
		for _, difference := range [][]float64{normal, sparse, one} {
			v := lengthsOf(difference, normal)
			inside := make([]int, 2*len(confidences))
			for i := range tries {
				p.Seed = seed(i)
				a := dptest.OK(New(p))(t)
				b := dptest.OK(a.Sibling())(t)
				a.AddDense(difference)
				b.AddDense(normal)
				x := dptest.OK(a.Release())(t)
				y := dptest.OK(b.Release())(t)
				for j, confidence := range confidences {
					lo, hi, err := x.SquaredDistanceInterval(y, confidence)
					require.NoError(t, err)
					if lo <= v.zz && v.zz <= hi {
						inside[j]++
					}
					lo, hi, err = x.DotInterval(y, confidence)
					require.NoError(t, err)
					if lo <= v.xy && v.xy <= hi {
						inside[j+len(confidences)]++
					}
				}
			}
			for j, n := range inside {
				confidence := confidences[j%len(confidences)]
				dptest.Alarm(t, 1e-10)
				require.Greater(t, distuv.Binomial{N: float64(tries), P: confidence}.CDF(float64(n)), 1e-10, "%+v, confidence %v: %d of %d", p, confidence, n, tries)
			}
		}
	}
}
