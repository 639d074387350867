package jl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// bound returns the bound on E Q^order of tails_proof.md.
func bound(k, s, order int) float64 {
	m := moments{order: order, beta: 1}
	return m.collisions(k, s)
}

// The moments of all matrices of a tiny shape, each with its probability, are below the bound of
// tails_proof.md, which the second one attains apart from ‖x‖₄⁴.
func TestMomentsOfTinyMatrices(t *testing.T) {
	for _, c := range []struct {
		k, s int
		x    []float64
	}{
		{4, 1, []float64{1, 1}}, {4, 2, []float64{1, 1}}, {4, 4, []float64{1, 1}}, {8, 2, []float64{1, 1, 1}}, {4, 2, []float64{3, 2, 1}}, {4, 2, []float64{1, 1, 1}},
		{3, 1, []float64{1, 1, 1, 1}}, {3, 3, []float64{1, 2, 3}}, {2, 1, []float64{1, 1, 1, 1, 1, 1}}, {4, 4, []float64{1, 1, 1}}, {2, 2, []float64{1, 1, 1, 1, 1}},
	} {
		squared, fourth := 0.0, 0.0
		for _, v := range c.x {
			squared += v * v
			fourth += v * v * v * v
		}
		fourth /= squared * squared
		// Blocks are independent, so one of them is enumerated: the law of its part of Q.
		n := c.k / c.s
		part := map[float64]float64{}
		var walk func(j int, rows []float64, probability float64)
		walk = func(j int, rows []float64, probability float64) {
			if j == len(c.x) {
				q := -squared
				for _, y := range rows {
					q += y * y
				}
				part[q] += probability
				return
			}
			for i := range n {
				for _, sign := range []float64{1, -1} {
					rows[i] += sign * c.x[j]
					walk(j+1, rows, probability/float64(2*n))
					rows[i] -= sign * c.x[j]
				}
			}
		}
		walk(0, make([]float64, n), 1)
		total := map[float64]float64{0: 1}
		for range c.s {
			next := map[float64]float64{}
			for a, p := range total {
				for b, q := range part {
					next[a+b] += p * q
				}
			}
			total = next
		}
		for order := 2; order <= 12; order += 2 {
			moment := 0.0
			for q, p := range total {
				moment += p * math.Pow(q/squared/float64(c.s), float64(order))
			}
			require.LessOrEqual(t, moment, bound(c.k, c.s, order)*(1+1e-12), "k = %d, s = %d, x = %v, order %d", c.k, c.s, c.x, order)
			if order == 4 { // moments_proof.md
				require.LessOrEqual(t, moment, lengthFourth(float64(c.k), float64(c.s))*(1+1e-12), "k = %d, s = %d, x = %v", c.k, c.s, c.x)
			}
			if order == 2 {
				require.InEpsilon(t, bound(c.k, c.s, 2)*(1-fourth), moment, 1e-12)
			}
		}
	}
	require.InEpsilon(t, 12./64+48./512, bound(8, 8, 4), 1e-12) // of χ²₈/8
	require.InEpsilon(t, 12./64+48./512, lengthFourth(8, 8), 1e-12)
	require.InEpsilon(t, 2./512, bound(512, 16, 2), 1e-12)
}

// The hash functions have the independence that the theorem takes.
func TestIndependence(t *testing.T) {
	p := Params{Dim: 100, Rows: 70, Sparsity: 2, Independence: 28, Epsilon: 1, Seed: seed(1)}
	require.NoError(t, p.validate())
	for r, h := range newSJLT(p).hashes {
		want := dptest.OK(hashing.NewPolynomial(p.Seed.Derive(labelBlock+uint64(r)), 28))(t)
		require.Equal(t, want, h)
	}
	p.Transform, p.Sparsity = Rademacher, 0
	for i, h := range newRademacher(p).hashes {
		want := dptest.OK(hashing.NewPolynomial(p.Seed.Derive(labelSigns+uint64(i)), 28))(t)
		require.Equal(t, want, h)
	}
	// Sketches of other hash functions do not compare; 0 and 4 are one.
	release := func(independence int) *Sketch {
		q := p
		q.Independence = independence
		b := dptest.OK(New(q))(t)
		return dptest.OK(b.Release())(t)
	}
	dptest.OK(release(0).SquaredDistance(release(4)))(t)
	dptest.Refused(t, dptest.Err(release(4).SquaredDistance(release(6))), ErrMismatch, "Independence")
	for _, q := range []Params{{Transform: SRHT, Independence: 4}, {Independence: 3}, {Independence: 1025}, {Independence: -4}} {
		q.Dim, q.Rows, q.Epsilon, q.Seed = 100, 8, 1, seed(1)
		require.ErrorIs(t, dptest.Err(New(q)), ErrParams, "%+v", q)
	}
}

