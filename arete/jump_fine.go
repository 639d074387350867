package arete

import (
	"math"
	"sort"
)

// core is the law of the core: a Skellam variable S of variance V > 0. Its masses are sums and
// products of positive terms, so they are accurate to a relative error of slackLoss in all of them.
type core struct {
	mass    []float64 // Pr[S = t], 0 ≤ t < n
	atLeast []float64 // Pr[S ≥ t], 0 ≤ t ≤ n, without what is beyond
	beyond  float64   // at least Pr[S ≥ n]
}

// newCore computes the masses up to 12 deviations, by r(t) = S(t+1)/S(t) = 1/(2(t+1)/V + r(t+1)),
// the recursion of Bessel functions, downwards. It starts two deviations further on, from any
// number in [0, 1]: an error of r(t+1) becomes one of r(t)²·as much, and the product of these
// squares is below e^{−50}.
func newCore(v float64) *core {
	n := int(12*math.Sqrt(v)) + 40
	ratio := make([]float64, n)
	r := 0.0
	for t := n + int(2*math.Sqrt(v)) + 40; t >= 0; t-- {
		r = 1 / (2*float64(t+1)/v + r)
		if t < n {
			ratio[t] = r
		}
	}
	c := &core{mass: make([]float64, n), atLeast: make([]float64, n+1)}
	c.mass[0] = 1
	for t := 1; t < n; t++ {
		c.mass[t] = c.mass[t-1] * ratio[t-1]
	}
	c.beyond = c.mass[n-1] * ratio[n-1] / (1 - ratio[n-1]) * (1 + slackLoss)
	for t := n - 1; t >= 0; t-- {
		c.atLeast[t] = c.atLeast[t+1] + c.mass[t]
	}
	sum := 2*c.atLeast[1] + c.mass[0]
	for t := range c.mass {
		c.mass[t] /= sum
		c.atLeast[t] /= sum
	}
	c.beyond /= sum
	return c
}

// s returns S(t) for any t below n.
func (c *core) s(t int) float64 { return c.mass[max(t, -t)] }

// from returns Pr[S ≥ t], for t ≥ n at least that if up, and at most, 0, if not.
func (c *core) from(t int, up bool) float64 {
	switch {
	case t <= -len(c.mass):
		return 1
	case t <= 0:
		return 1 - c.from(1-t, !up)
	}
	p := c.atLeast[min(t, len(c.mass))]
	if up {
		p += c.beyond
	}
	return p
}

// between returns at most Pr[from ≤ S < to].
func (c *core) between(from, to int) float64 {
	if from < -len(c.mass) {
		from = -len(c.mass)
	}
	return max(0, c.from(from, false)-c.from(to, true))
}

// quietQuantile returns a k with Pr[|Z| > k] ≤ miss: there is no jump, and the core is within k.
// +Inf if jumps are not as rare as that, or the core is wider than any that is calibrated.
func (j jump) quietQuantile(miss float64) float64 {
	miss += math.Expm1(-j.jumps)
	if !(miss > 0) || j.core == 0 || j.core > 2*perParty*maxParties {
		return math.Inf(1)
	}
	c := newCore(j.core)
	k := sort.Search(len(c.mass), func(k int) bool { return 2*c.from(k+1, true) <= miss })
	if k == len(c.mass) {
		return math.Inf(1)
	}
	return float64(k)
}

// fineCertificate decides whether jump laws of one shape, on lattices as fine as one likes, are
// ε-DP for shifts of up to H: by theorem 2 of jump_proof.md, from the masses of the core alone.
type fineCertificate struct {
	epsilon float64
	core    *core
	h, w    int       // H and W − H
	p       []float64 // P(t) = Pr[S > t], rounded up
	m       []float64 // M(t) = Pr[t−w ≤ S < t+H], rounded down
	second  []float64 // Pr[t−w−H ≤ S < t−w], rounded down
	pairs   []float64 // ½·Pr[|S| ≤ T]·(H−1−t−T)⁺, rounded down
}

// fineStep is how many points of t share a test of what lies beyond them, in deviations of the
// core.
const fineStep = 1.0 / 16

func newFineCertificate(epsilon float64, steps, width int64, variance float64) *fineCertificate {
	c := newCore(variance)
	f := &fineCertificate{epsilon: epsilon, core: c, h: int(steps), w: int(width - steps)}
	n := len(c.mass) - 1
	far := int(7 * math.Sqrt(variance)) // T
	inside := c.between(-far, far+1)
	f.p, f.m, f.second, f.pairs = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for t := range n {
		f.p[t] = c.from(t+1, true)
		f.m[t] = c.between(t-f.w, t+f.h)
		f.second[t] = c.between(t-f.w-f.h, t-f.w)
		f.pairs[t] = inside / 2 * max(0, float64(f.h-1-t-far))
	}
	return f
}

// proves reports whether the law, of the shape of the certificate, is ε-DP.
func (f *fineCertificate) proves(j jump) bool {
	b := j.tailLoss()
	if !(b < f.epsilon) {
		return false
	}
	a, part := j.first(), j.later()/j.first()
	whole, half := math.Exp(j.jumps), math.Exp(j.jumps/2)
	most := math.Exp(f.epsilon)
	over := most * -math.Expm1(b-f.epsilon) // e^ε − e^b
	stride := int(fineStep*math.Sqrt(j.core)) + 1
	for t := range f.m {
		s := f.core.mass[t] * (1 + slackLoss)
		if t%stride == 0 && t-f.w > -len(f.core.mass) { // (c)
			r := f.core.s(t-f.w+1) / f.core.s(t-f.w) * (1 + slackLoss)
			g := (1/r - 1) / math.Expm1(-float64(f.w+1)*math.Log(r))
			if r == 1 {
				g = 1 / float64(f.w+1)
			}
			if over*a*(1-slackLoss) >= g*(1+slackLoss)+f.p[t]/f.m[t]*a*half*(1+slackLoss) {
				return true
			}
		}
		q := (f.m[t] + part*f.second[t] + a*f.pairs[t]) * (1 - slackLoss)
		p := f.p[t] * half * (1 + slackLoss)
		if !(a*(most*q-p-whole*(1+slackLoss)) >= s || over*a*q >= s+a*p) {
			return false
		}
	}
	return false
}
