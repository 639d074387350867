package elliptical

import "math"

// How noise is spread. Coordinate i has noise of scale τᵢ·s (standard deviation, or Laplace scale)
// with a common s that the guarantee decides, and sensitivity aᵢ; bᵢ of Algorithms 15 and 16 is in
// proportion to aᵢ/τᵢ.
//
// Privacy (Lemmas 4.6 and 4.9). Coordinate i divided by τᵢ is a query of sensitivity aᵢ/τᵢ, all of
// them together of ℓ₂ sensitivity ‖a/τ‖₂ (ℓ₁: ‖a/τ‖₁), and it gets noise of one scale s: the plain
// Gaussian (Laplace) mechanism. Multiplying by τᵢ is post-processing. So every τ is private with s
// calibrated to S = ‖a/τ‖: the shape is a matter of accuracy alone, and of public numbers. ∎
//
// The optimum (Lemmas 4.8 and 4.11), derived in another way. With q = 2 for Gaussian and q = 1 for
// Laplace noise, the error is a constant times Sᵖ·Σ τᵢᵖ. By Hölder's inequality with the exponents
// (p+q)/p and (p+q)/q,
//
//	Σ aᵢ^{pq/(p+q)} = Σ (aᵢ/τᵢ)^{pq/(p+q)}·τᵢ^{pq/(p+q)}
//	                ≤ (Σ (aᵢ/τᵢ)^q)^{p/(p+q)}·(Σ τᵢᵖ)^{q/(p+q)},
//
// so Sᵖ·Σ τᵢᵖ ≥ (Σ aᵢ^{pq/(p+q)})^{(p+q)/q} = ‖a‖ᵖ in the norm of index pq/(p+q), with equality
// where (aᵢ/τᵢ)^q ∝ τᵢᵖ: τᵢ = aᵢ^{q/(p+q)}. ∎ That is Theorems 4.1 and 4.2, for every p > 0. For
// the box no Gaussian noise of any covariance does better: with W the inverse covariance the
// constraint max vᵀWv ≤ 2ρ over the box is convex in W, and so is the error, Σ ((W⁻¹)ᵢᵢ)^{p/2} up
// to a constant, as 1/(W⁻¹)ᵢᵢ = min{vᵀWv : vᵢ = 1} is concave in W; both stay as they are when
// signs of coordinates are turned; averaging W over all turns leaves its diagonal, no worse. ∎

// shape returns τ, any multiple of it, for the sensitivities a, of so many coordinates each; with
// Count one more for the noise of the count, middle being what it is multiplied by.
func (p Params) shape(a, middle []float64, many []int) []float64 {
	tau := make([]float64, len(a), len(a)+1)
	for i, x := range a {
		switch p.Shape {
		case Spherical:
			tau[i] = 1
		case MinimumVolume:
			tau[i] = x
		case Weighted:
			tau[i] = x / p.Weights.At(i)
		default:
			tau[i] = math.Pow(x, p.exponent())
		}
	}
	if p.Count {
		return p.shapeWithCount(a, middle, many)
	}
	return tau
}

// exponent returns q/(p+q).
func (p Params) exponent() float64 {
	if p.pure() {
		return 1 / (p.Power + 1)
	}
	return 2 / (p.Power + 2)
}

// With the count, coordinate i has noise ηᵢ + cᵢ·η₀, cᵢ the middle and η₀ the noise of the count,
// whose sensitivity is 1. The shape is the minimum of Σ (τᵢ² + cᵢ²τ₀²)^{p/2} with ‖(a, 1)/τ‖ = 1:
// for Gaussian noise and for p = 2 that is the error itself, else Laplace noise's up to a factor
// near 1.
//
// p = 2. The sum is Σ τᵢ² + ‖c‖₂²·τ₀², so the count is one more coordinate of sensitivity ‖c‖₂ by
// Lemmas 4.8 and 4.11. For Gaussian noise the error is (Σ aᵢ + ‖c‖₂)²/(2ρ); for intervals [0, Δᵢ],
// a = c = Δ/2, that is ((‖Δ‖₁ + ‖Δ‖₂)/2)²/(2ρ) instead of ‖Δ‖₁²/(2ρ).
//
// Other p. In uᵢ = τᵢ^{−q} each summand is log-convex and the constraint linear, so every local
// minimum is the minimum. Given τ the sum with weights wᵢ = (τᵢ² + cᵢ²τ₀²)^{p/2−1}, Σ
// wᵢ(τᵢ² + cᵢ²τ₀²), touches it, from above for p ≤ 2, and has its minimum at
// τᵢ ∝ (aᵢ^q/wᵢ)^{1/(q+2)}, τ₀ ∝ (1/Σ wᵢcᵢ²)^{1/(q+2)}. Going there by an exponent s multiplies
// what is wrong in ln τ by about 1 − s where the count's noise is most of a coordinate's, and by
// 1 − sr, r = (q+p)/(q+2), where it is none. The iteration takes s = 2/(1 + r), which makes the two
// equal but for the sign, and half of it from where that was no better (for p ≤ 2 any exponent up
// to 1 is better). Each τ is private.
const (
	countRounds = 100
	leastSpeed  = 0x1p-10 // no smaller exponent is tried
	leastGain   = 0x1p-32 // relative: a round that changes the error by less is the last
)