// What Fit returns is enough by the theorem, or by the variance for transforms of 4-wise
// independence, and one block less is not; and the table of its documentation.
func TestFitIsProved(t *testing.T) {
	for _, transform := range []Transform{SJLT, SRHT, FJLT, Rademacher, Normal} {
		for _, beta := range []float64{0.1, 0.9} {
			for _, failure := range []float64{0.001, 0.5} {
				p := dptest.OK(Params{Transform: transform, Dim: 1 << 20}.Fit(beta, failure))(t)
				enough := func(k int, slack float64) bool {
					p.Rows = k
					if transform != SJLT && transform != Rademacher {
						return p.spread().distance(disturbance{}, 1, 0)/(beta*beta) <= failure*slack
					}
					s := p.Sparsity
					if s == 0 {
						s = k
					}
					return bound(k, s, p.Independence/2)/math.Pow(beta, float64(p.Independence/2)) <= failure*slack
				}
				rows := p.Rows
				require.True(t, enough(rows, 1), "%v, %v rows", p, rows)
				if less := rows - max(p.Sparsity, 1); less > 0 {
					require.False(t, enough(less, 1-1e-6), "%v, %v rows", transform, rows)
				}
			}
		}
	}
	for _, c := range []struct {
		p             Params
		failure, beta float64
		rows, s       int
	}{
		{Params{Transform: Rademacher}, 1e-3, 0.5, 154, 0}, {Params{Transform: Rademacher}, 1e-6, 0.5, 342, 0}, {Params{Transform: Rademacher}, 1e-3, 0.25, 587, 0},
		{Params{Transform: Rademacher}, 1e-6, 0.25, 1281, 0}, {Params{Transform: Rademacher}, 1e-3, 0.1, 3612, 0}, {Params{Transform: Rademacher}, 1e-6, 0.1, 7821, 0},
		{Params{}, 1e-3, 0.5, 256, 64}, {Params{}, 1e-6, 0.5, 640, 128}, {Params{}, 1e-3, 0.25, 896, 128}, {Params{}, 1e-6, 0.25, 2304, 256},
		{Params{}, 1e-3, 0.1, 6656, 256}, {Params{}, 1e-6, 0.1, 16896, 512}, {Params{Sparsity: 16}, 1e-3, 0.5, 3808, 16}, {Params{Sparsity: 16}, 1e-3, 0.25, 32000, 16},
		{Params{Sparsity: 16}, 1e-3, 0.1, 200016, 16}, {Params{Sparsity: 1}, 1e-3, 0.5, 8000, 1}, {Params{Sparsity: 1}, 1e-3, 0.25, 32000, 1},
		{Params{Sparsity: 1}, 1e-3, 0.1, 200000, 1}, {Params{Transform: Normal}, 0.01, 0.1, 20000, 0},
	} {
		c.p.Dim = 1 << 20
		p := dptest.OK(c.p.Fit(c.beta, c.failure))(t)
		require.InDelta(t, c.rows, p.Rows, max(1, float64(c.s)), "%+v", c)
		require.Equal(t, c.s, p.Sparsity, "%+v", c)
		require.LessOrEqual(t, p.Independence, int(4*math.Ceil(math.Log(1/c.failure)/2)))
	}
	for _, c := range [][2]float64{{0, 0.1}, {1, 0.1}, {-1, 0.1}, {math.NaN(), 0.1}, {0.1, 0}, {0.1, 1}, {0.1, math.NaN()}, {1e-3, 0.1}} {
		require.ErrorIs(t, dptest.Err(Params{Dim: 100}.Fit(c[0], c[1])), ErrParams, "%v", c)
	}
	for _, p := range []Params{{}, {Dim: 1<<60 + 1}, {Dim: 100, Transform: SRHT, Sparsity: 2}, {Dim: 100, Independence: 2}} {
		require.ErrorIs(t, dptest.Err(p.Fit(0.5, 0.1)), ErrParams, "%+v", p)
	}
	// Where the hash functions' deviation from uniform matters, more rows or none.
	require.ErrorIs(t, dptest.Err(Params{Dim: 1 << 60, Sparsity: 1}.Fit(0.5, 0.1)), ErrParams)
}

// The vectors that are worst for few entries a column, and a flat one, fail as rarely as promised;
// with half as many rows and one entry a column two equal coordinates fail too often. The seeds are
// fixed, so nothing fails by chance.
func TestFailuresOfFit(t *testing.T) {
	const beta, failure = 0.5, 0.01
	n := seeds(1000)
	p := dptest.OK(Params{Dim: 64}.Fit(beta, failure))(t)
	rates := func(p Params) (pair, flat float64) {
		random := rand.New(rand.NewPCG(5, 6))
		two, all := make([]int64, 2), make([]int64, 64)
		for range n {
			for i := range p.Seed {
				p.Seed[i] = byte(random.Uint64())
			}
			m := p.newMatrix()
			for _, x := range []struct {
				x     []int64
				count *float64
			}{{two, &pair}, {all, &flat}} {
				for j := range x.x {
					x.x[j] = 1
				}
				q := 0.0
				for _, y := range apply(m, x.x) {
					q += float64(y*y) * p.factor() * p.factor()
				}
				if math.Abs(q/float64(len(x.x))-1) > beta {
					*x.count += 1 / float64(n)
				}
			}
		}
		return pair, flat
	}
	limit := failure + 3*math.Sqrt(failure/float64(n))
	pair, flat := rates(p)
	require.Less(t, pair, limit)
	require.Less(t, flat, limit)
	p.Sparsity, p.Rows = 1, p.Rows/2
	pair, _ = rates(p)
	require.InDelta(t, 1/float64(p.Rows), pair, 3*math.Sqrt(1/float64(p.Rows)/float64(n)))
	require.Greater(t, 1/float64(p.Rows), failure)
}
