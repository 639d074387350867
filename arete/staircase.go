package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// stairs is the staircase law on the integers (Geng and Viswanath, 2014, 2016): with q = e^{−ε},
//
//	Pr[Z = k] = q^j/(2r − 1 + 2H·q/(1−q)), j = 0 for |k| < r, j ≥ 1 for r + (j−1)H ≤ |k| < r + jH.
//
// Two points at a distance of up to H are at most one step apart. It is noise.Staircase of Δ = H
// and γ = (r − ½)/H, rounded, and drawn as that: if γ is rounded, that is noise of another γ, which
// is as private.
type stairs struct {
	law           noise.Staircase
	size, inner   int64   // H, and r in 1 … H
	least, rest   float64 // Pr[Z = 0] and 1 − q
	blocks, steps float64 // Σ q^j and Σ (j−1)·q^j over j ≥ 1
}

func newStairs(epsilon float64, size, inner int64) (stairs, error) {
	law, err := noise.NewStaircase(epsilon, float64(size), (float64(inner)-0.5)/float64(size))
	q, rest := math.Exp(-epsilon), -math.Expm1(-epsilon)
	s := stairs{law: law, size: size, inner: inner, rest: rest, blocks: q / rest, steps: q * q / rest / rest}
	s.least = 1 / (2*float64(inner) - 1 + 2*float64(size)*s.blocks)
	return s, err
}

// mostStaircase is the ε at which Staircase stays for all larger ones: the noise is 2e-9·Δ there.
const mostStaircase = 40

// calibrateStaircase returns the law of the r of the least error.
func calibrateStaircase(p Params) (best spec, err error) {
	epsilon := min(p.Epsilon, mostStaircase)
	gamma, err := noise.StaircaseGamma(epsilon)
	if p.Objective == MeanSquare {
		gamma, err = noise.StaircaseGammaVariance(epsilon)
	}
	if err != nil {
		return spec{}, err
	}
	size := int64(p.sensitivity())
	if !p.Integers { // so that γH is some 2¹⁶ again
		size = 1 << min(16+int(epsilon/(2*math.Ln2)), 40)
	}
	if float64(size) > maxStaircase*min(epsilon, 1) {
		return spec{}, bad("Sensitivity", p.Sensitivity, "at most 2⁴⁶·Epsilon, for Law = Staircase")
	}
	least, middle := math.Inf(1), int64(gamma*float64(size)+0.5)
	for r := max(middle-1, 1); r <= min(middle+2, size); r++ {
		s := spec{law: Staircase, scale: epsilon, size: size, inner: r, copies: 1}
		if e := p.error(s); e < least {
			best, least = s, e
		}
	}
	return best, nil
}

// maxStaircase bounds H and H/ε, for what package noise draws.
const maxStaircase = 0x1p46

// Prob returns Pr[Z = x].
func (s stairs) Prob(x float64) float64 {
	if x != math.Floor(x) {
		return 0
	}
	return math.Exp(-s.law.Epsilon()*s.step(x)) * s.least
}

// LogProb returns ln Pr[Z = x].
func (s stairs) LogProb(x float64) float64 {
	if x != math.Floor(x) {
		return math.Inf(-1)
	}
	return math.Log(s.least) - s.law.Epsilon()*s.step(x)
}

// step returns j.
func (s stairs) step(x float64) float64 {
	return max(0, math.Floor((math.Abs(x)-float64(s.inner))/float64(s.size))+1)
}

// Survival returns Pr[Z > x].
func (s stairs) Survival(x float64) float64 { return s.law.Survival(math.Floor(x) + 0.5) }

// LogSurvival returns ln Pr[Z > x].
func (s stairs) LogSurvival(x float64) float64 { return s.law.LogSurvival(math.Floor(x) + 0.5) }

// Quantile returns the least integer k with Pr[Z ≤ k] ≥ p.
func (s stairs) Quantile(p float64) float64 { return math.Ceil(s.law.Quantile(p) - 0.5) }

// MeanAbs returns E|Z|.
func (s stairs) MeanAbs() float64 {
	r, h := float64(s.inner), float64(s.size)
	return 2 * s.least * (r*(r-1)/2 + h*(r+(h-1)/2)*s.blocks + h*h*s.steps)
}

// Variance returns E Z²: Σ_{i<H} (A+i)² = H·A² + A·H(H−1) + (H−1)H(2H−1)/6 for block j, A = r +
// (j−1)H, and Σ (j−1)²·q^j = q²(1+q)/(1−q)³.
func (s stairs) Variance() float64 {
	r, h := float64(s.inner), float64(s.size)
	squares := s.steps * (2 - s.rest) / s.rest
	block := s.blocks*(r*r+r*(h-1)+(h-1)*(2*h-1)/6) + s.steps*(2*r*h+h*(h-1)) + squares*h*h
	return 2 * s.least * ((r-1)*r*(2*r-1)/6 + h*block)
}

// staircaseSampler draws Z.
type staircaseSampler struct{ law noise.Staircase }

func (s staircaseSampler) draw(src *noise.Source) int64 { return int64(s.law.Sample(src, 1)) }
