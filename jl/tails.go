package jl

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Fit returns p with the Rows, and for an SJLT the Sparsity and Independence, for which a sketch
// without noise holds a squared length within a factor 1 ± β, except with the given probability of
// failure over the Seed. It is proved for the hash functions as implemented, for each vector
// (tails_proof.md). Noise wants fewer rows ([Params.Plan]).
//
// For an SJLT, a Sparsity of 0 chooses the least power of two, up to 1024, whose rows are at most
// 2½ times those of Rademacher signs. An Independence of 0 chooses at most 4⌈½·ln(1/failure)⌉; of
// another one, a multiple of 4, at most that is used. Rows, for failures of 10⁻³, 10⁻⁶:
//
//	                   β = ½          β = ¼           β = 1/10
//	Rademacher         154, 342       587, 1281       3612, 7821
//	SJLT, s chosen     256, 640       896, 2304       6656, 16896
//	  s is              64, 128       128, 256         256, 512
//	  s = 1, 10⁻³     8000          32000           200000
//
// The error wraps [ErrParams] unless β and failure are in (0, 1), or if 2²⁰ rows are not enough.
func (p Params) Fit(beta, failure float64) (Params, error) {
	q := p
	q.Rows = p.sparsity()
	if q.Seed.IsZero() {
		q.Seed = hashing.Seed{1} // no matter which
	}
	q.Change, q.Input = Change{}, false
	switch err := q.validateTransform(); {
	case err != nil:
		return Params{}, err
	case !(beta > 0 && beta < 1):
		return Params{}, bad("beta", beta, "a number in (0, 1)")
	case !(failure > 0 && failure < 1):
		return Params{}, bad("failure", failure, "a number in (0, 1)")
	case p.Dim > 1<<60:
		return Params{}, bad("Dim", p.Dim, "at most 2⁶⁰")
	}
	switch p.Transform {
	case SJLT:
		p = p.sparseTail(beta, failure)
	case Rademacher:
		p.Rows, p.Independence = p.leastTail(beta, failure, func(k int, m *moments) float64 { return m.at(k, k) })
	default:
		p.Rows = p.leastRows(failure, func(k int) float64 {
			p.Rows = k
			return p.spread().distance(disturbance{}, 1, 0) / (beta * beta)
		})
	}
	if p.Rows > maxRows {
		return Params{}, bad("failure", failure, fmt.Sprintf("a larger one: 2²⁰ rows are too few for β = %.3g", beta))
	}
	return p, nil
}

// maxTailSparsity is the largest that Fit chooses, and maxMoment the highest moment.
const (
	maxTailSparsity = 1024
	maxMoment       = 64
)

// sparseTail fills in what an SJLT needs.
func (p Params) sparseTail(beta, failure float64) Params {
	if p.Sparsity != 0 {
		return p.sparse(p.Sparsity, beta, failure)
	}
	dense, _ := p.leastTail(beta, failure, func(k int, m *moments) float64 { return m.at(k, k) })
	best := p.sparse(1, beta, failure)
	for s := 2; s <= maxTailSparsity && best.Rows > dense*5/2; s *= 2 {
		if next := p.sparse(s, beta, failure); next.Rows < best.Rows {
			best = next
		}
	}
	return best
}

// sparse fills in what an SJLT with s entries per column needs.
func (p Params) sparse(s int, beta, failure float64) Params {
	p.Sparsity = s
	p.Rows, p.Independence = p.leastTail(beta, failure, func(k int, m *moments) float64 { return m.collisions(k, s) })
	return p
}

// leastTail returns the least number of rows, a multiple of s, and the independence, with which a
// bound on a moment of the error, in units of β, is at most failure; more than 2²⁰ rows if none are
// enough.
func (p Params) leastTail(beta, failure float64, bound func(k int, m *moments) float64) (rows, independence int) {
	highest := 2 * int(math.Ceil(math.Log(1/failure)/2))
	if p.Independence != 0 {
		highest = p.Independence / 2
	}
	rows = math.MaxInt
	for order := 2; order <= max(2, min(highest, maxMoment)); order += 2 {
		m := moments{order: order, beta: beta}
		if k := p.leastRows(failure, func(k int) float64 { return bound(k, &m) }); k < rows {
			rows, independence = k, 2*order
		}
	}
	if p.Independence != 0 {
		independence = p.Independence
	}
	return rows, independence
}

// leastRows returns the least number of rows, a multiple of s, with which the bound is at most
// failure, if values of the hash functions have the probabilities they have.
func (p Params) leastRows(failure float64, bound func(k int) float64) int {
	s := p.sparsity()
	return s * int(exact.LeastInt(1, func(blocks int64) bool {
		k := s * int(blocks)
		return k > maxRows || bound(k)*math.Exp(float64(p.Dim)*float64(k)*0x1p-59)*(1+0x1p-30) <= failure
	}))
}

// moments are those of the given even order: central moments of χ² with y degrees of freedom,
// divided by (sβ)^order, as tails_proof.md has them.
type moments struct {
	order  int
	beta   float64
	s      int
	values []float64 // at y = 0 … s
}

// at returns the one at y.
func (m *moments) at(y, s int) float64 {
	var kappa, mu [maxMoment + 1]float64
	mu[0] = 1
	unit := 1 / (float64(s) * m.beta)
	kappa[1] = float64(y) * unit // what the others follow from; the first cumulant is 0
	for n := 2; n <= m.order; n++ {
		kappa[n] = kappa[n-1] * 2 * float64(n-1) * unit
	}
	for n := 2; n <= m.order; n++ {
		choose := float64(n - 1) // n−1 over j−1
		for j := 2; j <= n; j++ {
			mu[n] += choose * kappa[j] * mu[n-j]
			choose *= float64(n-j) / float64(j)
		}
	}
	return mu[m.order]
}

// collisions returns the mean at y = B, the number of blocks of k/s rows in which two columns
// collide: B is Binomial(s, s/k).
func (m *moments) collisions(k, s int) float64 {
	if m.s != s {
		m.s, m.values = s, make([]float64, s+1)
		for y := range m.values {
			m.values[y] = m.at(y, s)
		}
	}
	q := float64(s) / float64(k)
	if q == 1 {
		return m.values[s]
	}
	mean, log := 0.0, float64(s)*math.Log1p(-q)
	for y := 1; y <= s; y++ {
		log += math.Log(float64(s-y+1)/float64(y)) + math.Log(q/(1-q))
		mean += math.Exp(log) * m.values[y]
	}
	return mean
}
