package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// The noise of one released coordinate is ηᵢ, or ηᵢ + cᵢ·η₀ with a count. The methods here leave
// out that it is rounded to the grid, which adds at most half a step, 2⁻⁴⁴ of the noise or 2⁻³³ of
// the width, except for halfWidth.

// parts returns the scales of ηᵢ and of cᵢ·η₀, the second 0 without a count, and the most that
// rounding them, and a ready sum, adds: half a step each. With an Ellipsoid coordinate i is row i
// of L times the noise of z. For i = dim they are those of the count.
func (l law) parts(i int) (own, shared, rounding float64) {
	c := l.at[i]
	if l.lower != nil {
		norm, sum := 0.0, 0.0
		for _, x := range l.lower[i] {
			norm, sum = math.Hypot(norm, x), sum+math.Abs(x)
		}
		return c.scale * norm, 0, sum * c.step / 2
	}
	if i == l.dim || len(l.at) == l.dim {
		return c.scale, 0, c.step
	}
	count, middle := l.at[l.dim], math.Abs(float64(c.centre)*c.step)
	return c.scale, middle * count.scale, c.step + middle*count.step
}

// deviation returns the standard deviation of coordinate i, that of the count for i = dim.
func (l law) deviation(i int) float64 {
	own, shared, _ := l.parts(i)
	if l.laplace {
		return math.Sqrt2 * math.Hypot(own, shared)
	}
	return math.Hypot(own, shared)
}

// covariance returns that of coordinates i ≥ j.
func (l law) covariance(i, j int) float64 {
	switch {
	case i == j:
		return l.variance(i)
	case l.lower != nil:
		sum := 0.0
		for k, x := range l.lower[j] {
			sum += x * l.lower[i][k]
		}
		return sum * l.at[0].scale * l.at[0].scale
	case len(l.at) == l.dim:
		return 0
	}
	return float64(l.at[i].centre) * l.at[i].step * float64(l.at[j].centre) * l.at[j].step * square(l.deviation(l.dim))
}

func square(x float64) float64 { return x * x }

// moment returns E|noise|ᵖ of coordinate i.
//
// Gaussian: σᵖ·2^{p/2}·Γ((p+1)/2)/√π (Lemma 4.3). Laplace: Γ(p+1)·sᵖ (Lemma 4.5). The sum of two
// Laplace variables of scales s ≥ t has the density (s²·f_s − t²·f_t)/(s² − t²), as
// 1/((1+s²ω²)(1+t²ω²)) is the same combination of 1/(1+s²ω²) and 1/(1+t²ω²), so its moment is
// Γ(p+1)·(s^{p+2} − t^{p+2})/(s² − t²).
func (l law) moment(i int, p float64) float64 {
	own, shared, _ := l.parts(i)
	if !l.laplace {
		gamma, _ := math.Lgamma((p + 1) / 2)
		return math.Exp(p*math.Log(math.Sqrt2*math.Hypot(own, shared)) + gamma - math.Log(math.Pi)/2)
	}
	gamma, _ := math.Lgamma(p + 1)
	s, ratio := max(own, shared), min(own, shared)/max(own, shared)
	factor := 1.0
	switch {
	case ratio == 1:
		factor = (p + 2) / 2
	case ratio > 0:
		factor = math.Expm1((p+2)*math.Log(ratio)) / math.Expm1(2*math.Log(ratio))
	}
	return math.Exp(p*math.Log(s)+gamma) * factor
}

// expectedError returns the sum of the moments over the coordinates.
func (l law) expectedError(p float64) float64 {
	if !(p > 0) || math.IsInf(p, 1) || l.dim == 0 {
		return math.NaN()
	}
	if p > 0x1p1000 { // Γ(p) exceeds all, and its logarithm overflows
		return math.Inf(1)
	}
	sum := 0.0
	for i := range l.dim {
		sum += l.moment(i, p)
	}
	return sum
}

// halfWidth returns the half width of the interval around a released value that holds the true one
// with the given confidence, rounding included.
func (l law) halfWidth(i int, confidence float64) float64 {
	if !(confidence >= 0 && confidence < 1) {
		return math.NaN()
	}
	own, shared, rounding := l.parts(i)
	if !l.laplace {
		normal, err := noise.NewGaussian(math.Hypot(own, shared))
		if err != nil {
			return math.NaN()
		}
		return -normal.Quantile((1-confidence)/2) + rounding
	}
	return laplaceReach(max(own, shared), min(own, shared), 1-confidence) + rounding
}

// laplaceReach returns the least x with Pr[|X + Y| > x] ≤ tail, for X and Y Laplace of scales
// s ≥ t.
func laplaceReach(s, t, tail float64) float64 {
	if t == 0 {
		return -s * math.Log(tail)
	}
	survival := func(x float64) float64 { // from the density at moment
		ratio := t / s
		if ratio > 1-0x1p-20 { // the limit t → s, which is more
			return (1 + x/(2*s)) * math.Exp(-x/s)
		}
		return (math.Exp(-x/s) - ratio*ratio*math.Exp(-x/t)) / (1 - ratio*ratio)
	}
	far := 4 * s * (1 - math.Log(tail)) // (1 + x/(2s))·e^{−x/s} ≤ 3·e^{−x/(2s)} is below tail there
	return search.Root(0, far, 100, func(x float64) float64 { return tail - survival(x) })
}
