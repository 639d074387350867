// Package thresholds has the noise that package misragries adds, and its thresholds: δ as a
// function of both, and the calibrations that invert it. It knows no keys.
package thresholds

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// Noise is the noise and the threshold of a release, in units: of 1/(k+1) of a count where sketches
// are reduced, of 1/j where they are trimmed, else of a count.
type Noise struct {
	Scale           float64 // b
	From, Threshold int64   // R, τ
	Shift           float64 // β; 0 where sketches are not trimmed
	Offset          int64   // o
	Cap             int64   // o_T, in counts
	CapScale        float64 // of N_T, in counts
}

// Valid reports whether the noise can be drawn.
func (n Noise) Valid() bool {
	_, err := noise.NewDiscreteLaplace(n.Scale)
	if err == nil && n.Shift != 0 {
		_, err = noise.NewDiscreteLaplace(n.Shift)
	}
	return err == nil
}

// The exact δ of the release. Write q = e^{−ε}; η, L₁, L₂ are independent discrete Laplace
// variables, Pr[x] = p(x) = (1−q)/(1+q)·q^|x|. For integers t ≥ 0 (by summing geometric series)
//
//	G(t) = Pr[L ≥ t]     = q^t/(1+q)
//	S(t) = Pr[η + L ≥ t] = q^t·[(1−q)(t + C) + q]/(1+q)²,   C = (1+q²)/(1−q²)
//
// and, for τ ≥ 1, splitting the sum over η = x at x ≤ 0, 1 ≤ x < τ and x ≥ τ,
//
//	B(τ) = Pr[η+L₁ ≥ τ−1 and η+L₂ ≥ τ] = Σ_x p(x)·G(τ−1−x)·G(τ−x)
//	     = (1−q)/(1+q)·q^τ·{ q^{τ−1}/[(1+q)²(1−q³)] + (1−q^{τ−1})/[(1+q)²(1−q)]
//	                         + 1/(1−q) − q/(1−q²) + q³/[(1+q)²(1−q³)] }.
//
// All terms but one are positive, and that one is smaller than half its neighbour; δ = S(τ−1) +
// S(τ) − B(τ) loses at most a factor of two to cancellation because B(τ) ≤ S(τ). A few roundings of
// 2⁻⁵³ each are covered by the relative 2⁻⁴⁰ by which the threshold search tightens δ.

// SharedSurvival returns ln S(t) for t ≥ 0.
func SharedSurvival(epsilon, t float64) float64 {
	q, p := math.Exp(-epsilon), -math.Expm1(-epsilon) // p = 1 − q
	c := (1 + q*q) / (p * (1 + q))
	return -epsilon*t + math.Log(p*(t+c)+q) - 2*math.Log1p(q)
}

// KeptDelta returns ln δ(τ) for k counters, noise parameter ε and an integer τ ≥ 1: the release is
// (ε, δ)-private for this δ and for no smaller one. keptzeros_proof.md has the proof.
//
//	k ≥ 2:  δ = Pr[max(1 + η + L₁, η + L₂) ≥ τ]
//	k = 1:  δ = Pr[1 + η + L ≥ τ]
func KeptDelta(k int, epsilon, tau float64) float64 {
	if k == 1 {
		return SharedSurvival(epsilon, tau-1)
	}
	q, p := math.Exp(-epsilon), -math.Expm1(-epsilon)
	cube := -math.Expm1(-3 * epsilon) // 1 − q³
	c := (1 + q*q) / (p * (1 + q))
	square := (1 + q) * (1 + q)
	// Everything in units of q^{τ−1}.
	s := (p*(tau-1+c) + q + q*(p*(tau+c)+q)) / square
	ends := (math.Exp(-epsilon*(tau-1)) + q*q*q) / (square * cube)
	middle := -math.Expm1(-epsilon*(tau-1)) / (square * p)
	rest := 1/p - q/(p*(1+q))
	b := p / (1 + q) * q * (ends + middle + rest)
	return -epsilon*(tau-1) + math.Log(s-b)
}

// KeptThreshold returns the least integer τ ≥ 1 with δ(τ) ≤ δ.
func KeptThreshold(k int, epsilon, delta float64) int64 {
	want := math.Log(delta) - 0x1p-40*max(1, -math.Log(delta))
	return exact.LeastInt(1, func(tau int64) bool { return KeptDelta(k, epsilon, float64(tau)) <= want })
}

// Reach returns the least n ≥ 0 with Pr[L ≥ n] ≤ δ for noise of scale b.
func Reach(b, delta float64) int64 {
	return leastReach(b, math.Log(delta)-0x1p-40*max(1, -math.Log(delta)))
}

// leastReach returns the least n ≥ 0 with ln Pr[L ≥ n] ≤ want for noise of scale b.
func leastReach(b, want float64) int64 {
	return exact.LeastInt(0, func(n int64) bool { return exact.LogLaplaceTail(b, n) <= want })
}
