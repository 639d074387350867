// Package logs computes the logarithms that calibrations of Laplace noise compare.
package logs

import "math"

// Reach returns ln Pr[L ≥ n] for n ≥ 0 and discrete Laplace noise L of scale b.
func Reach(b float64, n int64) float64 {
	return -float64(n)/b - math.Log1p(math.Exp(-1/b))
}

// Expm1 returns ln(e^x − 1) for x > 0.
func Expm1(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(-math.Exp(-x))
	}
	return math.Log(math.Expm1(x))
}
