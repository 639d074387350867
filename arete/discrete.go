package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// discrete is the discrete Arete distribution for a sensitivity of steps H: the difference of two
// negative binomial variables of shape α and scale s (masses ∝ p^k·Γ(α+k)/k!, p = e^{−1/s}), and
// discrete Laplace of scale r besides. It is [Arete] with its gamma distributions replaced by their
// lattice version, s = θH and r = λH.
type discrete struct {
	steps int64
	shape float64 // α ≤ 1
	tail  float64 // s
	core  float64 // r < s
}

// The certificate. Let d be the masses of the difference, L those of the discrete Laplace part, f =
// d*L.
//
// Theorem. With α ≤ 1,
//
//	(i)  f is symmetric and unimodal: the largest loss over shifts of up to H is the supremum of
//	     ln f(t)/f(t+H) over t ≥ 0;
//	(ii) for every x ≥ 0 and t ≥ x, f(t)/f(t+H) ≤ ρ(x) + f(x)/f(x+H),
//	     ρ(x) = e^{H/s}·Π_{i<H} (x+1+i)/(x+α+i).
//
// Proof. (i) The masses n(y) of the negative binomial distribution do not increase as α ≤ 1, so
// d(k) = Σ n(y)·n(y+k) does not for k ≥ 0. Two symmetric unimodal distributions are mixtures of
// uniform ones on {−m, …, m}, and so their sum is symmetric and unimodal. (ii) n(y)/n(y+H) = ρ(y),
// which decreases; hence d(y) ≤ ρ(x)·d(y+H) for y ≥ x. The part of f(t) with d at y ≥ x is
// therefore at most ρ(x)·f(t+H). In the other, all L(t−y) = e^{−(t−x)/r}·L(x−y), so it is at most
// e^{−(t−x)/r}·f(x). And L(k+1) ≥ e^{−1/r}·L(k) for all k, so f(t+H) ≥ e^{−(t−x)/r}·f(x+H). ∎
//
// The scan therefore ends at an x with ρ(x) + f(x)/f(x+H) ≤ e^ε, a few core scales from 0.

// loss returns an upper bound on the loss that is proved to hold if it is at most epsilon, or +Inf:
// the larger of that of the scan and of what (ii) says of all beyond. The scan goes on until the
// latter is below what was met, or grows.
func (d discrete) loss(epsilon float64) float64 {
	o := d.oneSided(d.reach())
	h, rest := int(d.steps), o.rest()
	met, beyond, end := 0.0, math.Inf(1), 0
	for t := 0; t < len(o.g); t += t/8 + 1 {
		here := o.lossAt(o.head(t)+rest, o.head(t+h))
		far := math.Log(d.farRatio(t)+math.Exp(here)) + slackLoss
		if end > 0 && !(far < beyond) {
			break
		}
		met = max(met, here)
		if far <= epsilon {
			beyond, end = far, t
			if far <= met {
				break
			}
		}
	}
	if math.IsInf(beyond, 1) {
		return beyond
	}
	return max(o.worstLoss(h, end), beyond)
}

// farRatio returns at least ρ(x). As (1 + (1−α)/(x+α+i)) ≤ exp((1−α)/(x+α+i)), the product is at
// most that of its first factor and of ((x+α+H−1)/(x+α))^{1−α}, by comparison of the sum with an
// integral. For α = 0, x = 0 it is infinite, and so it should be.
func (d discrete) farRatio(x int) float64 {
	from := float64(x) + d.shape
	log := float64(d.steps)/d.tail + (1-d.shape)/from + (1-d.shape)*math.Log1p(float64(d.steps-1)/from)
	return math.Exp(log) * (1 + slackLoss)
}

// oneSided returns the masses 0..n−1 of the upward jumps: negative binomial of shape α, and
// geometric of scale r besides.
func (d discrete) oneSided(n int) *oneSided {
	g := negativeBinomial(d.shape, d.tail, n)
	decay, stop := math.Exp(-1/d.core), -math.Expm1(-1/d.core)
	last := 0.0
	for k := range g {
		last = last*decay + stop*g[k]
		g[k] = last
	}
	return newOneSided(g, chernoff(d.exponent, 1/d.tail, float64(n)), panjerSlack(n))
}

// exponent returns ln E e^{xA} for x < 1/s.
func (d discrete) exponent(x float64) float64 {
	return geometricExponent(d.shape, d.tail, x) + geometricExponent(1, d.core, x)
}

// geometricExponent returns ln E e^{xK} for a negative binomial K of the shape and p =
// e^{−1/scale}.
func geometricExponent(shape, scale, x float64) float64 {
	return shape * math.Log(math.Expm1(-1/scale)/math.Expm1(x-1/scale))
}

// reach returns how many masses a certificate needs: see [jump.reach].
func (d discrete) reach() int {
	return int(chernoffReach(d.exponent, 1/d.tail, 25)) + int(d.steps) + 128
}

// variance returns E[Z²].
func (d discrete) variance() float64 {
	return differenceVariance(d.shape, d.tail) + differenceVariance(1, d.core)
}

// differenceVariance returns that of the difference of two negative binomial variables of the shape
// and p = e^{−1/scale}.
func differenceVariance(shape, scale float64) float64 {
	sinh := math.Sinh(1 / (2 * scale))
	return shape / (2 * sinh * sinh)
}

// discreteSampler draws from the distribution or from one of n shares of it.
type discreteSampler struct{ tail, core sampler }

func (d discrete) sampler(parts uint64) (sampler, error) {
	tail, err := newDifference(d.shape, d.tail, parts)
	if err != nil {
		return nil, err
	}
	core, err := laplaceSampler(d.core, parts)
	return &discreteSampler{tail, core}, err
}

func (s *discreteSampler) SampleInt(src *noise.Source) int64 {
	return s.tail.SampleInt(src) + s.core.SampleInt(src)
}

// laplaceSampler draws discrete Laplace noise of the scale, or one of n shares of it: a difference
// of negative binomials of shape 1/n.
func laplaceSampler(scale float64, parts uint64) (sampler, error) {
	if parts > 1 {
		return newDifference(1, scale, parts)
	}
	return noise.NewDiscreteLaplace(scale)
}
