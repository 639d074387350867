package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// The Laplace mechanisms: discrete Laplace noise L of scale b on the grid, Pr[L = x] ∝ q^|x|, q = e^{−1/b}. All lengths
// are in steps. η = Pr[R + L ≥ T] = q^{T−R}/(1+q) for T > R, hence η < ½.
//
// Theorem 1 (exponential rounding). Let M(v), v ≥ 0, release v + L if that is ≥ T for v ≥ R, and for v < R do what M(R) does
// with probability g(v) = (e^{v/b}−1)/(e^{R/b}−1), else nothing; let M(−v) be M(v) with the sign turned. For vectors at ℓ₁ distance Δ, any
// number of coordinates, each released by M, the release is (ε, δ)-private with ε = Δ/b and δ = η·(e^ε−1)/(e^{R/b}−1).
//
// Proof. Let δ₁ = η·(e^{1/b}−1)/(e^{R/b}−1). M(v) and M(v+1) are (1/b, δ₁)-close in both directions: For v ≥ R both are the
// same function of v + L and of v + 1 + L. For v < R let h be the law of what M(R) shows, of mass η. Upwards the excess of g(v+1)·h
// over e^{1/b}·g(v)·h is δ₁/η·h, of mass δ₁, and showing nothing has become less likely. Downwards showing something has become
// less likely, and showing nothing is in excess of e^{1/b} times by
//
//	1 − ηg(v) − e^{1/b}(1 − ηg(v+1)) = η(g(v+1)−g(v)) − (e^{1/b}−1)(1−ηg(v+1)) ≤ δ₁,
//
// as g(v+1)−g(v) = e^{v/b}·δ₁/η and η(g(v)+g(v+1)) ≤ 1 by η ≤ ½. A vector at distance Δ is reached in Δ such steps, through 0 if a sign
// changes, and group privacy (P ≤ e^{1/b}Q + bad, the bad mass at most δ₁, one after the other) gives
// δ₁(1 + e^{1/b} + … + e^{(Δ−1)/b}) = δ. ∎ One key at 0 and at Δ ≤ R attains it: its excess is η·g(Δ) = δ.
//
// Theorem 2 (linear rounding). The same with g(v) = v/R, R ≥ Δ: (Δ/b, ηΔ/R)-private.
// Proof. For one coordinate that moves by d ≤ Δ let "bad" be the mass of P in excess of e^{d/b}·Q. Both values below R: at most the total
// variation ηd/R. Upwards from R − z to R + c, d = z + c: shown values exceed by at most η(e^{c/b} − e^{d/b}(1 − z/R)), convex in z and 0 at z = 0, so at most
// z/d times its value at z = d, η(1 − (1−d/R)e^{d/b}) ≤ ηd/R as d ≤ R. Downwards shown values do not exceed, and nothing is shown with 1 − ηg against
// at least e^{−c/b}(1−η): excess at most η(1−g) = ηz/R. From c > 0 to −a < 0: ηc/R for what is shown and (η(a−c)/R)₊ for nothing, max(a, c) ≤ d.
// The bad masses of independent coordinates add up, and the rest is within e^{Δ/b}. ∎
//
// Theorem 3 (no rounding, plain Laplace). v ≠ 0 is released as v + L if that is ≥ T, 0 never. If at most m coordinates change, each by at most
// w, and Δ in total, the release is (Δ/b, 1 − (1 − G)^m)-private with G = Pr[w + L ≥ T]. Proof. A key that only one input has is at most w there and
// in excess by at most G, in either direction, and so is one that goes from c to −a (what is shown by G_c, nothing by (G_a − G_c)₊); any other
// is within e^{d/b}. The good parts of the independent coordinates have mass at least 1 − G. ∎
//
// Real values. A value x between two grid points a and a+1 becomes a + 1 with probability θ = x − a, else a. For real values at
// distance Δ, over all that is added, Theorems 1 and 2 hold with κ = e^{1/b} − 1 in the place of 1/b in ε = Δκ, so b = 1/ln(1 + ε/Δ).
// Theorem 1: moving x by θ moves the output by θ(M(a+1) − M(a)) ≤ θ(κM + bad) for every mixture M of M(a) and M(a+1), so
// P ≤ (1 + θκ)Q + θ·bad ≤ e^{θκ}Q + θ·bad; and δ is as before in terms of ε: δ₁·(e^ε−1)/κ. (Values added to one key move its total one after the other.)
// Theorem 2: below R, M is linear in the total, and rounding at random leaves it so: the bad mass is ηd/R again. Above, and across R, a change by d moves the total
// by a random number S of steps, with mean d and E[e^{S/b}] ≤ e^{κd} as each step has its θ. Upwards P ≤ E[e^{S/b}]·Q + bad, of mass η·E[S]/R; downwards
// e^{−S/b} falls and the bad mass of S grows with S, so by Chebyshev's inequality their product is at most that of the means. S ≤ ⌈Δ⌉ ≤ R where
// one value of the key changes, which LinearRounding therefore asks for. ∎

