package means

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
