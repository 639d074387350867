package series

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// laplaceSum is the sum S of r independent discrete Laplace variables of scale b: the difference of
// two negative binomial variables A and B, which count the successes before the r-th failure, where
// a success has probability q = e^(−1/b).
//
// Match the successes of A and B one by one, A first; each pair cancels. Either A runs out of
// failures while B has some left, and S ≤ 0; or B does while A has one success that is not matched
// and a more failures to come, so S − 1 is a negative binomial variable of a. With w(a) the
// probability of the latter,
//
//	Pr[S ≥ k] = Σ_a w(a)·Pr[NB(a) ≥ k−1] = q^(k−1)·Σ_(m<r) C(k+m−2, m)·(1−q)^m·W(m),   k ≥ 1
//
// where W(m) = Σ_(a>m) w(a), as Pr[NB(a) ≥ n] = q^n·Σ_(m<a) C(n+m−1, m)·(1−q)^m: the m-th term is
// that the n-th success comes after m failures. All terms are positive, so nothing cancels.
type laplaceSum struct {
	logQ, logP float64
	weights    []float64 // W(m)
}

func newLaplaceSum(b float64, r int) laplaceSum {
	p := -math.Expm1(-1 / b)
	q := math.Exp(-1 / b)
	// In state (a, b) A is to toss next, with a and b failures to come; visits[a] is the expected
	// number of visits to it, and pending[a] to the state where A has a success and B tosses.
	//
	//	visits(a, b) = [start] + p·visits(a+1, b) + q·pending(a, b)
	//	pending(a, b) = q·visits(a, b) + p·pending(a, b+1)
	pending := make([]float64, r+2)
	for b := r; b >= 1; b-- {
		visits := 0.0
		for a := r; a >= 1; a-- {
			into := p * visits // from (a+1, b)
			if a == r && b == r {
				into++
			}
			visits = (into + q*p*pending[a]) / (p * (1 + q)) // 1 − q² in the denominator
			pending[a] = q*visits + p*pending[a]
		}
	}
	weights, sum := make([]float64, r), 0.0
	for a := r; a >= 1; a-- {
		sum += p * pending[a]
		weights[a-1] = sum
	}
	return laplaceSum{-1 / b, math.Log(p), weights}
}

// tail returns Pr[S ≥ k] for k ≥ 1.
func (s laplaceSum) tail(k float64) float64 {
	sum, log := 0.0, (k-1)*s.logQ
	for m, w := range s.weights {
		sum += math.Exp(log) * w
		// −∞ after the first term where k = 1
		log += s.logP + math.Log((k-1+float64(m))/float64(m+1))
	}
	return sum
}

// beyond returns the least h with Pr[|S| > h] ≤ alpha, 0 for a sum of nothing.
func (s laplaceSum) beyond(alpha float64) float64 {
	if len(s.weights) == 0 {
		return 0
	}
	return float64(exact.LeastInt(0, func(h int64) bool { return 2*s.tail(float64(h)+1)*(1+1e-9) <= alpha }))
}
