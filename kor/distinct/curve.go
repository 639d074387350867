package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// curve is the law of the noisy number of ones T̃ = T + Z as a function of the number N of keys.
//
// A cell of level i stays empty with probability u_i = (1 − r_i/n)^N, so
//
//	μ(N) = E[T] = Σ n(1 − u_i),   V(N) = Var[T] ≈ Σ n·u_i(1 − u_i) − N·μ′(N)².
//
// μ is exact for every fixed N. V is the variance for a Poisson number of keys, with mean N, minus
// what the number itself contributes: within 8 % of the exact variance at 16 cells a level.
type curve struct {
	cells    float64
	levels   int
	log      [maxLevels]float64 // ln(1 − r_i/n)
	scale    float64            // of each draw that Z is a sum of
	noise    [2]draws           // the draws
	variance float64            // of Z
}

// draws are a number of draws with the same weight in a sum.
type draws struct {
	number int
	weight float64
}

// rate returns r_i.
func rate(level, levels int) float64 { return math.Ldexp(1, -min(level+1, levels-1)) }

// newCurve returns the curve of a release; p is valid.
func newCurve(p Params) curve {
	c := bareCurve(p)
	l, _ := p.laws() // no error, as p is valid
	c.add(l.count, draws{1, 1}, draws{})
	return c
}

// add gives the curve noise, draws from the law.
func (c *curve) add(law noise.DiscreteLaplace, a, b draws) {
	c.scale, c.noise = law.Scale(), [2]draws{a, b}
	c.variance = law.Variance() * (float64(a.number)*a.weight*a.weight + float64(b.number)*b.weight*b.weight)
}

// bareCurve returns the curve without noise.
func bareCurve(p Params) (c curve) {
	c.cells, c.levels = float64(p.Cells), p.Levels
	for i := range p.Levels {
		c.log[i] = math.Log1p(-rate(i, p.Levels) / c.cells)
	}
	return c
}

// at returns μ, μ′, μ″ and V at x ≥ 0.
func (c *curve) at(x float64) (mu, slope, bend, v float64) {
	for _, l := range c.log[:c.levels] {
		e := math.Expm1(x * l)
		mu -= e
		slope -= l * (e + 1)
		bend -= l * l * (e + 1)
		v -= e * (e + 1)
	}
	mu, slope, bend = c.cells*mu, c.cells*slope, c.cells*bend
	return mu, slope, bend, max(c.cells*v-x*slope*slope, 0)
}

// stdErr returns √(V + Var Z)/μ′ at x ≥ 0.
func (c *curve) stdErr(x float64) float64 {
	_, slope, _, v := c.at(x)
	return math.Sqrt(v+c.variance) / slope
}

// estimate returns the x with μ(x) = t, minus its bias of second order, −μ″/(2μ′³)·(V + Var Z), of
// which at most x/4 is taken. Below 0 the curve goes on as a straight line; what is more than all
// ones counts as all but half a one.
func (c *curve) estimate(t float64) float64 {
	if t <= 0 {
		_, slope, _, _ := c.at(0)
		return t / slope
	}
	x := c.solve(min(t, c.cells*float64(c.levels)-0.5))
	_, slope, bend, v := c.at(x)
	bias := -bend / (2 * slope * slope * slope) * (v + c.variance)
	return x - min(bias, x/4)
}

// solve returns the x ≥ 0 with μ(x) = t, for 0 < t < the number of cells: Newton's method in
// y = ln(x + n), in which μ is close to a line, inside a bracket.
func (c *curve) solve(t float64) float64 {
	lo, hi := math.Log(c.cells), math.Log(c.cells)+c.top()
	y := min(math.Log(c.cells)+t/c.cells*math.Ln2, hi)
	for range 100 {
		x := math.Exp(y) - c.cells
		mu, slope, _, _ := c.at(x)
		if mu > t {
			hi = y
		} else {
			lo = y
		}
		next := y - (mu-t)/(slope*(x+c.cells))
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-y) < 1e-14*max(1, math.Abs(y)) {
			break
		}
		y = next
	}
	return max(math.Exp(y)-c.cells, 0)
}

// top returns ln(1 + x/n) for an x at which not one empty cell is expected: 2^{L−1}·(ln n + 45).
func (c *curve) top() float64 {
	return float64(c.levels-1)*math.Ln2 + math.Log(math.Log(c.cells)+45)
}

// count is a noisy number of ones with the law of its noise, which is all that tells how many keys
// there are. It is a sets.Size; the zero count answers NaN.
type count struct {
	curve
	ones float64 // T̃
}

// Estimate returns the number of keys whose expected number of ones was seen.
func (c count) Estimate() float64 {
	return c.estimate(c.ones)
}

// StdErr returns the standard error at the estimate.
func (c count) StdErr() float64 {
	return c.stdErr(max(c.estimate(c.ones), 0))
}

// Interval returns the range of sizes consistent with the noisy count.
func (c count) Interval(confidence float64) (lo, hi float64) {
	if c.cells == 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return c.interval(c.ones, confidence)
}

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
	mu, _, _, v := c.at(x)
	y := t - mu
	if y > 0 {
		return 1 - c.tail(y, v)
	}
	return c.tail(-y, v)
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
	sigma := max(math.Sqrt(v), 1e-9)
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

// mills returns e^{a²/2}·Φ(−a) for a ≥ −8, from 25 on by its asymptotic series, to a relative 1e-9.
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
