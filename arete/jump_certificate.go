package arete

import "math"

// This file decides whether the jump law is ε-DP for shifts of up to H steps: f(t) ≤ e^ε·f(t+j) for
// all integers t and |j| ≤ H, f the masses of Z.
//
// Theorem. Let ν be symmetric and non-increasing in |k| ≥ 1, and ν(k) ≤ e^b·ν(k+H) for the jumps of
// J.
//
//	(i)   f is symmetric and unimodal, so that the largest loss is the supremum of ln f(t)/f(t+H) over t ≥ 0.
//	(ii)  f(t) ≤ e^b·f(t+j) + e^{−c/2}·S(t) for all t ≥ 0 and 0 ≤ j ≤ H, S the masses of the core.
//	(iii) Let f₁ = f − e^{−c/2}·S and b < ε. If (S(t₁+1)/S(t₁))^H·e^b ≤ 1 and e^{−c/2}·e^{2b}·S(t₁)/f₁(t₁) ≤ e^ε − e^b, then
//	      f(t) ≤ e^ε·f(t+H) for all t ≥ t₁.
//
// Proof. (i) Jumps of size 0 change nothing: let ν(0) = ν(1), and likewise for the core. The laws
// of one jump of J and of one of the core are then symmetric and unimodal, so mixtures of uniform
// laws on {−m, …, m}. A sum of two of those is symmetric and unimodal (its masses are a trapezoid),
// hence so are all sums of mixtures, Poisson mixtures included. For t and t+j on the two sides of
// 0, |t+j| ≤ H + |t|, and f(t) = f(|t|).
//
// (ii) Split by whether J has an upward jump. Given n ≥ 1 of them, let K be one, chosen at random:
// moving K to K + j maps outcomes of Z = t one to one to outcomes of Z = t+j, and Pr[K = k] ≤
// e^b·Pr[K = k+H] ≤ e^b·Pr[K = k+j] as ν is non-increasing. So f₊(t) ≤ e^b·f₊(t+j) for the part f₊
// of f with an upward jump, and f₊ ≤ f. The other part is e^{−c/2}·Σ_y Pr[J⁻ = y]·S(t+y) ≤
// e^{−c/2}·S(t), as S is unimodal and y ≥ 0.
//
// (iii) By (ii) it is enough that e^{−c/2}·S(t) ≤ (e^ε − e^b)·f(t+H). Write t = t₁ + iH + r, 0 ≤ r
// < H. The masses of a Poisson law are log-concave, hence so are those of a sum of two: S(t+1)/S(t)
// does not increase, and S(t) ≤ S(t₁)·(S(t₁+1)/S(t₁))^{iH}, as that quotient is at most 1. And from
// t₁ it takes i+2 shifts of at most H to t+H, so f(t+H) ≥ f₊(t+H) ≥ e^{−b(i+2)}·f₊(t₁) ≥
// e^{−b(i+2)}·f₁(t₁). ∎
//
// So the tail needs no scan: only t < t₁, some ten standard deviations of the core, is computed, by
// sums of positive terms with a bound on the error.

// slackLoss is what a computed loss is increased by besides the error of the masses: for roundings
// of the last steps.
const slackLoss = 1e-9

// loss returns an upper bound on the loss ln f(t)/f(t+j), over all t and all |j| ≤ H, that is
// proved to hold if it is at most epsilon, and +Inf if no such bound was found.
func (j jump) loss(epsilon float64) float64 { return max(j.scan(epsilon), j.tailLoss()) }

// scan returns the part of the loss that t < t₁ has, with t₁ as the theorem wants it for epsilon,
// or +Inf if there is none.
func (j jump) scan(epsilon float64) float64 {
	b := j.tailLoss()
	if !(b < epsilon) {
		return math.Inf(1)
	}
	o := j.oneSided(j.reach())
	rest := o.rest()
	quiet := math.Exp(-j.jumps / 2)
	worst := math.Inf(-1)
	for t := range maxScan {
		near, core := o.head(t), quiet*skellam(j.core, t)
		if math.Pow(fall(j.core, t), float64(j.steps)) <= math.Exp(-b) &&
			core*math.Exp(2*b) <= (math.Exp(epsilon)-math.Exp(b))*(1-slackLoss)*(near*(1-o.slack)-core) {
			return worst
		}
		worst = max(worst, o.lossAt(near+rest, o.head(t+int(j.steps))))
	}
	return math.Inf(1)
}

// maxScan ends a scan that the tail test does not end: the law is not private then.
const maxScan = 1 << 12

// lossAt returns an upper bound on ln f(t)/f(t+h), where f(t) ≤ most and f(t+h) ≥ least but for the
// errors of the masses.
func (o *oneSided) lossAt(most, least float64) float64 {
	return math.Log(most/least) + 4*o.slack + slackLoss
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
