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

// undefined reports whether x is NaN, or the constructor did not make the distribution.
func (d symmetric[L]) undefined(x float64) bool { return math.IsNaN(x) || !d.formulas.valid() }

// CDF returns Pr[X ≤ x].
func (d symmetric[L]) CDF(x float64) float64 { return d.Survival(-x) }

// Survival returns Pr[X > x].
func (d symmetric[L]) Survival(x float64) float64 {
	switch {
	case d.undefined(x):
		return math.NaN()
	case x < 0:
		return 1 - d.formulas.upper(-x)
	}
	return d.formulas.upper(math.Abs(x))
}

// LogSurvival returns ln Pr[X > x].
func (d symmetric[L]) LogSurvival(x float64) float64 {
	switch {
	case d.undefined(x):
		return math.NaN()
	case x < 0:
		return math.Log1p(-d.formulas.upper(-x))
	}
	return d.formulas.logUpper(math.Abs(x))
}

// Quantile returns the x with CDF(x) = p.
func (d symmetric[L]) Quantile(p float64) float64 {
	switch {
	case d.undefined(p) || p < 0 || p > 1:
		return math.NaN()
	case p > 0.5:
		return d.formulas.upperQuantile(1 - p) // 1 − p is exact
	}
	return 0 - d.formulas.upperQuantile(p)
}

// Mean returns 0.
func (d symmetric[L]) Mean() float64 {
	if d.undefined(0) {
		return math.NaN()
	}
	return 0
}

// Variance returns E[X²], +Inf where that diverges.
func (d symmetric[L]) Variance() float64 {
	if d.undefined(0) {
		return math.NaN()
	}
	return d.formulas.variance()
}

// MeanAbs returns E|X|, +Inf where that diverges.
func (d symmetric[L]) MeanAbs() float64 {
	if d.undefined(0) {
		return math.NaN()
	}
	return d.formulas.meanAbs()
}

// Prob returns the density at x.
func (d symmetric[L]) Prob(x float64) float64 {
	if d.undefined(x) {
		return math.NaN()
	}
	return d.formulas.density(math.Abs(x))
}

// LogProb returns the logarithm of Prob.
func (d symmetric[L]) LogProb(x float64) float64 {
	if d.undefined(x) {
		return math.NaN()
	}
	return d.formulas.logDensity(math.Abs(x))
}
