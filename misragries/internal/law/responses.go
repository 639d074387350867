package law

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// RR(r) is a randomised response with parameter r: a bit that is +1 with probability p₊ =
// 1/(1+e^{−r}) on one input and with p₋ = 1 − p₊ on the other, so its privacy loss is ±r. Every
// pair of laws whose ratio is within e^{±r} is what some random function makes of it (Kairouz, Oh,
// Viswanath, ICML 2015).

// logResponses returns ln H_ε of n independent RR(r), the hockey-stick divergence
//
//	H = Σ_i C(n,i)·p₊^i·p₋^{n−i}·(1 − e^{ε−(2i−n)r})₊
//
// to a relative error of 1e-12 for H ≥ 2⁻¹⁰²², nr ≤ 2¹². It starts at the largest term that counts
// and goes both ways, O(√n) terms.
func logResponses(n int, r, epsilon float64) float64 {
	size := float64(n)
	loss := func(i float64) float64 { return math.FMA(2*i-size, r, -epsilon) } // what is beyond ε
	if loss(size) <= 0 {
		return math.Inf(-1)
	}
	weight := func(i float64) float64 { return -math.Expm1(-max(loss(i), 0)) }
	// First where the weight is positive, or one before: float rounding may move it.
	low := min(max(math.Floor((size+epsilon/r)/2), 0), size)
	mode := min(math.Floor((size+1)/(1+math.Exp(-r))), size)
	start := max(low, mode)

	// Terms relative to C·p₊^i·p₋^{n−i} at start. Behind a term t the ratios only shrink: the
	// rest is below t·ρ/(1−ρ).
	const negligible = 0x1p-58
	sum := weight(start)
	up, down := math.Exp(r), math.Exp(-r)
	for i, t := start, 1.0; i < size; {
		t *= (size - i) / (i + 1) * up
		i++
		sum += t * weight(i)
		ratio := (size - i) / (i + 1) * up
		if ratio < 1 && t*ratio <= negligible*sum*(1-ratio) {
			break
		}
	}
	for i, t := start, 1.0; i > low; {
		t *= i / (size - i + 1) * down
		i--
		sum += t * weight(i)
		ratio := i / (size - i + 1) * down
		if ratio < 1 && t*ratio <= negligible*sum*(1-ratio) {
			break
		}
	}
	if start == size {
		return min(math.Log(sum)-size*math.Log1p(down), 0)
	}
	return min(math.Log(sum)+logFairBinomial(size, start)+(start-size/2)*r-size*logCosh(r/2), 0)
}

// logNormalResponses returns about what logResponses does where n is large and nr² small: ln δ(ε)
// of the normal law whose loss has the same variance.
func logNormalResponses(n int, r, epsilon float64) float64 {
	delta, err := noise.GaussianDelta(1, epsilon, r*math.Sqrt(float64(n)))
	if err != nil {
		return math.Inf(-1)
	}
	return math.Log(delta)
}

// logFairBinomial returns ln(C(n,i)/2ⁿ) for 0 < i < n, with u = (2i−n)/n
//
//	½·ln(2/(πn(1−u²))) − (n/2)·(ln(1−u²) + 2u·artanh u) + s(n) − s(i) − s(n−i)
//
// where s is the error of Stirling's formula.
func logFairBinomial(n, i float64) float64 {
	u := (2*i - n) / n
	flat, slope := math.Log1p(-u*u), math.Atanh(u)
	if math.Abs(u) > 0.5 { // 1 − |u| is not to be had from u
		flat, slope = math.Log(4*(i/n)*((n-i)/n)), math.Log(i/(n-i))/2
	}
	return (math.Log(2/(math.Pi*n))-flat-n*(flat+2*u*slope))/2 + stirlingError(n) - stirlingError(i) - stirlingError(n-i)
}

// stirlingError returns ln n! − ln(√(2πn)·(n/e)ⁿ) for n ≥ 1.
func stirlingError(n float64) float64 {
	if n < 16 {
		factorial, _ := math.Lgamma(n + 1)
		return factorial - (n+0.5)*math.Log(n) + n - math.Log(2*math.Pi)/2
	}
	x := 1 / (n * n) // the term left out is 691/(360360·n¹¹)
	return (1./12 - x*(1./360-x*(1./1260-x*(1./1680-x/1188)))) / n
}

// logCosh returns ln cosh x for x ≥ 0.
func logCosh(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(math.Exp(-2*x)) - math.Ln2
	}
	h := math.Sinh(x / 2)
	return math.Log1p(2 * h * h)
}
