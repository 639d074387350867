package elliptical

import (
	"math"
	"slices"
)

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

// shape returns τ, any multiple of it, for the sensitivities a, sensitivity i being that of many[i]
// coordinates. With Count there is one more τ, for the noise of the count; middle holds its
// factors.
func (p Params) shape(a, middle []float64, many []int) []float64 {
	if p.Weights.Len() > 0 {
		tau := make([]float64, len(a))
		for i, x := range a {
			tau[i] = x / p.Weights.At(i)
		}
		return tau
	}
	if p.Relative {
		a, middle = slices.Clone(a), slices.Clone(middle)
		for i := range a {
			a[i], middle[i] = a[i]/p.unit(i), middle[i]/p.unit(i)
		}
	}
	var tau []float64
	if p.Count {
		tau = p.shapeWithCount(a, middle, many)
	} else {
		for _, x := range a {
			tau = append(tau, math.Pow(x, p.exponent()))
		}
	}
	if p.Relative {
		for i := range a {
			tau[i] *= p.unit(i)
		}
	}
	return tau
}

// unit returns what an error of coordinate i is counted in, in the units of the data.
//
// With u its units, errors ηᵢ/uᵢ are those of coordinates that were divided by u: their
// sensitivities are aᵢ/uᵢ and their scales τᵢ/uᵢ. So the optimum above holds for these, and no
// scale of one coordinate reaches another.
func (p *Params) unit(i int) float64 {
	if p.Relative {
		return p.interval(i).width()
	}
	return 1
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
// equal up to the sign, and half of it from where that was no better (for p ≤ 2 any exponent up
// to 1 is better). Each τ is private.
const (
	countRounds = 100
	leastSpeed  = 0x1p-10 // no smaller exponent is tried
	leastGain   = 0x1p-32 // relative: a round that changes the error by less is the last
)

// shapeWithCount returns τ with the one of the count at the end.
func (p Params) shapeWithCount(a, middle []float64, many []int) []float64 {
	unit := 0.0
	for i := range a {
		unit = max(unit, a[i], math.Abs(middle[i]))
	}
	s := newCounting(p.pure(), unit, a, middle, many)
	best, tau := make([]float64, len(a)+1), make([]float64, len(a)+1)
	for i := range tau {
		tau[i] = 1
	}
	s.step(best, tau, 2, 1) // the optimum for p = 2, from anywhere
	if p.Power == 2 {
		return inUnits(best, unit)
	}
	s.spread(best)
	least, speed := s.error(p.Power), 2*(s.q+2)/(2*s.q+p.Power+2)
	for range countRounds {
		s.step(tau, best, p.Power, speed)
		s.spreads, s.others = s.others, s.spreads
		s.spread(tau)
		total := s.error(p.Power)
		gain := least - total
		if gain > 0 {
			best, tau, least = tau, best, total
		} else {
			s.spreads, s.others = s.others, s.spreads
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

// counting is the search for the shape with a count. It works with logarithms, since powers of up
// to maxPower of small and large numbers are beyond float64, and takes those that stay once.
type counting struct {
	q               float64
	c               []float64
	logN            []float64 // of the multiplicities; 0 for the count
	logA, logC      []float64 // ln aᵢ and, at the end, 0 of the count; 2·ln |cᵢ|
	spreads, others []float64 // ln √(τᵢ² + cᵢ²τ₀²), of the best τ and of another one
	terms           []float64 // scratch
}

// newCounting returns the search for sensitivities and middles in a unit.
func newCounting(pure bool, unit float64, a, middle []float64, many []int) counting {
	d := len(a)
	parts := make([]float64, 7*d+3)
	part := func(n int) (x []float64) {
		x, parts = parts[:n:n], parts[n:]
		return x
	}
	s := counting{2, part(d), part(d + 1), part(d + 1), part(d), part(d), part(d), part(d + 1)}
	if pure {
		s.q = 1
	}
	for i := range a {
		s.c[i] = middle[i] / unit
		s.logA[i], s.logC[i] = math.Log(a[i]/unit), 2*math.Log(math.Abs(s.c[i]))
		if many[i] > 1 {
			s.logN[i] = math.Log(float64(many[i]))
		}
	}
	return s
}

// spread sets the spreads to those of τ.
func (s *counting) spread(tau []float64) {
	count := tau[len(s.c)]
	for i, c := range s.c {
		s.spreads[i] = math.Log(math.Hypot(tau[i], c*count))
	}
}

// error returns ln Σ nᵢ·(τᵢ² + cᵢ²τ₀²)^{p/2} by the spreads.
func (s *counting) error(power float64) float64 {
	for i, x := range s.spreads {
		s.terms[i] = s.logN[i] + power*x
	}
	return logSum(s.terms[:len(s.c)])
}

// step is one round: it sets next to a τ toward the minimum for the weights at τ, whose spreads it
// needs except for p = 2, by the exponent speed, with ‖a/τ‖ = 1.
func (s *counting) step(next, tau []float64, power, speed float64) {
	d := len(s.c)
	for i, x := range s.spreads {
		next[i] = (power - 2) * x // ln wᵢ
		s.terms[i] = s.logN[i] + next[i] + s.logC[i]
	}
	next[d] = -logSum(s.terms[:d]) / (s.q + 2)
	for i := range d {
		next[i] = (s.q*s.logA[i] - next[i]) / (s.q + 2)
	}
	for i := range next {
		if speed != 1 {
			next[i] = (1-speed)*math.Log(tau[i]) + speed*next[i]
		}
		s.terms[i] = s.logN[i] + s.q*(s.logA[i]-next[i])
	}
	norm := logSum(s.terms) / s.q
	for i, x := range next {
		next[i] = math.Exp(x + norm)
	}
}

// logSum returns ln Σ e^x over the terms x.
func logSum(terms []float64) float64 {
	largest, sum := math.Inf(-1), 0.0
	for _, x := range terms {
		largest = max(largest, x)
	}
	for _, x := range terms {
		sum += math.Exp(x - largest)
	}
	return largest + math.Log(sum)
}
