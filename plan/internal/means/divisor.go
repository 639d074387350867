package means

import "math"

// What sums are divided by, and what the noise of that does.
//
// A released coordinate is its centre plus S̃/D̃, with S̃ = S + σZ the noisy sum of y/factor over
// the clipped rows and D̃ = D + δZ′ the noisy divisor: Σ min(1, C/‖y‖), or the number of rows. Z
// and Z′ are independent standard normal variables, whatever S and D are. Rows that are clipped
// alike have the mean μ = S/D around the centre, and
//
//	S̃/D̃ − μ = (S + σZ − μ(D + δZ′))/D̃ = (σZ − μδZ′)/D̃                                      (3)
//
// without any approximation. Given D̃ as a scale, this has the standard deviation √(σ² + μ²δ²)/D̃,
// in which S̃/D̃ stands for μ. What that changes, and that Z′ also decides about D̃, is a part of
// order δ/D̃ of the standard deviation, of either sign with Z′; coverage moves by the square of it.
// So the noise of the divisor multiplies what is released less the centre, and it is the same Z′ in
// all coordinates. The numbers are public: σ and δ follow from the budgets ([Spent]).
//
// Bounds. Where n is public D̃ is at most n, and so is D, if n is as many rows as there are:
// cutting D̃ off brings it nearer to D, and (3) holds with a smaller |Z′|. Where γ is 1, half of
// all Z′ become 0.
//
// Two passes divide by different numbers: the first by n or, if that is private, by ñ, the noisy
// number of rows that the release was planned with; the second by D̃. The noises of ñ, D̃ and both
// sums are independent. So in one coordinate the estimates of both passes have independent noise
// with the variances of (3), each with its own divisor, and weights in inverse proportion to them
// are the best; for a large mean these lean to the pass with the better divisor. That variances
// contain the released values, and thus weights depend a little on the noise, is again of order
// δ/D̃.
//
// Nothing here is said of clipping: where long rows have another mean direction than short ones,
// S/D is not the mean of the rows.

// leastGamma is the least γ that is released.
const leastGamma = 1.0 / 4

// divisorBudget returns the budget of a private divisor, spent; 0 where sums are divided by the
// number of rows, which is public.
func (r *run) divisorBudget() float64 {
	if r.p.Steps.Undivided && !r.p.PrivateRows() {
		return 0
	}
	rho := r.budget.take(r.fix(r.p.Shares.Divisor, clipPart, func() float64 { return gammaShare * r.p.Rho }))
	r.spent.Divisor += rho
	return rho
}

// divisor returns what the sum is to be divided by, for a count that was released: most of the rows
// have weight 1, or are near it.
func (r *run) divisor(released float64) float64 {
	if !r.p.PrivateRows() {
		released = min(released, r.n)
	}
	return max(released, r.n*leastGamma, 1)
}

// relative returns the standard deviation of the noise of the divisor, of the second of two passes,
// as a part of it: that of a budget that one row uses up with 1. It is 0 where the divisor is
// public.
func (m *Mean) relative() float64 {
	rho := m.Spent.Divisor
	if m.Params.PrivateRows() {
		rho -= m.Params.Rho * countShare
	}
	if !(rho > 0) {
		return 0
	}
	return 1 / (m.Divisor * math.Sqrt(2*rho))
}

// Independent returns the standard deviations of the part of the noise that is independent between
// coordinates: σ/D̃ of (3). Of two passes it returns all noise: see Shrunk.
func (m *Mean) Independent() []float64 {
	relative := m.relative()
	if m.Params.Method == TwoPass || relative == 0 {
		return m.Errors
	}
	out := make([]float64, len(m.Errors))
	for i := range out {
		out[i] = m.noiseOfSum(i)
	}
	return out
}
