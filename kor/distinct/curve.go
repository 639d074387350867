package distinct

import (
	"math"

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
	if l, err := p.laws(); err == nil { // always, as the Params are valid
		c.add(l.count, draws{1, 1}, draws{})
	}
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

// mean returns μ and its first two derivatives at x.
func (c *curve) mean(x float64) (mu, slope, bend float64) {
	for _, l := range c.log[:c.levels] {
		e := math.Expm1(x * l)
		mu -= e
		slope -= l * (e + 1)
		bend -= l * l * (e + 1)
	}
	return c.cells * mu, c.cells * slope, c.cells * bend
}

// spread returns μ, μ′ and V at x ≥ 0.
func (c *curve) spread(x float64) (mu, slope, v float64) {
	for _, l := range c.log[:c.levels] {
		e := math.Expm1(x * l)
		mu -= e
		slope -= l * (e + 1)
		v -= e * (e + 1)
	}
	mu, slope = c.cells*mu, c.cells*slope
	return mu, slope, max(c.cells*v-x*slope*slope, 0)
}

// stdErr returns √(V + Var Z)/μ′ at x ≥ 0.
func (c *curve) stdErr(x float64) float64 {
	_, slope, v := c.spread(x)
	return math.Sqrt(v+c.variance) / slope
}

// estimate returns the x with μ(x) = t, minus its bias of second order, −μ″/(2μ′³)·(V + Var Z), of
// which at most x/4 is taken. Below 0 the curve goes on as a straight line; what is more than all
// ones counts as all but half a one.
func (c *curve) estimate(t float64) float64 {
	if t <= 0 {
		_, slope, _ := c.mean(0)
		return t / slope
	}
	x := c.solve(min(t, c.cells*float64(c.levels)-0.5))
	_, slope, v := c.spread(x)
	_, _, bend := c.mean(x)
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
		mu, slope, _ := c.mean(x)
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
