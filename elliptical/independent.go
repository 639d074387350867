package elliptical

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// Gaussian and Laplace noise, independent in each coordinate.

// sample draws the noise of one coordinate, in steps. The scale is at most maxScale steps, see
// drawable, so that the draw is exact.
func (l law) sample(src *noise.Source, c coordinate) int64 {
	if l.kind == laplace {
		d, _ := noise.NewLaplace(c.scale) // valid: see calibrateIndependent
		return int64(d.Sample(src, c.step) / c.step)
	}
	d, _ := noise.NewGaussian(c.scale)
	return int64(d.Sample(src, c.step) / c.step)
}

// gaussianMoment returns E|X|ᵖ = σᵖ·2^{p/2}·Γ((p+1)/2)/√π (Lemma 4.3).
func gaussianMoment(sigma, p float64) float64 {
	gamma, _ := math.Lgamma((p + 1) / 2)
	return math.Exp(p*math.Log(math.Sqrt2*sigma) + gamma - math.Log(math.Pi)/2)
}

// laplaceMoment returns E|X + Y|ᵖ for X and Y Laplace of scales s and t: Γ(p+1)·sᵖ for t = 0 (Lemma
// 4.5). The sum has the density (s²·f_s − t²·f_t)/(s² − t²), as 1/((1+s²ω²)(1+t²ω²)) is the same
// combination of 1/(1+s²ω²) and 1/(1+t²ω²), so its moment is Γ(p+1)·(s^{p+2} − t^{p+2})/(s² − t²).
func laplaceMoment(s, t, p float64) float64 {
	s, t = max(s, t), min(s, t)
	gamma, _ := math.Lgamma(p + 1)
	factor := 1.0
	switch ratio := t / s; {
	case ratio == 1:
		factor = (p + 2) / 2
	case ratio > 0:
		factor = math.Expm1((p+2)*math.Log(ratio)) / math.Expm1(2*math.Log(ratio))
	}
	return math.Exp(p*math.Log(s)+gamma) * factor
}

// gaussianReach returns the least x with Pr[|X| > x] ≤ tail.
func gaussianReach(sigma, tail float64) float64 {
	normal, err := noise.NewGaussian(sigma)
	if err != nil {
		return math.NaN()
	}
	return -normal.Quantile(tail / 2)
}

// laplaceReach returns the least x with Pr[|X + Y| > x] ≤ tail, for X and Y Laplace of scales s and
// t.
func laplaceReach(s, t, tail float64) float64 {
	s, t = max(s, t), min(s, t)
	if t == 0 {
		return -s * math.Log(tail)
	}
	survival := func(x float64) float64 { // from the density at laplaceMoment
		ratio := t / s
		if ratio > 1-0x1p-20 { // the limit t → s, which is more
			return (1 + x/(2*s)) * math.Exp(-x/s)
		}
		return (math.Exp(-x/s) - ratio*ratio*math.Exp(-x/t)) / (1 - ratio*ratio)
	}
	far := 4 * s * (1 - math.Log(tail)) // (1 + x/(2s))·e^{−x/s} ≤ 3·e^{−x/(2s)} is below tail there
	return exact.Root(0, far, 100, func(x float64) float64 { return tail - survival(x) })
}
