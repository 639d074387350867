package arete

import (
	"math"
	"sort"
)

// This file decides whether a jump distribution is ε-DP for shifts of up to H steps: f(t) ≤
// e^ε·f(t+j) for all integers t and |j| ≤ H, f the masses of Z. The theorems stand in
// jump_proof.md.
//
// f is symmetric and unimodal, so only f(t)/f(t+H) for t ≥ 0 counts. Far from 0 that is the loss of
// the jumps, which the core hardly touches: only t < t₁, some ten standard deviations of the core,
// is computed, by sums of positive terms with a bound on the error.

// slackLoss is added to a computed loss, beside the error of the masses: for roundings of the last
// steps.
const slackLoss = 1e-9

// loss returns an upper bound on the loss ln f(t)/f(t+j), over all t and all |j| ≤ H, that is
// proved to hold if it is at most epsilon, and +Inf if no such bound was found. Where the
// certificate says no more than yes, the bound is epsilon.
func (j jump) loss(epsilon float64) float64 {
	switch {
	case fine(j.steps, j.core):
		if j.core > 0 && newFineCertificate(epsilon, j.steps, j.width, j.core).proves(j) {
			return epsilon
		}
		return math.Inf(1)
	}
	return max(j.scan(epsilon), j.tailLoss())
}

// scan returns the part of the loss that t < t₁ has, with t₁ as theorem 1 (3) wants it for epsilon,
// or +Inf if there is none.
func (j jump) scan(epsilon float64) float64 {
	b := j.tailLoss()
	if !(b < epsilon) {
		return math.Inf(1)
	}
	o := j.oneSided(j.reach())
	quiet := math.Exp(-j.jumps / 2)
	stride := int(math.Sqrt(j.core)/8) + 1
	for t := 0; t < maxScan; t += stride {
		near, core := o.head(t), quiet*skellam(j.core, t)
		if math.Pow(fall(j.core, t), float64(j.steps)) <= math.Exp(-b) &&
			core*math.Exp(2*b) <= (math.Exp(epsilon)-math.Exp(b))*(1-slackLoss)*(near*(1-o.slack)-core) {
			return o.worstLoss(int(j.steps), t)
		}
	}
	return math.Inf(1)
}

// maxScan ends a scan that the tail test does not end: the distribution is not private then.
const maxScan = 1 << 12

// lossAt returns an upper bound on ln f(t)/f(t+h), where f(t) ≤ most and f(t+h) ≥ least apart from
// the errors of the masses.
func (o *oneSided) lossAt(most, least float64) float64 {
	return math.Log(most/least) + 4*o.slack + slackLoss
}

// worstLoss returns an upper bound on ln f(t)/f(t+h), over 0 ≤ t < end, and over t = 0 in any case.
//
// f decreases from 0 on, so for x ≤ t ≤ y it is at most ln f(x)/f(y+h). An interval where that
// exceeds what was met is halved: as the loss is flat where it is largest, and f is steep where it
// is smaller, few intervals are.
func (o *oneSided) worstLoss(h, end int) float64 {
	const tolerance = 1e-7
	type point struct {
		t          int
		most, here float64 // f(t) at most and f(t+h) at least, apart from the errors of the masses
	}
	o.shorten(o.head(max(end-1, 0) + h))
	rest, worst := o.rest(), math.Inf(-1)
	at := func(t int) point {
		p := point{t, o.head(t) + rest, o.head(t + h)}
		worst = max(worst, o.lossAt(p.most, p.here))
		return p
	}
	var cover func(x, y point)
	cover = func(x, y point) {
		if y.t-x.t > 1 && o.lossAt(x.most, y.here) > worst+tolerance {
			middle := at(x.t + (y.t-x.t)/2)
			cover(x, middle)
			cover(middle, y)
		}
	}
	x := at(0)
	for step := 1; x.t < end-1; step *= 2 {
		y := at(min(x.t+step, end-1))
		cover(x, y)
		x = y
	}
	return worst + tolerance
}

// reach returns how many masses a certificate needs. What lies beyond counts against the
// distribution where it may help, and does not count where it would help: e^{−25} of probability
// and shifts by H of what has one or two jumps are enough to lose nothing.
func (j jump) reach() int {
	return int(chernoffReach(j.exponent, j.limit(), 25)) + int(j.steps) + 128
}

