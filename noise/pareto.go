package noise

import (
	"cmp"
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Pareto is the zero-symmetric Pareto distribution of shape α and scale s (Tětek, Definition 11),
// with density
//
//	(α−1)/(2s)·(1 + |x|/s)^{−α}.
//
// Its moments below α−1 exist: E|X| = s/(α−2), and the variance is 2s²/((α−2)(α−3)). Added to an
// estimator whose error has a bounded α-th moment it gives ε-DP, at the scale that package
// noise/approx computes.
type Pareto struct{ symmetric[paretoFormulas] }

// mostShape is the largest shape of [Pareto].
const mostShape = 0x1p20

// NewPareto returns the distribution of shape α in (1, 2²⁰] and scale s.
func NewPareto(shape, scale float64) (Pareto, error) {
	err := cmp.Or(within("shape", shape, 1+0x1p-52, mostShape, "a number in (1, 2²⁰]"), checkParam("scale", scale))
	return made(Pareto{symmetric[paretoFormulas]{paretoFormulas{shape, scale}}}, err)
}

// Shape returns α.
func (d Pareto) Shape() float64 { return d.formulas.shape }

// Scale returns s.
func (d Pareto) Scale() float64 { return d.formulas.scale }

// Sample draws X, NaN unless s/step ≤ 2⁴⁶, exactly below 2⁵³ steps. Beyond, the exact draw is
// rounded to a float64, and one beyond ±2⁶¹ steps to these, or to ±2¹⁰²³ if that is less: with a
// heavy tail this happens. Clamp x + Sample, with x on the grid, to a public range of ±2⁵² steps.
func (d Pareto) Sample(src *Source, step float64) float64 {
	steps, ok := d.SampleSteps(src, step)
	if !ok {
		return math.NaN()
	}
	return inSteps(steps, step)
}

// SampleSteps is exact below 2⁶¹.
func (d Pareto) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	g, ok := newPowerGrid(paretoKind, d.formulas.shape, d.formulas.scale, step)
	if !ok {
		return unbuiltInt(src), false
	}
	c, coin := g.paretoCell(src)
	return withSign(g.sample(src, c), coin), true
}

func (d Pareto) draws(step float64) bool {
	_, ok := newPowerGrid(paretoKind, d.formulas.shape, d.formulas.scale, step)
	return ok
}

// paretoCell draws the cell of ⌊units·|X|/s⌋ and a coin: as Pr[|X| > s·t] = (1+t)^{1−α}, that is
// ⌊units·(U^{−1/(α−1)} − 1)⌋ for a uniform U, of 62 digits at first.
func (g powerGrid) paretoCell(src *Source) (c cell, coin uint64) {
	w := src.Uint64()
	least, most := g.paretoQuick(w)
	if c := g.cellOf(least); c == g.cellOf(most) {
		return c, w
	}
	uniform := newLazy(w>>2, 62)
	units, factor := g.exactUnits(), exact.Rat(g.shape-1) // exact: α > 1
	return g.bisect(least, most, func(k int64) bool {     // U < (1 + k/units)^{1−α}
		x := new(big.Rat).SetInt64(k)
		x.Quo(x, units).Add(x, big.NewRat(1, 1))
		return settle(src, func() (bool, bool) { return uniform.compareExp(exact.LogMultiple(factor, x, uniform.bits)) }, uniform)
	}), w
}

// bisect returns the cell of the largest k in [least, most] for which reached holds; reached(least)
// is taken for granted.
func (g powerGrid) bisect(least, most int64, reached func(k int64) bool) cell {
	for {
		first, last := g.cellOf(least), g.cellOf(most)
		if first == last {
			return first
		}
		from := g.cellOf(least + (most-least+1)/2).start()
		if from <= least { // in the first cell, so that few are left above it
			from = last.start()
		}
		if reached(from) {
			least = from
		} else {
			most = from - 1
		}
	}
}

