package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// interval returns the ends of the set of x for which neither Pr[T̃ ≤ t | x] nor Pr[T̃ ≥ t | x] is
// below half of 1 − confidence, and of the estimate, which can lie beyond them where there are
// about as many ones as cells.
func (c *curve) interval(t, confidence float64) (lo, hi float64) {
	each, estimate := (1-confidence)/2, max(c.estimate(t), 0)
	return min(c.quantile(t-0.5, 1-each), estimate), max(c.quantile(t+0.5, each), estimate)
}

// quantile returns the x ≥ 0 with Pr[T̃ ≤ t | x] = p for a half-integer t, at which that of T + a
// continuous noise is the same: 0 if p is more at every x, +Inf if it is less.
func (c *curve) quantile(t, p float64) float64 {
	from := math.Log(c.cells) // of ln(x + n)
	to := from + c.top()
	at := func(y float64) float64 { return max(math.Exp(y)-c.cells, 0) }
	excess := func(y float64) float64 { return c.atMost(t, at(y)) - p }
	switch {
	case excess(to) > 0:
		return math.Inf(1)
	case excess(from) > 0:
		return at(exact.LeastRoot(from, to, excess))
	}
	return 0
}

// atMost returns Pr[T̃ ≤ t | x] for a half-integer t: all laws here are symmetric about the mean.
func (c *curve) atMost(t, x float64) float64 {
	mu, _, v := c.spread(x)
	if y := t - mu; y > 0 {
		return 1 - c.tail(y, v)
	} else {
		return c.tail(-y, v)
	}
}

// tail returns the probability that a normal number of variance v plus the noise exceeds y ≥ 0.
//
// At half-integers the law of discrete Laplace noise of scale b is that of a mixture, 0 with
// probability 1 − h and a Laplace number of scale b with h = 1/cosh(1/(2b)): Pr[Z > k + ½] =
// e^{−(k+1)/b}/(1 + e^{−1/b}) = h·½·e^{−(k+½)/b}. So it is (1−h)·Φ(−y/σ) + h·NL(y), where NL is the
// tail of a normal and a Laplace number together,
//
//	NL(y) = Φ(−y/σ) + ½·e^{σ²/2b²}·(e^{−y/b}·Φ(y/σ − σ/b) − e^{y/b}·Φ(−y/σ − σ/b)).
//
// With M(a) = e^{a²/2}·Φ(−a) the last term is e^{−y²/2σ²}·M(σ/b + y/σ), which cannot overflow.
func (c *curve) tail(y, v float64) float64 {
	if c.noise != ([2]draws{{1, 1}}) {
		return c.tailOfSum(y, v)
	}
	b := c.scale
	h := 1 / math.Cosh(0.5/b)
	sigma := math.Sqrt(v)
	if sigma < 1e-6 {
		half := 0.0
		if y == 0 {
			half = 0.5
		}
		return (1-h)*half + h*0.5*math.Exp(-y/b)
	}
	z := y / sigma
	plain := math.Erfc(z/math.Sqrt2) / 2
	near := 0.0
	if a := sigma/b - z; a > 0 {
		near = math.Exp(-z*z/2) * mills(a)
	} else {
		near = math.Exp(sigma*sigma/(2*b*b)-y/b) * math.Erfc(a/math.Sqrt2) / 2
	}
	far := math.Exp(-z*z/2) * mills(sigma/b+z)
	return min(max(plain+h*0.5*(near-far), 0), 1)
}

// mills returns e^{a²/2}·Φ(−a) for a ≥ 0, from 25 on by its asymptotic series, to a relative 1e-9.
func mills(a float64) float64 {
	if a < 25 {
		return math.Exp(a*a/2) * math.Erfc(a/math.Sqrt2) / 2
	}
	q := 1 / (a * a)
	return (1 - q*(1-q*(3-15*q))) / (a * math.Sqrt(2*math.Pi))
}

// tailOfSum is tail for a weighted sum of several draws, by the saddle point approximation of
// Lugannani and Rice: with K(s) = ½vs² + Σ k(a·s) over the weights a of the draws, k(s) = 2·ln(1−q)
// − ln(1−q·e^s) − ln(1−q·e^{−s}) the logarithm of the moment generating function of one draw, q =
// e^{−1/b}, and K′(s) = y, it is Φ(−w) + φ(w)·(1/u − 1/w) with w = √(2(sy − K(s))) and u =
// s·√K″(s). Its relative error is a few percent for two draws and falls with their number.
func (c *curve) tailOfSum(y, v float64) float64 {
	q := math.Exp(-1 / c.scale)
	lo, hi := 0.0, 1/(c.scale*max(c.noise[0].weight, c.noise[1].weight)) // where K′ is +Inf
	s, bend := min(y/(v+c.variance), hi*0.99), 0.0
	for range 60 { // Newton's method, inside of a bracket
		slope := v * s
		bend = v
		for _, d := range c.noise {
			n, a, e := float64(d.number), d.weight, math.Exp(s*d.weight)
			up, down := q*e, q/e
			slope += n * a * (up/(1-up) - down/(1-down))
			bend += n * a * a * (up/((1-up)*(1-up)) + down/((1-down)*(1-down)))
		}
		if slope > y {
			hi = s
		} else {
			lo = s
		}
		next := s - (slope-y)/bend
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-s) <= 1e-13*s {
			break
		}
		s = next
	}
	k := v * s * s / 2
	for _, d := range c.noise {
		// (1 − q·e^s)·(1 − q·e^{−s}) is (1−q)² − 4q·sinh²(s/2): so there is no difference of
		// logarithms whose rounding many draws would multiply.
		t := math.Sinh(s*d.weight/2) / math.Expm1(-1/c.scale)
		k -= float64(d.number) * math.Log1p(-4*q*t*t)
	}
	w := math.Sqrt(2 * max(s*y-k, 0))
	u := s * math.Sqrt(bend)
	tail := math.Erfc(w/math.Sqrt2) / 2
	if w > 1e-3 {
		tail += math.Exp(-w*w/2) / math.Sqrt(2*math.Pi) * (1/u - 1/w)
	}
	return min(max(tail, 0), 1)
}