// skellam returns S(t) = e^{−V}·I_t(V), the mass of the core at t ≥ 0, by its series of positive
// terms from the largest on, to a relative error below 1e-10 for V ≤ 2¹².
func skellam(v float64, t int) float64 {
	if v == 0 {
		if t == 0 {
			return 1
		}
		return 0
	}
	x := float64(t)
	peak := math.Floor((math.Hypot(x, v) - x) / 2) // where m(m+t) passes (V/2)²
	first, _ := math.Lgamma(peak + 1)
	second, _ := math.Lgamma(peak + x + 1)
	largest := math.Exp((2*peak+x)*math.Log(v/2) - first - second - v)
	sum, square := largest, v/2*(v/2)
	for m, term := peak+1, largest; term > sum*0x1p-60; m++ {
		term *= square / (m * (m + x))
		sum += term
	}
	for m, term := peak, largest; m > 0 && term > sum*0x1p-60; m-- {
		term *= m * (m + x) / square
		sum += term
	}
	return sum
}

// fall returns at least S(t+1)/S(t).
func fall(v float64, t int) float64 {
	if v == 0 {
		return 0
	}
	return skellam(v, t+1) / skellam(v, t) * (1 + 0x1p-30)
}

// core is the distribution of the core: a Skellam variable S of variance V > 0. Its masses are sums
// and products of positive terms, so they are accurate to a relative error of slackLoss in all of
// them.
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

// fineCertificate decides whether jump distributions of one shape, on lattices as fine as one
// likes, are ε-DP for shifts of up to H: by theorem 2 of jump_proof.md, from the masses of the core
// alone.
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

// proves reports whether the distribution, of the shape of the certificate, is ε-DP.
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

const (
	// tailGap is how much ε exceeds the loss in the far tail, where a certificate knows all masses.
	// The noise hardly depends on it.
	tailGap = 1e-5
	// mostMasses and finestCore are the H and V up to which a certificate computes all masses: so
	// that these fit into float64, and in a few milliseconds.
	mostMasses, finestCore = 1 << 11, 2500
)

// fine reports whether the lattice of a jump distribution is too fine for a table of its masses.
func fine(steps int64, core float64) bool { return steps > mostMasses || core > finestCore }

// fit returns the jump distribution of the given shape with the least mean number of jumps that the
// certificate passes, up to 1e-4 of it, or false if it finds none. The loss of the worst shift is
// about −ln c and a constant, so Newton's method in ln c takes a few steps.
func fit(epsilon float64, steps, width int64, core float64) (law jump, ok bool) {
	if fine(steps, core) {
		return fitFine(epsilon, steps, width, core)
	}
	const goal, rounds = 2e-5, 12 // the loss aimed at lies this much below ε, on average
	c := firstJumps(epsilon, width, core)
	for range rounds {
		law = newJump(epsilon-tailGap, steps, width, core, c)
		over := law.scan(epsilon) - epsilon
		if over <= 0 && over >= -2*goal {
			return law, true
		}
		if math.IsInf(over, 0) || math.IsNaN(over) {
			return law, false
		}
		c *= math.Exp(over + goal)
	}
	return law, false
}

// firstJumps returns a c to start from: an atom of about f(0), and ν(k) = c/(2W) at a distance of
// H; e^ε is their quotient.
func firstJumps(epsilon float64, width int64, core float64) float64 {
	return 2 * float64(width) * skellam(core, 0) * math.Exp(-epsilon)
}

// fitFine is fit by [fineCertificate], which says yes or no. At a small ε it wants a tail that
// loses less than ε by some percent.
func fitFine(epsilon float64, steps, width int64, core float64) (law jump, ok bool) {
	certificate := newFineCertificate(epsilon, steps, width, core)
	for _, gap := range []float64{0.003, 0.03, 0.06} {
		low := firstJumps(epsilon, width, core)
		high, proved := low, false
		try := func(c float64) bool {
			j := newJump(epsilon-gap, steps, width, core, c)
			yes := certificate.proves(j)
			if yes && (!ok || j.jumps < law.jumps) {
				law, ok = j, true
			}
			return yes
		}
		for range 12 {
			if proved = try(high); proved {
				break
			}
			low, high = high, 1.1*high
		}
		for i := 0; proved && i < 14; i++ {
			if middle := (low + high) / 2; try(middle) {
				high = middle
			} else {
				low = middle
			}
		}
		if epsilon >= 6 {
			break
		}
	}
	return law, ok
}
