package arete

import "math"

// This file decides whether the jump law is ε-DP for shifts of up to H steps: f(t) ≤ e^ε·f(t+j) for all integers t and |j| ≤ H, f the masses of Z.
//
// Theorem. Let ν be symmetric and non-increasing in |k| ≥ 1, and ν(k) ≤ e^b·ν(k+H) for the jumps of J.
//
//	(i)   f is symmetric and unimodal, so that the largest loss is the supremum of ln f(t)/f(t+H) over t ≥ 0.
//	(ii)  f(t) ≤ e^b·f(t+j) + e^{−c/2}·S(t) for all t ≥ 0 and 0 ≤ j ≤ H, S the masses of the core.
//	(iii) Let f₁ = f − e^{−c/2}·S and b < ε. If (V/(2(t₁+1)))^H·e^b ≤ 1 and e^{−c/2}·e^{2b}·S(t₁)/f₁(t₁) ≤ e^ε − e^b, then
//	      f(t) ≤ e^ε·f(t+H) for all t ≥ t₁.
//
// Proof. (i) Jumps of size 0 change nothing: let ν(0) = ν(1), and likewise for the core. The laws of one jump of J and of one of the core are then
// symmetric and unimodal, so mixtures of uniform laws on {−m, …, m}. A sum of two of those is symmetric and unimodal (its masses are
// a trapezoid), hence so are all sums of mixtures, Poisson mixtures included. For t and t+j on the two sides of 0, |t+j| ≤ H + |t|, and f(t) = f(|t|).
//
// (ii) Split by whether J has an upward jump. Given n ≥ 1 of them, let K be one, chosen at random: moving K to K + j maps outcomes of Z = t one to one to
// outcomes of Z = t+j, and Pr[K = k] ≤ e^b·Pr[K = k+H] ≤ e^b·Pr[K = k+j] as ν is non-increasing. So f₊(t) ≤ e^b·f₊(t+j) for the part f₊ of f with
// an upward jump, and f₊ ≤ f. The other part is e^{−c/2}·Σ_y Pr[J⁻ = y]·S(t+y) ≤ e^{−c/2}·S(t), as S is unimodal and y ≥ 0.
//
// (iii) By (ii) it is enough that e^{−c/2}·S(t) ≤ (e^ε − e^b)·f(t+H). Write t = t₁ + iH + r, 0 ≤ r < H. S(t+1)/S(t) = I_{t+1}(V)/I_t(V) ≤ V/(2(t+1)),
// term by term of the series of the Bessel functions, so S(t) ≤ S(t₁)·(V/(2(t₁+1)))^{iH} (the first condition makes that quotient at most 1). And from
// t₁ it takes i+2 shifts of at most H to t+H, so f(t+H) ≥ f₊(t+H) ≥ e^{−b(i+2)}·f₊(t₁) ≥ e^{−b(i+2)}·f₁(t₁). ∎
//
// So the tail needs no scan: only t < t₁, some ten standard deviations of the core, is computed, by sums of positive terms with a bound on the error.

// slackLoss is what a computed loss is increased by besides the error of the masses: for roundings of the last steps.
const slackLoss = 1e-9

// loss returns an upper bound on the loss ln f(t)/f(t+j), over all t and all |j| ≤ H, that is proved to hold if it is at most epsilon, and +Inf if no
// such bound was found.
func (j jump) loss(epsilon float64) float64 { return max(j.scan(epsilon), j.tailLoss()) }

// scan returns the part of the loss that t < t₁ has, with t₁ as the theorem wants it for epsilon, or +Inf if there is none.
func (j jump) scan(epsilon float64) float64 {
	b := j.tailLoss()
	if !(b < epsilon) {
		return math.Inf(1)
	}
	o := j.oneSided(j.reach())
	quiet := math.Exp(-j.jumps / 2)
	worst := math.Inf(-1)
	for t := range maxScan {
		near, core := o.prob(t), quiet*skellam(j.core, t)
		if math.Pow(j.core/2/float64(t+1), float64(j.steps)) <= math.Exp(-b) &&
			core*math.Exp(2*b) <= (math.Exp(epsilon)-math.Exp(b))*(1-slackLoss)*(near*(1-o.slack)-core) {
			return worst
		}
		worst = max(worst, o.lossAt(t, int(j.steps), near))
	}
	return math.Inf(1)
}

// maxScan ends a scan that the tail test does not end: the law is not private then.
const maxScan = 1 << 12

// lossAt returns an upper bound on ln f(t)/f(t+h), where near = prob(t) falls short of f(t) by the outcomes beyond the table.
func (o *oneSided) lossAt(t, h int, near float64) float64 {
	return math.Log((near+o.beyond)/o.prob(t+h)) + 4*o.slack + slackLoss
}

// reach returns how many masses a certificate needs. What lies beyond counts against the law where it may help, and does not count where it would
// help: 1e-11 of probability and shifts by H of what has one or two jumps are enough to lose nothing.
func (j jump) reach() int {
	x := -0.9 * math.Log(j.decay()) / float64(j.steps)
	return int((j.exponent(x)-math.Log(1e-11))/x) + int(j.steps) + 128
}

// skellam returns S(t) = e^{−V}·I_t(V), the mass of the core at t ≥ 0, by its series of positive terms, to a relative error below 1e-12.
func skellam(v float64, t int) float64 {
	if v == 0 {
		if t == 0 {
			return 1
		}
		return 0
	}
	lgamma, _ := math.Lgamma(float64(t) + 1)
	term := math.Exp(float64(t)*math.Log(v/2) - lgamma - v)
	sum := 0.0
	for m := 1; ; m++ {
		sum += term
		term *= v / 2 * (v / 2) / (float64(m) * float64(m+t))
		if float64(m) > v && term <= sum*0x1p-60 {
			return sum
		}
	}
}
