package quantile

import "math"

// Drawn is what is known of the draw of a level, once it is released.
type Drawn struct {
	Part
	Above, Below float64 // κ of places above and below, for a unit of weight
	// Up and Down are logarithms of numbers of cells, weighed by the base
	// measure in units of that of the target's cell: of those above it and of
	// those below it, for every target that the released numbers allow.
	Up, Down float64
}

// Guard bounds the probabilities of quantiles that lie where hardly any values are: see "Where a
// quantile may lie" in spread_proof.md.
type Guard struct {
	Draws     []Drawn // by level
	All, Most float64 // bounds on the weight of all values
}

// Above returns a bound on the logarithm of the probability that no more than the weight rest is at
// the quantile of a level or above it.
func (g *Guard) Above(i int, rest float64) float64 { return g.beyond(i, rest, true) }

// Below returns that for the quantile and below it.
func (g *Guard) Below(i int, rest float64) float64 { return g.beyond(i, rest, false) }

func (g *Guard) beyond(i int, rest float64, above bool) float64 {
	d := &g.Draws[i]
	cells, kappa, side, beside := d.Up, d.Above, 1-d.Level, d.Right
	if !above {
		cells, kappa, side, beside = d.Down, d.Below, d.Level, d.Left
	}
	theta, nominal := kappa*side, d.Share*g.All
	bound := cells + kappa*rest - theta*nominal
	steeper := theta + lighter(nominal, (cells+kappa*rest)/theta)
	bound += g.error(d.Left, steeper, true) + g.error(d.Right, steeper, false)
	if beside >= 0 && beside < len(g.Draws) {
		bound = min(bound, g.beyond(beside, rest, above))
	}
	return min(bound, 0)
}

// lighter returns c such that a part that lacks e of its nominal weight s has s/(s − e) ≤ e^(ce),
// as long as more than trivial is left: with less the bound on its probability is 1. It is for the
// cells that an end cuts, of which the less is left.
func lighter(s, trivial float64) float64 {
	if !(trivial < s) {
		return 0
	}
	return math.Log(s/trivial) / (s - trivial)
}

// error returns a bound on ln E e^(θ·error), where the error is by how much the quantile of the
// level i is too high in rank, or too low.
func (g *Guard) error(i int, theta float64, high bool) float64 {
	if i < 0 || i >= len(g.Draws) {
		return 0
	}
	d := &g.Draws[i]
	kappa, cells := d.Above, d.Up
	if !high {
		kappa, cells = d.Below, d.Down
	}
	// Pr[own error > t] ≤ e^(cells − κt), and no error is above Most
	most := min(cells/kappa, g.Most)
	rest, up := g.Most-most, theta-kappa
	own := max(theta, up) * rest
	if up*rest < 700 {
		own = math.Log1p(theta * integral(up, rest))
	}
	return theta*most + own + g.error(d.Left, theta*(1-d.Level), high) + g.error(d.Right, theta*d.Level, high)
}

// integral returns that of e^(rate·u) over u from 0 to end.
func integral(rate, end float64) float64 {
	if math.Abs(rate*end) < 1e-9 {
		return end
	}
	return math.Expm1(rate*end) / rate
}

// Above returns the logarithm of how much of the base measure is from a target's cell to the end,
// in units of that of the cell, for the worst target of the cells from ≤ target ≤ to.
func (f Fall) Above(from, to, end int64) float64 {
	worst, rest := 1.0, f.mass(from, end)
	for x := from; x <= to; {
		base, next := f.base(x), min(f.end(x), to+1)
		worst = max(worst, rest/base)
		rest -= float64(next-x) * base
		x = next
	}
	return math.Log(worst)
}

// Below returns that from the first cell to a target's.
func (f Fall) Below(first, from, to int64) float64 {
	worst, sum := 1.0, f.mass(first, from)
	for x := from; x <= to; {
		base, next := f.base(x), min(f.end(x), to+1)
		sum += float64(next-x) * base
		worst = max(worst, sum/base)
		x = next
	}
	return math.Log(worst)
}

func (f Fall) base(x int64) float64 { return math.Ldexp(1, -int(f.falls(x))) }

// mass returns the base measure of the places from ≤ x < to.
func (f Fall) mass(from, to int64) (sum float64) {
	for from < to {
		end := min(f.end(from), to)
		sum += float64(end-from) * f.base(from)
		from = end
	}
	return sum
}
