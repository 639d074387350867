package kor

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/stretchr/testify/require"
)

// intervalIntersection is the estimator of the thesis (section 3.4.2, with the constants of Lemmas
// 3.5 and 3.7, and 1 − 2p in the place of its value at p = 1/(2+ε)): each level gives an interval,
// an estimate is any size that is in all of them if they meet in one of a ratio of at most 1 + η,
// and else 0.
//
// What is proved: for 1/n < β < 1 and a size W of at least n, the estimate is within a factor 1 + β
// of W but for a probability of failure = 6·L·e^{−γ²p³n/108}, γ = (β − 1/n)(1 − 2p)/(7e³). This
// says something for n ≥ 2·10¹⁰ or so: at n = 2048 the bound is above 100, and the intervals hardly
// ever meet. The γ of the Lemma is an upper bound, which is taken here.
func intervalIntersection(s *Sketch, beta float64) (estimate, failure float64) {
	l := s.likelihood()
	n, c, p := l.cells, math.Exp(l.logSign), s.flipProb()
	gamma := (beta - 1/n) * c / (7 * math.Exp(3))
	failure = 6 * float64(l.levels) * math.Exp(-gamma*gamma*p*p*p*n/108)
	lo, hi := math.Inf(-1), math.Inf(1)
	for i := range l.levels {
		z := float64(l.ones[i])
		if z >= (1-gamma)*n/2 {
			continue // [0, u]
		}
		scale := n / rate(i)
		lo = max(lo, scale*math.Log(c/(1-2*z/((1+gamma)*n))))
		hi = min(hi, scale*math.Log(c/(1-2*z/((1-gamma)*n))))
	}
	spread := math.Exp(3)/c - 1
	eta := 6 * gamma * spread / (1 - gamma - 2*gamma*spread)
	if !(lo > 0 && lo <= hi && hi <= (1+eta)*lo) {
		return 0, failure
	}
	return lo + (hi-lo)/2, failure
}

// At n = 2048 the estimator of the thesis says nothing: its bound on the failure is above 100, and
// the intervals meet in none of the runs.
func TestIntervalIntersection(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4} {
		s := newSimulator(epsilon, 2048, 32, 1, false)
		for range 20 {
			l := s.draw(1e5)
			r := &Sketch{release{params: s.params, parts: []part{{id(1), epsilon, mustFlips(t, s.params).K(), 1}}, bits: make([]uint64, s.params.words())}}
			for i, ones := range l.ones[:32] {
				for k := range ones {
					r.bits[i*32+k/64] |= 1 << (k % 64)
				}
			}
			require.Equal(t, l, r.likelihood())
			estimate, failure := intervalIntersection(r, 0.999)
			require.Zero(t, estimate)
			require.Greater(t, failure, 100.0)
		}
	}
}

// On the expected numbers of ones of a sketch of 2³⁰ cells the intervals meet at the size. (The
// ones are rounded to integers, and what is left of γ is many times that.)
func TestIntervalIntersectionWithManyCells(t *testing.T) {
	p := Params{Epsilon: 3, Cells: 1 << 26, Levels: 4, Seed: hashing.Seed{1}}
	s := &Sketch{release{params: p, parts: []part{{id(1), 3, mustFlips(t, p).K(), 1}}, bits: make([]uint64, p.words())}}
	l := s.law()
	size := 1.5 * float64(p.Cells)
	for i := range p.Levels {
		ones := int(l.cells * -math.Expm1(l.logSign-size/l.unit*rate(i)) / 2)
		for k := range ones / 64 {
			s.bits[i*p.stride()+k] = math.MaxUint64
		}
	}
	estimate, _ := intervalIntersection(s, 0.9)
	require.InEpsilon(t, size, estimate, 0.01)
	require.InEpsilon(t, size, s.Estimate(), 1e-4)
}