// calibrateLaplace calibrates a mechanism with Laplace noise.
func (p Params) calibrateLaplace(m Mechanism) (c calibration, reason string) {
	total := p.total() * float64(p.users())
	c = calibration{mechanism: m, step: 1, from: 1}
	if !p.Integers {
		c.step = gridFor(min(total, p.perKey()), total/p.Epsilon)
	}
	total, perKey := math.Ceil(total/c.step), p.change(c.step)
	keys := float64(p.MaxKeys * p.users()) // the most that change, 0 for any number
	if p.MaxKeys > 0 && !p.Integers {      // rounding to a grid point moves each total by less than a step more
		total += keys
	}
	if p.MaxKeys > 0 {
		total = min(total, keys*perKey)
	}
	var err error
	if p.MaxKeys > 0 || p.Integers {
		c.scale, err = noise.LaplaceScale(p.Epsilon, total)
	} else { // rounding at random
		c.scale = (1 + 0x1p-50) / math.Log1p(p.Epsilon/total)
	}
	if err != nil || !(c.scale <= maxScale) {
		return c, "its noise is out of range"
	}
	switch m {
	case DenseLaplace:
	case PureLaplace:
		c.threshold = p.pureThreshold(c.scale)
	case ExponentialRounding:
		c.from, c.threshold = exponentialThreshold(c.scale, p.Epsilon, p.Delta)
	case LinearRounding:
		c.from, c.threshold = linearThreshold(c.scale, total, p.Delta)
	case Laplace:
		switch {
		case p.MaxKeys > 0:
			c.threshold = plainThreshold(c.scale, keys, perKey, p.Delta)
		case p.Integers: // of n keys that change, by 1 at least, −Σ ln(1−G) is convex in each change and in n: the most is at one key or at Δ
			c.threshold = max(plainThreshold(c.scale, 1, total, p.Delta), plainThreshold(c.scale, total, 1, p.Delta))
		default:
			return c, "it needs MaxKeys, or Integers"
		}
	}
	return c, ""
}

// safely returns ln δ, lowered by more than the errors of the few roundings in what is compared with it.
func safely(delta float64) float64 {
	logDelta := math.Log(delta)
	return logDelta - 0x1p-40*max(1, -logDelta)
}

// exponentialThreshold returns R and the least T of Theorem 1. R = 5b leaves nothing worth having to a larger one, which
// would lower T by less than b·e^{−5}; where T would not exceed R the best R is where they meet.
func exponentialThreshold(b, epsilon, delta float64) (from, threshold int64) {
	want := safely(delta) - logs.Expm1(epsilon)
	least := func(from int64) int64 {
		offset := want + logs.Expm1(float64(from)/b)
		return from + search.Least(1, func(n int64) bool { return logs.Reach(b, n) <= offset })
	}
	from = max(1, int64(math.Round(5*b)))
	threshold = least(from)
	if threshold > from+1 || from == 1 {
		return from, threshold
	}
	// T(R) is R + 1 from some R on, and decreases before: take that R, or the one before.
	from = search.Least(1, func(r int64) bool { return least(r) == r+1 })
	threshold = from + 1
	if from > 1 {
		if t := least(from - 1); t < threshold {
			from, threshold = from-1, t
		}
	}
	return from, threshold
}

// linearThreshold returns R and the least T of Theorem 2. T is least at R = b, where that is allowed.
func linearThreshold(b, total, delta float64) (from, threshold int64) {
	from = int64(math.Ceil(max(total, math.Round(b))))
	offset := safely(delta) + math.Log(float64(from)/total)
	return from, from + search.Least(1, func(n int64) bool { return logs.Reach(b, n) <= offset })
}

// plainThreshold returns the least T of Theorem 3 for m keys that change by w.
func plainThreshold(b, m, w, delta float64) int64 {
	// (1−G)^m ≥ 1−δ, that is G ≤ 1 − (1−δ)^{1/m}.
	each := math.Log(-math.Expm1(math.Log1p(-delta) / m))
	each -= 0x1p-40 * max(1, -each)
	return int64(w) + search.Least(1, func(n int64) bool { return logs.Reach(b, n) <= each })
}

// pureThreshold returns the least T at which no more than the expected number of keys without a value are released.
func (p Params) pureThreshold(b float64) int64 {
	expected := p.FalseKeys
	if expected == 0 {
		expected = 1 / (2 * float64(p.Dim))
	}
	each := math.Log(expected) - math.Log(float64(p.Dim))
	if p.Signed {
		each -= math.Ln2 // both tails
	}
	return search.Least(1, func(n int64) bool { return logs.Reach(b, n) <= each })
}

// ClassicThreshold is the threshold of the paper's Algorithm 9, ln(1/δ)/ε + 2 at Δ = 1, the same multiple of any
// other Δ. It is here for comparison with [Params.Threshold]. The error wraps [ErrParams] unless epsilon and delta are as in [Params], delta not 0.
func ClassicThreshold(epsilon, delta float64) (float64, error) {
	if err := (Params{Epsilon: epsilon, Delta: delta}).validate(); err != nil {
		return 0, err
	}
	return -math.Log(delta)/epsilon + 2, nil
}
