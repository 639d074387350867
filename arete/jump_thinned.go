package arete

import "math"

// thinnedGap is tailGap for a thinned law, of which the tail loses ln(1+H/x) more at x: masses are
// computed until that is half of the gap. So the gap grows with H, which costs .1 % of the noise
// where ε is above 3, and with ε, so that masses down to e^{−500} are enough.
func thinnedGap(epsilon float64, steps int64) float64 {
	gap := 0.08
	switch {
	case steps <= 64:
		gap = 0.02
	case steps <= 256:
		gap = 0.04
	}
	return max(gap, 2*math.Log1p(epsilon/500))
}

// scanThinned is scan by theorem 3 of jump_proof.md. With β = e^b·(1 + H/x₁) < e^ε the upward jumps
// without the core lose at most ln β from x₁ on; with the core, all upward jumps lose at most ε
// from x₁+R on; and so does Z from where the masses say that they do up to there. What is before
// that is computed for Z itself.
func (j jump) scanThinned(epsilon, b float64) float64 {
	h := int(j.steps)
	first := int(float64(h)/math.Expm1((epsilon-b)/2)) + 1 // x₁: half of ε − b is left
	gap := math.Exp(epsilon) * -math.Expm1(b+math.Log1p(float64(h)/float64(first))-epsilon) * (1 - slackLoss)
	reach := j.coreReach(epsilon*(float64(first)/float64(h)+4)+60, epsilon)
	last := first + reach // x₁ + R
	if !(gap > 0) || last > maxThinned {
		return math.Inf(1)
	}
	o := j.oneSided(last + 2*h)
	far := poissonTail(j.core/2, reach)
	limit := math.Exp(epsilon)
	start := last // from where on the upward jumps lose less than ε, by the masses
	for x := last + h - 1; x >= last; x-- {
		if far > gap*o.g[x+h]*(1-o.slack) {
			return math.Inf(1)
		}
	}
	for start > 0 && o.g[start-1]*(1+2*o.slack+slackLoss) <= limit*o.g[start-1+h] {
		start--
	}
	return o.worstLoss(h, start)
}

// maxThinned bounds the masses of a certificate.
const maxThinned = 1 << 19

// coreReach returns an R at which half of the core, a Poisson variable of mean V/2, is beyond R
// with a probability below e^{−nats}, and that falls by e^{−ε} at least for each H further.
func (j jump) coreReach(nats, epsilon float64) int {
	if j.core == 0 {
		return 0
	}
	r := int(j.core/2*math.Exp(epsilon/float64(j.steps))) + 1
	for poissonLog(j.core/2, r) > -nats {
		r += r/16 + 1
	}
	return r
}

// poissonLog returns the logarithm of an upper bound on Pr[P > r], P Poisson of mean m < r+2: the
// masses from r+1 on fall by m/(r+2) at least.
func poissonLog(m float64, r int) float64 {
	x := float64(r)
	log, _ := math.Lgamma(x + 2)
	return (x+1)*math.Log(m) - m - log - math.Log1p(-m/(x+2)) + slackLoss
}

func poissonTail(m float64, r int) float64 {
	if m == 0 {
		return 0
	}
	return math.Exp(poissonLog(m, r)) * (1 + slackLoss)
}
