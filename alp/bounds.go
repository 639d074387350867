package alp

import "math"

// The thesis's bounds on the error of the paper's unary code with its estimator ([Projection.Argmax]), in units of Δ/ε: α is the width of a column, collision is k/s, the
// probability that another entry lies in the same cell of a column.

// flipRate returns p = 1/(γ + 2), the probability of Lemma 2.10 that a bit above the entry shows a one, γ = (α+2)/(1+α·k/s) − 2. NaN unless γ > 0.
func flipRate(alpha, collision float64) float64 {
	gamma := (alpha+2)/(1+alpha*collision) - 2
	if !(alpha > 0 && collision >= 0 && gamma > 0) {
		return math.NaN()
	}
	return 1 / (gamma + 2)
}

// ErrorBound returns the bound of Lemmas 2.7 and 2.10 on the expected error, (½ + (4α+4)/α² + (4γ+4)/γ²)·α. The paper observes about half of it. NaN where
// it does not hold: it needs collision < ½.
func ErrorBound(alpha, collision float64) float64 {
	p := flipRate(alpha, collision)
	gamma := 1/p - 2
	return (0.5 + (4*alpha+4)/(alpha*alpha) + (4*gamma+4)/(gamma*gamma)) * alpha
}

// TailBound returns the bound of Lemmas 2.14 and 2.18 on the probability that the error is at least tau ≥ α: 2·(4(p−p²))^{τ/(2α)−½}/(√π·(1−2p)). 1 where that is more or
// tau < α, NaN as for ErrorBound.
func TailBound(alpha, collision, tau float64) float64 {
	p := flipRate(alpha, collision)
	if math.IsNaN(p) || math.IsNaN(tau) {
		return math.NaN()
	}
	if tau < alpha {
		return 1
	}
	return min(2*math.Pow(4*p*(1-p), tau/(2*alpha)-0.5)/(math.SqrtPi*(1-2*p)), 1)
}

// ErrorQuantile returns the bound of the same lemmas on the error that is exceeded with probability at most beta: (1 + 2·ln(2/(β√π(1−2p)))/ln(1/(4p−4p²)))·α. Lemma 2.18 is
// printed with 4p − p² in the denominator, which contradicts Lemma 2.13, of which it is a consequence, and its own tail. NaN as for ErrorBound, and
// unless beta is in (0, 1).
func ErrorQuantile(alpha, collision, beta float64) float64 {
	p := flipRate(alpha, collision)
	if !(beta > 0 && beta < 1) {
		return math.NaN()
	}
	decay := -math.Log(4 * p * (1 - p))
	if p > 0.25 { // 4p − 4p² = 1 − (1−2p)²
		decay = -math.Log1p(-(1 - 2*p) * (1 - 2*p))
	}
	return (1 + 2*math.Log(2/(beta*math.SqrtPi*(1-2*p)))/decay) * alpha
}

// HistogramErrorBound returns the bound of Lemma 2.32 on the expected error of Algorithm 10, unary codes of one step, in steps: for integers of which one key changes by 1.
// Lemma 2.31 is the case collision = 0. NaN where it does not hold.
func HistogramErrorBound(epsilon, collision float64) float64 {
	e := math.Expm1(epsilon)
	gamma := (e+2)/(1+e*collision) - 2
	if !(epsilon > 0 && collision >= 0 && gamma > 0) {
		return math.NaN()
	}
	return 4*(e+1)/(e*e) + (4*gamma+4)/(gamma*gamma)
}

// MultiplicativeBound returns the base B of Lemma 2.29 for logarithmic columns of width α, and its bound on E[max(x̃/x, x/x̃)]: B = (4(p−p²))^{−ε/(4α)} and
// (2−4p)/((4p−4p²)^{1/4} − (4p−4p²)^{3/4}). NaN as for ErrorBound.
func MultiplicativeBound(epsilon, alpha, collision float64) (base, bound float64) {
	p := flipRate(alpha, collision)
	q := 4 * p * (1 - p)
	return math.Pow(q, -epsilon/(4*alpha)), (2 - 4*p) / (math.Pow(q, 0.25) - math.Pow(q, 0.75))
}