// paretoQuick returns bounds of the cell, from float64, for U in [w, w+4)/2⁶⁴, w a multiple of 4.
// It ignores the last two digits of w. Nearly always they are equal.
//
// −ln U is off by 8/w + 2⁻⁴⁵ at most ([floorLog]), so y = −ln U/(α−1) by that over α−1 and a
// relative 2⁻⁵¹, and e^y − 1 by e^y times twice as much as long as that is below 1. Expm1 and the
// product add a relative 2⁻⁵¹. Where e^y leaves float64, units·(e^y − 1) is e^{y + ln units} but
// for a factor 1 − e^{−600}. Both terms are below 1,401 in size: the logarithm, their sum and Exp
// add less than 2⁻⁴⁰.
func (g powerGrid) paretoQuick(w uint64) (least, most int64) {
	if w < leastUnused {
		return 0, mostCell
	}
	u, inverse := float64(w&^3), 1/(g.shape-1)
	y := (64*math.Ln2 - math.Log(u)) * inverse
	dy := (8/u+0x1p-45)*inverse + y*0x1p-51
	if y-dy > farParetoLog { // for all units
		return mostCell, mostCell
	}
	if dy > 0.5 {
		return 0, mostCell
	}
	if y > 600 {
		if g.units == leastUnits {
			return 0, mostCell
		}
		log := y + math.Log(g.units)
		grown := math.Exp(min(log, 50))
		err := grown * 2 * (dy + 0x1p-40)
		return int64(min(max(grown-err, 0), mostCell)), int64(min(grown+err, mostCell))
	}
	grown := math.Expm1(y)
	v := g.units * grown
	err := g.units*(grown+1)*2*dy + v*0x1p-50
	if g.units == leastUnits { // more than it should be
		return 0, int64(min(v+err, mostCell))
	}
	return int64(min(max(v-err, 0), mostCell)), int64(min(v+err, mostCell))
}

// farParetoLog is a y from which on units·(e^y − 1) ≥ mostCell for all units: 2·s/step/2^m is at
// least 2⁻¹⁹²³ where it is below 1.
const farParetoLog = 1400

// paretoFormulas are those of a Pareto.
type paretoFormulas struct{ shape, scale float64 }

func (d paretoFormulas) valid() bool { return d.scale > 0 }

// log1pRatio returns ln(1 + |x|/s), to a relative error of 1e-15, also where |x|/s overflows.
func log1pRatio(x, s float64) float64 {
	z := math.Abs(x) / s
	if math.IsInf(z, 1) && !math.IsInf(x, 0) {
		return math.Log(math.Abs(x)) - math.Log(s)
	}
	return math.Log1p(z)
}

func (d paretoFormulas) upper(x float64) float64 {
	return math.Exp((1-d.shape)*log1pRatio(x, d.scale)) / 2
}

func (d paretoFormulas) logUpper(x float64) float64 {
	return (1-d.shape)*log1pRatio(x, d.scale) - math.Ln2
}

func (d paretoFormulas) upperQuantile(p float64) float64 {
	log := -exact.Log(2*p) / (d.shape - 1)
	if log > 700 { // the scale may bring it back into range
		return math.Exp(log + math.Log(d.scale))
	}
	return math.Expm1(log) * d.scale
}

func (d paretoFormulas) meanAbs() float64 {
	if d.shape <= 2 {
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2)
}

func (d paretoFormulas) variance() float64 {
	if d.shape <= 3 {
		return math.Inf(1)
	}
	return d.scale / (d.shape - 2) * d.scale / (d.shape - 3) * 2
}

func (d paretoFormulas) density(x float64) float64 {
	return math.Exp(-d.shape*log1pRatio(x, d.scale)) * (d.shape - 1) / 2 / d.scale
}

func (d paretoFormulas) logDensity(x float64) float64 {
	return -d.shape*log1pRatio(x, d.scale) + (math.Log((d.shape-1)/2) - math.Log(d.scale))
}