// shapeWithCount returns τ with the one of the count at the end.
func (p Params) shapeWithCount(a, middle []float64, many []int) []float64 {
	unit, q := 0.0, 2.0
	if p.pure() {
		q = 1
	}
	for i := range a {
		unit = max(unit, a[i], math.Abs(middle[i]))
	}
	d := len(a)
	sensitivity, c := append(make([]float64, 0, d+1), a...), make([]float64, d)
	for i := range a {
		sensitivity[i], c[i] = a[i]/unit, middle[i]/unit
	}
	sensitivity = append(sensitivity, 1)
	logs := make([]float64, d+1) // of the multiplicities
	for i, n := range many {
		logs[i] = math.Log(float64(n))
	}

	tau := make([]float64, d+1)
	for i := range tau {
		tau[i] = 1
	}
	best := countStep(tau, sensitivity, c, logs, q, 2, 1) // the optimum for p = 2, from anywhere
	if p.Power == 2 {
		return inUnits(best, unit)
	}
	least, speed := countError(best, c, logs, p.Power), 2*(q+2)/(2*q+p.Power+2)
	for range countRounds {
		tau = countStep(best, sensitivity, c, logs, q, p.Power, speed)
		total := countError(tau, c, logs, p.Power)
		gain := least - total
		if gain > 0 {
			best, least = tau, total
		} else {
			speed /= 2
		}
		if math.Abs(gain) < leastGain || speed < leastSpeed {
			break
		}
	}
	return inUnits(best, unit)
}

// inUnits multiplies the scales of the coordinates by the unit that their sensitivities were
// measured in.
func inUnits(tau []float64, unit float64) []float64 {
	for i := range len(tau) - 1 {
		tau[i] *= unit
	}
	return tau
}

// countError returns ln Σ nᵢ·(τᵢ² + cᵢ²τ₀²)^{p/2}, given ln nᵢ.
func countError(tau, c, logs []float64, power float64) float64 {
	return logSum(len(c), func(i int) float64 { return logs[i] + power*math.Log(math.Hypot(tau[i], c[i]*tau[len(c)])) })
}

// countStep is one round: toward the minimum for the weights at τ, by the exponent speed, with
// ‖sensitivity/τ‖ = 1. It works with logarithms, since powers of up to maxPower of small and large
// numbers are beyond float64.
func countStep(tau, sensitivity, c, logs []float64, q, power, speed float64) []float64 {
	d := len(c)
	next := make([]float64, d+1)
	for i := range c {
		next[i] = (power - 2) * math.Log(math.Hypot(tau[i], c[i]*tau[d])) // ln wᵢ
	}
	count := logSum(d, func(i int) float64 { return logs[i] + next[i] + 2*math.Log(math.Abs(c[i])) })
	for i := range c {
		next[i] = (q*math.Log(sensitivity[i]) - next[i]) / (q + 2)
	}
	next[d] = -count / (q + 2)
	for i := range next {
		next[i] = (1-speed)*math.Log(tau[i]) + speed*next[i]
	}
	norm := logSum(d+1, func(i int) float64 { return logs[i] + q*(math.Log(sensitivity[i])-next[i]) }) / q
	for i := range next {
		next[i] = math.Exp(next[i] + norm)
	}
	return next
}

// logSum returns ln Σ e^{f(i)} for i from 0 to n − 1.
func logSum(n int, f func(i int) float64) float64 {
	largest, sum := math.Inf(-1), 0.0
	for i := range n {
		largest = max(largest, f(i))
	}
	for i := range n {
		sum += math.Exp(f(i) - largest)
	}
	return largest + math.Log(sum)
}
