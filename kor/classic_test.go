package kor

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/stretchr/testify/require"
)

// At n = 2048 the estimator of the thesis says nothing: its bound on the failure is above 100, and the intervals meet in none of the runs.
func TestIntervalIntersection(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4} {
		s := newSimulator(epsilon, 2048, 32, 1, false)
		for range 20 {
			l := s.draw(1e5)
			r := &Sketch{release{params: s.params, parts: []part{{id(1), epsilon, mustFlips(t, s.params).K(), 1}}, bits: make([]uint64, s.params.words())}}
			for i, ones := range l.ones[:32] {
				for k := range ones {
					r.r.bits[i*32+k/64] |= 1 << (k % 64)
				}
			}
			require.Equal(t, l, r.r.likelihood())
			estimate, failure := r.IntervalIntersection(0.999)
			require.Zero(t, estimate)
			require.Greater(t, failure, 100.0)
		}
	}
}

// On the expected numbers of ones of a sketch of 2³⁰ cells the intervals meet at the size. (The ones are rounded to integers, and what is left of
// γ is many times that.)
func TestIntervalIntersectionWithManyCells(t *testing.T) {
	p := Params{Epsilon: 3, Cells: 1 << 26, Levels: 4, Seed: hashing.Seed{1}}
	s := &Sketch{release{params: p, parts: []part{{id(1), 3, mustFlips(t, p).K(), 1}}, bits: make([]uint64, p.words())}}
	l := s.r.law()
	size := 1.5 * float64(p.Cells)
	for i := range p.Levels {
		ones := int(l.cells * -math.Expm1(l.logSign-size/l.unit*rate(i)) / 2)
		for k := range ones / 64 {
			s.r.bits[i*p.stride()+k] = math.MaxUint64
		}
	}
	estimate, _ := s.IntervalIntersection(0.9)
	require.InEpsilon(t, size, estimate, 0.01)
	require.InEpsilon(t, size, s.Estimate(), 1e-4)
	for _, beta := range []float64{0, 1, -1, math.NaN(), 1e-9} {
		estimate, failure := s.IntervalIntersection(beta)
		require.True(t, math.IsNaN(estimate) && math.IsNaN(failure))
	}
}
