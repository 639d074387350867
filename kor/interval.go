package kor

import "math"

// interval returns the ends of the set of sizes that the likelihood ratio test does not reject:
// 2·(ℓ(x̂) − ℓ(x)) ≤ z², with z the standard normal quantile of (1 + confidence)/2 and x̂ the
// maximum of the likelihood, without the correction of the estimate. The lower end can be negative;
// the upper one is +Inf if the limit of ℓ for x → ∞, which is 0, is not rejected.
//
// Where the set is not connected, which takes a sketch that knows little, the ends are those of the
// whole.
func (l *likelihood) interval(confidence float64) (lo, hi float64) {
	if l.logSign == 0 {
		return 0, 0
	}
	if l.nothing() {
		return 0, math.Inf(1)
	}
	z, least := normalQuantile(confidence), -min(-l.logSign, 1)
	var g grid
	g.fill(l)
	from, to := g.around(g.best(0), least)
	top := root(l.score, from, to)
	level := l.log(top) - z*z/2
	if math.IsInf(level, -1) || math.IsNaN(level) {
		// the maximum is where q₀ = 0, the end of the domain
		top = from + (to-from)*0x1p-30
		level = l.log(top) - z*z/2
	}
	above := func(x float64) float64 { return l.log(x) - level }
	return l.unit * l.lowerEnd(&g, above, level, least, top), l.unit * l.upperEnd(&g, above, level, top)
}

// lowerEnd returns the least x where the log-likelihood is at least level.
func (l *likelihood) lowerEnd(g *grid, above func(float64) float64, level, least, top float64) float64 {
	for j := range g.points {
		x := gridX(j)
		if x >= top {
			break
		}
		if g.log[j] >= level {
			top = x
			break
		}
		least = x
	}
	return root(func(x float64) float64 { return -above(x) }, least, top)
}

// upperEnd returns the largest x where the log-likelihood is at least level.
func (l *likelihood) upperEnd(g *grid, above func(float64) float64, level, top float64) float64 {
	if level <= 0 {
		return math.Inf(1)
	}
	end := max(gridX(g.points-1), top) // the maximum can lie past the grid
	for j := g.points - 1; j >= 0; j-- {
		x := gridX(j)
		if x <= top {
			break
		}
		if g.log[j] >= level {
			top = x
			break
		}
		end = x
	}
	for above(end) > 0 { // ends, as the limit is below
		end *= 2
	}
	return root(above, top, end)
}

// normalQuantile returns the z with Pr[|Z| ≤ z] = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
