package kor

import "math"

// IntervalIntersection is the estimator of the thesis (section 3.4.2, with the constants of Lemmas 3.5 and 3.7, and 1 − 2p in the place of its
// value at p = 1/(2+ε)): each level gives an interval, an estimate is any size that is in all of them if they meet in one of a
// ratio of at most 1 + η, and else 0. It is here as a reference; [Sketch.Estimate] is what to use.
//
// What is proved: for 1/n < β < 1 and a size W of at least n, the estimate is within a factor 1 + β of W but for a probability of failure
// = 6·L·e^{−γ²p³n/108}, γ = (β − 1/n)(1 − 2p)/(7e³). This says something for n ≥ 2·10¹⁰ or so: at n = 2048 the bound is above 100, and the
// intervals hardly ever meet. The γ of the Lemma is an upper bound, which is taken here. The estimate is NaN for a β outside (1/n, 1)
// and for a sketch without noise.
func (s *Sketch) IntervalIntersection(beta float64) (estimate, failure float64) {
	if !s.r.valid() || len(s.r.parts) == 0 || !(beta < 1 && beta*float64(s.r.params.Cells) > 1) {
		return math.NaN(), math.NaN()
	}
	l := s.r.likelihood()
	n, c, p := l.cells, math.Exp(l.logSign), s.r.flipProb()
	gamma := (beta - 1/n) * c / (7 * math.Exp(3))
	failure = 6 * float64(l.levels) * math.Exp(-gamma*gamma*p*p*p*n/108)
	lo, hi := math.Inf(-1), math.Inf(1)
	for i := range l.levels {
		z := float64(l.ones[i])
		if z >= (1-gamma)*n/2 {
			continue // [0, u]
		}
		scale := n / rate(i)
		lo = max(lo, scale*math.Log(c/(1-2*z/((1+gamma)*n))))
		hi = min(hi, scale*math.Log(c/(1-2*z/((1-gamma)*n))))
	}
	spread := math.Exp(3)/c - 1
	eta := 6 * gamma * spread / (1 - gamma - 2*gamma*spread)
	if !(lo > 0 && lo <= hi && hi <= (1+eta)*lo) {
		return 0, failure
	}
	return lo + (hi-lo)/2, failure
}
