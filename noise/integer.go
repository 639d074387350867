package noise

import "math"

// integerFormulas is what a distribution on the integers computes, for integers j, or ±Inf, and for
// p in [0, 1], if its constructor made it.
type integerFormulas interface {
	valid() bool                // its constructor made it
	atMost(j float64) float64   // Pr[X ≤ j]
	above(j float64) float64    // Pr[X > j]
	logAbove(j float64) float64 // ln Pr[X > j]
	quantile(p float64) float64 // the least j with Pr[X ≤ j] ≥ p
	mass(j float64) float64     // Pr[X = j]
	logMass(j float64) float64  // ln Pr[X = j]
	mean() float64
	variance() float64
	meanAbs() float64
}

// integer has the methods of a distribution on the integers.
type integer[L integerFormulas] struct{ formulas L }

// at returns f(⌊x⌋).
func (d integer[L]) at(x float64, f func(L, float64) float64) float64 {
	return evaluated(d.formulas, math.Floor(x), f)
}

// CDF is Pr[X ≤ x].
func (d integer[L]) CDF(x float64) float64 { return d.at(x, L.atMost) }

// Survival is Pr[X > x].
func (d integer[L]) Survival(x float64) float64 { return d.at(x, L.above) }

// LogSurvival is ln Survival.
func (d integer[L]) LogSurvival(x float64) float64 { return d.at(x, L.logAbove) }

// Quantile inverts CDF.
func (d integer[L]) Quantile(p float64) float64 {
	if p < 0 || p > 1 {
		return math.NaN()
	}
	return evaluated(d.formulas, p, L.quantile)
}

// Mean is E[X].
func (d integer[L]) Mean() float64 { return number(d.formulas, L.mean) }

// Variance is Var[X].
func (d integer[L]) Variance() float64 { return number(d.formulas, L.variance) }

// MeanAbs is E|X|.
func (d integer[L]) MeanAbs() float64 { return number(d.formulas, L.meanAbs) }

// Prob is Pr[X = x].
func (d integer[L]) Prob(x float64) float64 {
	if p := d.at(x, L.mass); p != p || x == math.Floor(x) {
		return p
	}
	return 0
}

// LogProb is ln Prob.
func (d integer[L]) LogProb(x float64) float64 {
	if log := d.at(x, L.logMass); log != log || x == math.Floor(x) {
		return log
	}
	return math.Inf(-1)
}

// settleQuantile returns the least integer k with Pr[X ≤ k] ≥ p, starting from a guess a few
// integers away. For p > ½ it compares Pr[X > k] with 1 − p, which is exact. It leaves a guess
// alone where float64 has no fractions any more.
func settleQuantile[L integerFormulas](guess, p float64, d L) float64 {
	if math.Abs(guess) >= 1<<52 {
		return guess
	}
	reached := func(k float64) bool {
		if p > 0.5 {
			return d.above(k) <= 1-p
		}
		return d.atMost(k) >= p
	}
	const steps = 64
	k := guess
	for i := 0; i < steps && !reached(k); i++ {
		k++
	}
	for i := 0; i < steps && reached(k-1); i++ {
		k--
	}
	return k + 0 // not −0
}
