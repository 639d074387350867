package sparse

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// The Laplace mechanisms: discrete Laplace noise L of scale b on the grid, Pr[L = x] ∝ q^|x|, q =
// e^{−1/b}. All lengths are in steps.
//
// Exponential and linear rounding are the kernel of package rounding, with Theorems 1 and 2 there:
// for vectors at ℓ₁ distance Δ the release is (Δ/b, δ)-private with δ = η·(e^{Δ/b}−1)/(e^{R/b}−1)
// and ηΔ/R, η = Pr[R + L ≥ T].
//
// Without rounding, and if at most m coordinates change, each by at most w, and Δ in total, the
// release is (Δ/b, 1 − (1 − G)^m)-private with G = Pr[w + L ≥ T]: Theorem 3 in laplace_proof.md.
//
// The number beside the keys moves by w at most and has noise of scale b′ of its own, w/b′ = sε.
// That is sε-private and independent of the keys, so the release is (Δ/b + w/b′, δ)-private with
// the δ of the keys alone. The sum of a value and the number has a variance of about (Δ/(1−s))² +
// (w/s)², in units of 1/ε², which is least at s/(1−s) = (w/Δ)^⅔.
//
// Real values are rounded to the grid at random, or, where MaxKeys is given, towards 0. The former
// replaces Δ/b by Δ·(e^{1/b} − 1), so b = 1/ln(1 + ε/Δ); the latter adds a step for each key to Δ.
// Proofs in rounding_proof.md and laplace_proof.md. TestReleaseIsPrivateExactly checks all of it.

// calibrateLaplace calibrates a mechanism with Laplace noise.
func (p Params) calibrateLaplace(m Method) (c calibration, err error) {
	total := p.total() * float64(p.users())
	c = calibration{method: m, step: 1, from: 1}
	if !p.Integers {
		c.step = gridFor(min(total, p.perKey()), total/p.Epsilon)
	}
	total, perKey := math.Ceil(total/c.step), p.change(c.step)
	keys := float64(p.MaxKeys * p.users()) // the most that change, 0 for any number
	if p.MaxKeys > 0 && !p.Integers {
		// rounding to a grid point moves each total by less than a step more
		total += keys
	}
	if p.MaxKeys > 0 {
		total = min(total, keys*perKey)
	}
	epsilon := p.Epsilon
	if p.Beside {
		ratio := math.Pow(perKey/total, 2./3)
		spent := epsilon * ratio / (1 + ratio)
		if c.beside, err = noise.LaplaceScale(spent, perKey); err != nil || !(c.beside <= maxScale) {
			return c, errRange
		}
		epsilon = (epsilon - spent) * (1 - 0x1p-50)
	}
	if p.MaxKeys > 0 || p.Integers {
		c.scale, err = noise.LaplaceScale(epsilon, total)
	} else { // rounding at random
		c.scale = (1 + 0x1p-50) / math.Log1p(p.Epsilon/total)
	}
	if err != nil || !(c.scale <= maxScale) {
		return c, errRange
	}
	switch {
	case m == PureLaplace:
		c.threshold = p.pureThreshold(c.scale)
	case m == ExponentialRounding:
		c.use(rounding.Exponential(c.scale, rounding.Share, epsilon, rounding.Below(p.Delta)))
	case m == LinearRounding:
		c.use(rounding.Linear(c.scale, total, rounding.Below(p.Delta)))
	case m == Laplace && p.MaxKeys > 0:
		c.threshold = plainThreshold(c.scale, keys, perKey, p.Delta)
	case m == Laplace: // of Integers
		// of n keys that change, by 1 at least, −Σ ln(1−G) is convex in each change and in n:
		// the most is at one key or at Δ
		c.threshold = max(plainThreshold(c.scale, 1, total, p.Delta), plainThreshold(c.scale, total, 1, p.Delta))
	}
	return c, nil
}

// plainThreshold returns the least T of Theorem 3 for m keys that change by w.
func plainThreshold(b, m, w, delta float64) int64 {
	// (1−G)^m ≥ 1−δ, that is G ≤ 1 − (1−δ)^{1/m}.
	each := math.Log(-math.Expm1(math.Log1p(-delta) / m))
	each -= 0x1p-40 * max(1, -each)
	return int64(w) + exact.LeastInt(1, func(n int64) bool { return exact.LogLaplaceTail(b, n) <= each })
}

// pureThreshold returns the least T at which no more than the expected number of keys without a
// value are released.
func (p Params) pureThreshold(b float64) int64 {
	each := math.Log(p.falseKeys()) - math.Log(float64(p.Dim))
	if p.Signed {
		each -= math.Ln2 // both tails
	}
	return exact.LeastInt(1, func(n int64) bool { return exact.LogLaplaceTail(b, n) <= each })
}
