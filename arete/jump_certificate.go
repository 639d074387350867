package arete

import "math"

// This file decides whether a jump law is ε-DP for shifts of up to H steps: f(t) ≤ e^ε·f(t+j) for
// all integers t and |j| ≤ H, f the masses of Z. The theorems stand in jump_proof.md.
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

// maxScan ends a scan that the tail test does not end: the law is not private then.
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

// reach returns how many masses a certificate needs. What lies beyond counts against the law where
// it may help, and does not count where it would help: e^{−25} of probability and shifts by H of
// what has one or two jumps are enough to lose nothing.
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
