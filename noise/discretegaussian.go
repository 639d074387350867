package noise

import (
	"math"
	"math/big"
)

// DiscreteGaussian is the discrete normal distribution. Its standard deviation is below σ: by 2e-7
// of it at σ = 1, by less than a rounding error from σ = 2.
type DiscreteGaussian struct {
	integer[discreteGaussianFormulas]
	proposal DiscreteLaplace // of scale ⌊σ⌋ + 1
}

// NewDiscreteGaussian returns the distribution of parameter sigma.
func NewDiscreteGaussian(sigma float64) (DiscreteGaussian, error) {
	d := DiscreteGaussian{integer[discreteGaussianFormulas]{discreteGaussianFormulas{sigma}}, discreteLaplace(math.Floor(sigma) + 1)}
	return made(d, checkDiscrete("sigma", sigma))
}

// Sigma returns σ.
func (d DiscreteGaussian) Sigma() float64 { return d.formulas.sigma }

// SampleInt draws X.
func (d DiscreteGaussian) SampleInt(src *Source) int64 {
	// Canonne, Kamath and Steinke (arXiv 2004.00010), Algorithm 3: a discrete Laplace draw y of
	// integer scale t = ⌊σ⌋ + 1 is accepted with probability exp(−(|y| − σ²/t)²/(2σ²)).
	if !d.formulas.valid() {
		return unbuiltInt(src)
	}
	t := d.proposal.formulas.scale
	// centre is within 2⁻⁵² of σ²/t ≤ σ, so z is within 2⁻⁵¹·(1+|z|) and the exponent e = z²/2
	// within 2⁻⁴⁹·(1+|z|)² ≤ 2⁻⁴⁷·e^{e−½}, as (1+z)²·e^{−z²/2} is at most 4·e^{−½}, at z = 1. Where
	// that is more than ½, e is above 2⁴⁵. So it is as near as margin asks.
	centre := d.formulas.sigma * (d.formulas.sigma / t)
	for {
		y := d.proposal.SampleInt(src)
		z := (math.Abs(float64(y)) - centre) / d.formulas.sigma
		if bernoulliExp(src, z*z/2, func() *big.Rat { return cksExponent(y, d.formulas.sigma, t) }) {
			return y
		}
	}
}

// cksExponent returns (|y| − σ²/t)²/(2σ²).
func cksExponent(y int64, sigma, t float64) *big.Rat {
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	centre := new(big.Rat).SetFloat64(t)
	centre.Quo(variance, centre)
	z := new(big.Rat).SetInt64(max(y, -y))
	z.Sub(z, centre).Mul(z, z)
	return z.Quo(z, variance.Add(variance, variance))
}

// Sample draws X, NaN unless σ ≤ 2⁴⁶·max(step, 1).
func (d DiscreteGaussian) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.formulas.sigma, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}

func (d DiscreteGaussian) draws(step float64) bool { return integerGrid(d.formulas.sigma, step) }

// discreteGaussianFormulas are those of a DiscreteGaussian of a σ.
type discreteGaussianFormulas struct{ sigma float64 }

func (d discreteGaussianFormulas) valid() bool { return d.sigma > 0 }

func (d discreteGaussianFormulas) atMost(j float64) float64 {
	if j < 0 {
		return d.beyond(-j, -0.5).value()
	}
	return 1 - d.beyond(j, 0.5).value()
}

func (d discreteGaussianFormulas) above(j float64) float64 {
	if j < 0 {
		return 1 - d.beyond(-j, -0.5).value()
	}
	return d.beyond(j, 0.5).value()
}

func (d discreteGaussianFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return math.Log1p(-d.beyond(-j, -0.5).value())
	}
	return d.beyond(j, 0.5).log()
}

func (d discreteGaussianFormulas) quantile(p float64) float64 {
	if p == 0 || p == 1 {
		return normalQuantile(p)
	}
	return settleQuantile(math.Ceil(d.sigma*normalQuantile(p)-0.5), p, d)
}

func (d discreteGaussianFormulas) mean() float64 { return 0 }

func (d discreteGaussianFormulas) mass(j float64) float64 {
	return gaussKernel(divide(j, d.sigma)) / d.normalizer()
}

func (d discreteGaussianFormulas) logMass(j float64) float64 {
	return logGaussKernel(divide(j, d.sigma)) - math.Log(d.normalizer())
}

// The sums behind [DiscreteGaussian], with f(x) = e^{−x²/(2σ²)}.

// smoothSigma is where expansions in 1/σ² take over from direct summation, which then has up to 9·σ
// terms.
const smoothSigma = 16

// normalizer returns N = Σ_k f(k) over all integers.
//
// For σ ≥ 1 by Poisson summation, N = σ√(2π)·Σ_m e^{−2π²σ²m²}, of which m = 0, ±1, ±2 are kept: m =
// 3 is e^{−177}. For σ < 1 the sum itself, of which |k| ≥ 10 is below e^{−50}.
func (d discreteGaussianFormulas) normalizer() float64 {
	if d.sigma >= 1 {
		e := math.Exp(-2 * math.Pi * math.Pi * d.sigma * d.sigma)
		return d.sigma * sqrt2Pi * (1 + 2*e*(1+float64(e*e*e)))
	}
	return 1 + 2*d.moment(0)
}

// moment returns Σ_{k≥1} k^n·f(k) by direct summation, for n = 0, 1, 2 and σ < smoothSigma.
func (d discreteGaussianFormulas) moment(n int) float64 {
	sum := 0.0
	for k := 1.0; k <= 10*smoothSigma; k++ {
		term := gaussKernel(divide(k, d.sigma))
		for range n {
			term *= k
		}
		sum += term
		if term <= sum*0x1p-70 && k > d.sigma*2 {
			// past the peak of k^n·f, and the rest is a fraction of the term
			break
		}
	}
	return sum
}

