package arete

import (
	"math"
	"math/cmplx"
)

// meanAbs returns E|Z| of the law by its characteristic function φ, without a table of masses, to a
// relative error of 1e-6 for any H and V. As |k| = (1/π)·∫_0^π (1 − cos ku)/(1 − cos u) du,
//
//	E|Z| = (1/π)·∫_0^π (1 − φ(u))/(1 − cos u) du,
//	−ln φ(u) = V·(1 − cos u) + 2·Σ ν(k)·(1 − cos ku).
//
// The cosines of the jumps swing once in about 2π/H. From u = 300/H on what they add swings with an
// amplitude below c/300, and its integral is below c·H/300³: only the core and the constant 2·Σ ν
// are left.
func (j jump) meanAbs() float64 {
	h := float64(j.steps)
	const swings = 300
	near := min(math.Pi, swings/h)
	part := func(u, exponent float64) float64 {
		half := math.Sin(u / 2)
		return -math.Expm1(-exponent-2*j.core*half*half) / (2 * half * half)
	}
	sum := 0.0
	panels := math.Ceil(near * h)
	for i := 0.0; i < panels; i++ {
		sum += gauss(near*i/panels, near*(i+1)/panels, func(u float64) float64 { return part(u, j.swing(u)) })
	}
	for low := near; low < math.Pi; low *= 1.25 {
		sum += gauss(low, min(1.25*low, math.Pi), func(u float64) float64 { return part(u, j.jumps) })
	}
	return sum / math.Pi
}

// swing returns 2·Σ ν(k)·(1 − cos ku) over the jumps. The sum over a block that starts at s and has
// n steps is n − cos(u·(s + (n+1)/2))·sin(nu/2)/sin(u/2).
func (j jump) swing(u float64) float64 {
	w, h := float64(j.width), float64(j.steps)
	half := math.Sin(u / 2)
	sum := j.first() * (w - math.Cos(u*(w+1)/2)*math.Sin(w*u/2)/half)
	turn, at := cmplx.Rect(1, u*h), cmplx.Rect(1, u*(w+(h+1)/2))
	run := math.Sin(h*u/2) / half
	q := j.decay() // the sum over all blocks: a geometric series
	sum += j.later() * (h/(1-q) - real(at/(1-complex(q, 0)*turn))*run)
	return 2 * sum
}

// gauss returns the integral of f from a to b by Gauss and Legendre's rule of eight nodes.
func gauss(a, b float64, f func(x float64) float64) float64 {
	middle, half, sum := (a+b)/2, (b-a)/2, 0.0
	for _, node := range [...][2]float64{
		{0.1834346424956498, 0.3626837833783620}, {0.5255324099163290, 0.3137066458778873},
		{0.7966664774136267, 0.2223810344533745}, {0.9602898564975363, 0.1012285362903763},
	} {
		sum += node[1] * (f(middle-half*node[0]) + f(middle+half*node[0]))
	}
	return sum * half
}
