package plan

import "math"

// budget hands out ρ. What a step gets may depend on what the steps before it have released, in
// particular on whether scales pay.
//
// That is sound: let step t have the laws P_t and Q_t given all releases before,
// D_α(P_t‖Q_t) ≤ αρ_t with ρ_t a function of those. Then E_Q[Π_{t≤T}
// (P_t/Q_t)^α·e^{−α(α−1)ρ_t}] ≤ 1, from the last step to the first. If Σρ_t ≤ ρ whatever is
// released, then E_Q[(P/Q)^α] ≤ e^{α(α−1)ρ}, for every α > 1: the whole is ρ-zCDP (Feldman and
// Zrnic, Individual Privacy Accounting via a Rényi Filter, NeurIPS 2021).
type spending struct{ total, spent float64 }

// take spends rho, or what is left of the total if that is less, and returns it.
func (b *spending) take(rho float64) float64 {
	rho = min(rho, b.left())
	b.spent = math.Nextafter(b.spent+rho, math.Inf(1)) // at least the exact sum
	return rho
}

// left returns what take can give, rounded down: spent and it do not exceed the total.
func (b *spending) left() float64 {
	return max(0, math.Nextafter(b.total-b.spent, 0)*(1-0x1p-50))
}

// How much a quantile needs. The candidates beyond all data have the score n·min(q, 1−q), so their
// probability is at most (A/a)·e^{−c·n·min(q,1−q)}, with A their base measure and a that of the
// candidates within 1/c ranks of the right one. For d quantiles that all succeed with probability
// 1 − β,
//
//	c·n·min(q, 1−q) ≥ L = ln d + ln(A/a) + ln(1/β),   ρ = (cu)²/2 for each quantile.          (2)

// need returns the ρ of one quantile that has c·n·min(q, 1−q) = L.
func need(l, q, n float64, ch change) float64 {
	c := l / (cap1(n) * min(q, 1-q)) * unitChange(q, ch)
	return c * c / 2
}

// reach inverts need: it returns the L that rho affords.
func reach(rho, q, n float64, ch change) float64 {
	return math.Sqrt(2*rho) / unitChange(q, ch) * n * min(q, 1-q)
}

// unitChange returns u, the most by which a score changes between neighbours, in ranks.
func unitChange(q float64, ch change) float64 {
	if ch == added {
		return max(q, 1-q)
	}
	return 1
}

// logSum returns L of (2) where the base measure of the candidates within 1/c ranks, as a part of
// all, is slope/L: a little Newton-like iteration, as 1/c ranks are a part 1/(2L) of the data at
// the median.
func logSum(dim, beta, slope float64) float64 {
	l := 16.0
	for range 8 {
		l = math.Log(dim) + math.Log(max(l/slope, 1)) - math.Log(beta)
	}
	return l
}
