package dptest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// TailPValue is the exact two-sided binomial test of hits in n trials against probability p: twice
// the smaller of Pr[X ≤ hits] and Pr[X ≥ hits], at most 1. It is conservative at every n and p, so
// it serves for tail events: hits beyond the 1e-6 quantile, p = 1e-6. NaN is returned for hits
// outside [0, n], n = 0 and p outside [0, 1].
func TailPValue(hits, n int64, p float64) float64 {
	if n <= 0 || hits < 0 || hits > n || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	return min(1, 2*min(atMost(hits, n, p), atLeast(hits, n, p)))
}

// Tail fails the test if hits in n trials do not fit probability p; see [TailPValue].
func Tail(t testing.TB, name string, hits, n int64, p, falseReject float64) {
	t.Helper()
	reject(t, name+": tail", TailPValue(hits, n, p), falseReject)
}

// atLeast returns Pr[X ≥ hits] of the binomial law: the regularized incomplete beta function
// I_p(hits, n−hits+1), which gonum has to a relative error of 1e-8 for n up to 1e8.
func atLeast(hits, n int64, p float64) float64 {
	switch {
	case hits <= 0 || p == 1:
		return 1
	case p == 0 || hits > n:
		return 0
	}
	return mathext.RegIncBeta(float64(hits), float64(n-hits+1), p)
}

// atMost returns Pr[X ≤ hits], with small values accurate: it is Pr[n−X ≥ n−hits] at 1 − p.
func atMost(hits, n int64, p float64) float64 {
	switch {
	case hits >= n || p == 0:
		return 1
	case p == 1 || hits < 0:
		return 0
	}
	return mathext.RegIncBeta(float64(n-hits), float64(hits+1), 1-p)
}

// ClopperPearson returns the exact one-sided confidence bounds of a probability of which hits in n
// trials were seen: lower ≤ p holds with at least the confidence, and p ≤ upper does too (each for
// itself).
func ClopperPearson(hits, n int64, confidence float64) (lower, upper float64) {
	if n <= 0 || hits < 0 || hits > n || !(confidence > 0 && confidence < 1) {
		return 0, 1
	}
	alpha := 1 - confidence
	upper = 1
	if hits > 0 { // the p at which so many hits or more have probability α
		lower, _ = bisect(func(p float64) bool { return atLeast(hits, n, p) >= alpha })
	}
	if hits < n { // the p at which so few hits or fewer have probability α
		_, upper = bisect(func(p float64) bool { return atMost(hits, n, p) <= alpha })
	}
	return lower, upper
}

// bisect returns neighbours lo < hi with reached(lo) false and reached(hi) true, for a monotone
// condition on (0, 1). It bisects the binary logarithm first, so small probabilities come out to
// full relative accuracy.
func bisect(reached func(float64) bool) (lo, hi float64) {
	lo, hi = 0, 1
	for e := -1; e > -1000 && reached(math.Ldexp(1, e)); e-- {
		hi = math.Ldexp(1, e)
	}
	lo = hi / 2
	for range 60 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if reached(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo, hi
}
