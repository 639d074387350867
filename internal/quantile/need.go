package quantile

import "math"

// How much a quantile needs. The candidates beyond all data have the score n·min(q, 1−q), so their
// probability is at most (A/a)·e^{−c·n·min(q,1−q)}, with A their base measure and a that of the
// candidates within 1/c ranks of the right one. For d quantiles that all succeed with probability
// 1 − β,
//
//	c·n·min(q, 1−q) ≥ L = ln d + ln(A/a) + ln(1/β),   ρ = (cu)²/2 for each quantile.          (2)

// Need returns the ρ of one quantile that has c·n·min(q, 1−q) = L.
func Need(l, q, n float64, ch Change) float64 {
	c := l / (max(n, 1) * min(q, 1-q)) * UnitChange(q, ch)
	return c * c / 2
}

// Reach inverts [Need]: it returns the L that rho affords.
func Reach(rho, q, n float64, ch Change) float64 {
	return math.Sqrt(2*rho) / UnitChange(q, ch) * n * min(q, 1-q)
}

// UnitChange returns u, the most by which a score changes between neighbours, in ranks.
func UnitChange(q float64, ch Change) float64 {
	if ch == Added {
		return max(q, 1-q)
	}
	return 1
}

// LogSum returns L of (2) where the base measure of the candidates within 1/c ranks, as a part of
// all, is slope/L: a little Newton-like iteration, as 1/c ranks are a part 1/(2L) of the data at
// the median.
func LogSum(dim, beta, slope float64) float64 {
	l := 16.0
	for range 8 {
		l = math.Log(dim) + math.Log(max(l/slope, 1)) - math.Log(beta)
	}
	return l
}
