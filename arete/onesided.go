package arete

import (
	"math"
	"sort"
)

// All laws on the lattice are Z = A − B with independent A and B of one law on 0, 1, 2, …,
// infinitely divisible: the sum of the jumps upwards, and of those downwards. So what is to know
// about Z follows from the masses g of A, by sums of positive terms only, accurate into the tails:
//
//	Pr[Z = k] = Σ_y g(y)·g(y+k),  Pr[Z > k] = Σ_y g(y)·Pr[A > y+k],
//	E|Z| = 2·Σ_k Pr[A ≤ k]·Pr[A > k].
//
// oneSided holds g(0), …, g(M−1) to a relative error of slack, and Pr[A > y] without
// what lies beyond M.
type oneSided struct {
	g      []float64
	tail   []float64 // tail[y] = g(y+1) + … + g(M−1)
	beyond float64   // at least Pr[A ≥ M]
	slack  float64
	terms  int // that head takes
}

// newOneSided completes what is known of g.
func newOneSided(g []float64, beyond, slack float64) *oneSided {
	tail := make([]float64, len(g))
	for y := len(g) - 1; y > 0; y-- {
		tail[y-1] = tail[y] + g[y]
	}
	return &oneSided{g, tail, beyond, slack, min(len(g), maxHead)}
}

// prob returns Σ g(y)·g(y+k) for k ≥ 0: a lower bound of Pr[Z = k], short of it by at most beyond²,
// and beyond·g(M−k) where g decreases.
func (o *oneSided) prob(k int) float64 { return o.correlate(o.g, k) }

// maxHead is how many terms of a sum a certificate takes. Lattices of more steps than that have so
// few jumps that the others hardly count.
const maxHead = 1 << 13

// head returns the first terms of prob(k): a lower bound of Pr[Z = k], short of it by less than
// rest.
func (o *oneSided) head(k int) float64 {
	return o.correlate(o.g[:min(len(o.g), k+o.terms)], k)
}

// rest bounds what head leaves out, the terms with y ≥ terms and those with y + k ≥ M: the former
// are at most Pr[A ≥ terms]², as both factors are masses of A there, the latter Pr[A ≥ M].
func (o *oneSided) rest() float64 {
	if len(o.g) <= o.terms {
		return o.beyond
	}
	far := o.tail[o.terms-1] + o.beyond
	return far*far + o.beyond
}

// shorten has head take no more terms than it needs for a relative 1e-8 of what is at least least.
func (o *oneSided) shorten(least float64) {
	o.terms = sort.Search(o.terms, func(y int) bool { return y > 0 && o.tail[y-1]*o.tail[y-1] <= 1e-8*least })
}

// survival returns Pr[Z > k] for k ≥ 0.
func (o *oneSided) survival(k int) float64 { return o.correlate(o.tail, k) }

// correlate returns Σ g(y)·h(y+k).
func (o *oneSided) correlate(h []float64, k int) float64 {
	if k >= len(h) {
		return 0
	}
	sum, h := 0.0, h[k:]
	for y, x := range h {
		sum += o.g[y] * x
	}
	return sum
}

// meanAbs returns E|Z|.
func (o *oneSided) meanAbs() float64 {
	sum, below := 0.0, 0.0
	for y, x := range o.tail {
		below += o.g[y]
		sum += below * x
	}
	return 2 * sum
}

// panjerSlack bounds the relative error of n masses made by a recursion of positive terms: the
// error of g(m) is at most the largest one before it and what its own sums add, which are sums of
// at most n terms, of n + 8 roundings each way. That a sum over y has n terms more is in it.
func panjerSlack(n int) float64 { return 2 * float64(n+64) * float64(n+64) * 0x1p-53 }

// tilts is how many x Chernoff's bound is tried at, from 0 to the limit where ln E e^{xA}, the
// exponent, becomes infinite.
const tilts = 10

// chernoff returns a bound on Pr[A ≥ m], the least of e^{−x·m}·E e^{xA} over some x.
func chernoff(exponent func(x float64) float64, limit, m float64) float64 {
	least := 0.0
	for i := 1; i < tilts; i++ {
		x := limit * float64(i) / tilts
		if log := exponent(x) - x*m; log < least { // not for NaN
			least = log
		}
	}
	return math.Exp(least) * (1 + slackLoss)
}

// chernoffReach returns an m with Pr[A ≥ m] ≤ e^{−nats}, near the least by the same bound.
func chernoffReach(exponent func(x float64) float64, limit, nats float64) float64 {
	least := math.Inf(1)
	for i := 1; i < tilts; i++ {
		x := limit * float64(i) / tilts
		if m := (exponent(x) + nats) / x; m < least {
			least = m
		}
	}
	return least
}