// variance returns E[X²].
//
// For σ ≥ 1 it is −d ln N/dβ, β = 1/(2σ²), of Poisson's form of N: σ² − 8π²σ⁴(e + 4e⁴)/(1 + 2e +
// 2e⁴), e = e^{−2π²σ²}.
func (d discreteGaussianFormulas) variance() float64 {
	if d.sigma < 1 {
		return 2 * d.moment(2) / d.normalizer()
	}
	v := d.sigma * d.sigma
	e := math.Exp(-2 * math.Pi * math.Pi * v)
	e4 := e * e * e * e
	return v - 8*math.Pi*math.Pi*v*v*(e+4*e4)/(1+2*e+2*e4)
}

// meanAbs returns E|X|.
//
// For σ ≥ 16 the Euler–Maclaurin formula at 0 gives Σ_{k≥1} k·f(k) = σ² − Σ_{m≥0}
// |B_{2m+2}|/((2m+2)·m!·(2σ²)^m) = σ² − 1/12 − 1/(240σ²) − 1/(2016σ⁴) − …, where the next term,
// 1/(11520σ⁶), is below 2e-14 of the sum and is kept too.
func (d discreteGaussianFormulas) meanAbs() float64 {
	if d.sigma < smoothSigma {
		return 2 * d.moment(1) / d.normalizer()
	}
	v := 1 / d.sigma / d.sigma
	return 2 * d.sigma * (1 - v*(1./12+v*(1./240+v*(1./2016+v/11520)))) / sqrt2Pi
}

// gaussTail is the number e^{−(z+r)²/2}·factor, with factor far from underflow.
type gaussTail struct{ z, r, factor float64 }

func (t gaussTail) value() float64 { return gaussKernel(t.z, t.r) * t.factor }

func (t gaussTail) log() float64 {
	return logGaussKernel(t.z, t.r) + math.Log(t.factor)
}

// beyond returns Pr[X > m] for the midpoint m = j + shift > 0, with j ≥ 0 an integer and shift =
// ±½. (In two parts, since beyond 2⁵² a float64 does not hold m.)
func (d discreteGaussianFormulas) beyond(j, shift float64) gaussTail {
	z, r := divide(j+shift, d.sigma)
	if d.sigma < smoothSigma || z > 0.2*d.sigma {
		return d.beyondDirect(j + (shift + 0.5))
	}
	r += (shift - (j + shift - j)) / d.sigma
	return gaussTail{z, r, midpointFactor(z, d.sigma) / sqrt2Pi}
}

// beyondDirect returns Pr[X ≥ a] = f(a)·(1 + c₁ + c₁c₂ + …)/N, c_i = e^{−(2a+2i−1)/(2σ²)}, for an
// integer a ≥ 0.
//
// It takes at most 150 terms for σ < 16, and 190 where a > σ²/5: then c_i ≤ e^{−1/5}. The n-th
// product has a relative error of n²·2⁻⁵³ at most, which the terms weigh down to 2·max(σ², 25)·2⁻⁵³
// ≤ 6e-14 in the sum.
func (d discreteGaussianFormulas) beyondDirect(a float64) gaussTail {
	inverse := 1 / d.sigma / d.sigma // +Inf for the smallest σ: then the ratios are 0
	ratio, decay := math.Exp(-(2*a+1)*inverse/2), math.Exp(-inverse)
	sum, term := 1.0, 1.0
	for range 400 {
		term *= ratio
		ratio *= decay
		sum += term
		if term < 0x1p-60 {
			break
		}
	}
	z, r := divide(a, d.sigma)
	return gaussTail{z, r, sum / d.normalizer()}
}

// midpointFactor returns Σ f(k)/(σ·f(m)) over the integers k > m, for a midpoint m = zσ between
// integers.
//
// It is the Euler–Maclaurin formula at midpoints, Σ_{k>m} f(k) = ∫_m^∞ f − Σ_n
// B_{2n}(½)/(2n)!·f^{(2n−1)}(m), with f^{(n)} = (−1/σ)^n·He_n(z)·f, ∫_m^∞ f = σ·f(m)·R(z), and
// B_{2n}(½)/(2n)! = −1/24, 7/5760, −31/967680, 127/154828800, −73/3503554560 for n = 1..5.
//
// What is left out after n = 5 is at most 2·|B₁₀|/10!·∫_m^∞|f⁽¹⁰⁾| = 4.01·(2π)⁻¹⁰·∫_m^∞|f⁽¹⁰⁾|. For
// z above the largest zero of He₁₀ (4.86) the integral is He₉(z)·f(m)/σ⁹; for smaller z it is a sum
// of differences of He₉·f over the zeros. Relative to R(z) and computed with 40 digits, the rest is
// at most 4.3e-15 for z > 4.86, growing with z up to 4.2·(z/(2πσ))¹⁰ where z = σ/5, and 6e-16 for
// smaller z, where σ ≥ 16 and σ ≥ 5z.
func midpointFactor(z, sigma float64) float64 {
	coefficients := [...]float64{1. / 24, -7. / 5760, 31. / 967680, -127. / 154828800, 73. / 3503554560}
	sum := mills(z)
	previous, hermite := 1.0, z // He_{n−1}, He_n
	power := 1 / sigma / sigma
	for i, c := range coefficients {
		sum -= c * hermite * power
		power = power / sigma / sigma
		for n := 2*i + 1; n < 2*i+3; n++ {
			previous, hermite = hermite, z*hermite-float64(n)*previous
		}
	}
	return sum
}
