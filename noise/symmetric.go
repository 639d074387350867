package noise

import "math"

// symmetricFormulas is what a distribution on the real numbers that is symmetric around 0 computes,
// for x ≥ 0 and p in [0, ½], if its constructor made it.
type symmetricFormulas interface {
	valid() bool                     // its constructor made it
	upper(x float64) float64         // Pr[X > x]
	logUpper(x float64) float64      // ln Pr[X > x]
	upperQuantile(p float64) float64 // the x with Pr[X > x] = p
	density(x float64) float64
	logDensity(x float64) float64
	variance() float64
	meanAbs() float64
}

// symmetric has the methods of a distribution that is symmetric around 0.
type symmetric[L symmetricFormulas] struct{ formulas L }

// evaluated returns f(x), or NaN if x is NaN or the constructor did not make the distribution.
func evaluated[L interface{ valid() bool }](d L, x float64, f func(L, float64) float64) float64 {
	if x != x || !d.valid() {
		return math.NaN()
	}
	return f(d, x)
}

// number returns a number of the distribution, or NaN if the constructor did not make it.
func number[L interface{ valid() bool }](d L, f func(L) float64) float64 {
	if !d.valid() {
		return math.NaN()
	}
	return f(d)
}

// CDF is Pr[X ≤ x].
func (d symmetric[L]) CDF(x float64) float64 { return d.Survival(-x) }

// Survival is Pr[X > x].
func (d symmetric[L]) Survival(x float64) float64 {
	tail := evaluated(d.formulas, math.Abs(x), L.upper)
	if x < 0 {
		return 1 - tail
	}
	return tail
}

// LogSurvival is ln Survival.
func (d symmetric[L]) LogSurvival(x float64) float64 {
	if x < 0 {
		return math.Log1p(-evaluated(d.formulas, -x, L.upper))
	}
	return evaluated(d.formulas, math.Abs(x), L.logUpper)
}

// Quantile inverts CDF.
func (d symmetric[L]) Quantile(p float64) float64 {
	switch {
	case p < 0 || p > 1:
		return math.NaN()
	case p > 0.5:
		return evaluated(d.formulas, 1-p, L.upperQuantile) // 1 − p is exact
	}
	return 0 - evaluated(d.formulas, p, L.upperQuantile)
}

// Mean is 0.
func (d symmetric[L]) Mean() float64 { return number(d.formulas, func(L) float64 { return 0 }) }

// Variance is E[X²].
func (d symmetric[L]) Variance() float64 { return number(d.formulas, L.variance) }

// MeanAbs is E|X|.
func (d symmetric[L]) MeanAbs() float64 { return number(d.formulas, L.meanAbs) }

// Prob is the density.
func (d symmetric[L]) Prob(x float64) float64 { return evaluated(d.formulas, math.Abs(x), L.density) }

// LogProb is ln Prob.
func (d symmetric[L]) LogProb(x float64) float64 {
	return evaluated(d.formulas, math.Abs(x), L.logDensity)
}
