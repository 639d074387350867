package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// Exact: for every integer k of fewer than 2⁵³ in size the result is k·step with probability Pr[(k−½)·step < X < (k+½)·step], for α, s and step given
// as float64, with no error at all. Beyond, where a float64 does not hold every multiple, the exact draw is rounded to
// a float64, and one beyond ±2⁶¹ steps to ±2⁶¹ steps. The tail is heavy, so this happens: with probability (2⁵³·step/s)^{1−α}. Whoever releases x + Sample, with x on the grid, should clamp
// the sum to a public range of ±2⁵² steps; if |x| lies there too, the release is the ideal mechanism followed by rounding
// and clamping, which is post-processing. Package noise/approx does so.
//
// For α below 1.5 more draws need exact arithmetic, and a draw takes longer on average.
//
// step must be a power of two with s/step ≤ 2⁴⁶; otherwise the result is NaN.
func (d Pareto) Sample(src *Source, step float64) float64 {
	steps, ok := d.SampleSteps(src, step)
	if !ok {
		return math.NaN()
	}
	return float64(steps) * step
}

// SampleSteps is Sample in steps, exact below 2⁶¹, for those who add it to an integer. For a step that Sample refuses, and on
// the zero value, it is false beside a draw that is uniform over all int64.
func (d Pareto) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	g, ok := newPowerGrid(paretoLaw, d.shape, d.scale, step)
	if !ok {
		return unbuiltInt(src), false
	}
	cell, coin := g.paretoCell(src)
	return withSign(g.sample(src, cell), coin), true
}

// paretoCell draws ⌊units·|X|/s⌋ and a coin: as Pr[|X| > s·t] = (1+t)^{1−α}, it is ⌊units·(U^{−1/(α−1)} − 1)⌋ for a uniform U, of
// 62 digits at first.
func (g powerGrid) paretoCell(src *Source) (cell int64, coin uint64) {
	w := src.Uint64()
	least, most := g.paretoQuick(w)
	if least == most {
		return least, w
	}
	uniform := newLazy(w>>2, 62)
	units, factor := g.exactUnits(), enclose.Rat(g.shape-1) // exact: α > 1
	return bisect(least, most, func(k int64) bool {         // U < (1 + k/units)^{1−α}
		x := new(big.Rat).SetInt64(k)
		x.Quo(x, units).Add(x, big.NewRat(1, 1))
		for {
			if below, decided := uniform.compareExp(enclose.LogMultiple(factor, x, uniform.bits)); decided {
				return below
			}
			uniform.refine(src)
		}
	}), w
}

// bisect returns the largest v in [least, most] for which reached holds; reached(least) is taken for granted.
func bisect(least, most int64, reached func(v int64) bool) int64 {
	for least < most {
		if mid := least + (most-least+1)/2; reached(mid) {
			least = mid
		} else {
			most = mid - 1
		}
	}
	return least
}

// paretoQuick returns bounds of the cell, from float64, for U in [w, w+4)/2⁶⁴, w a multiple of 4. It ignores the last two digits of w. Nearly always they are equal.
//
// −ln U is off by 8/w + 2⁻⁴⁵ at most ([floorLog]), so y = −ln U/(α−1) by that over α−1 and a relative 2⁻⁵¹, and e^y − 1 by e^y times twice as much
// as long as that is below 1. Expm1 and the product add a relative 2⁻⁵¹.
func (g powerGrid) paretoQuick(w uint64) (least, most int64) {
	if w < leastUnused {
		return 0, mostCell
	}
	u, inverse := float64(w&^3), 1/(g.shape-1)
	y := (64*math.Ln2 - math.Log(u)) * inverse
	dy := (8/u+0x1p-45)*inverse + y*0x1p-51
	if y > 600 || dy > 0.5 {
		if y > 620 && dy < 1 && g.units > 0x1p-800 { // e^{619}·2⁻⁸⁰⁰ > 2⁶²
			return mostCell, mostCell
		}
		return 0, mostCell
	}
	grown := math.Expm1(y)
	v := g.units * grown
	err := g.units*(grown+1)*2*dy + v*0x1p-50
	if g.units == leastUnits { // more than it should be
		return 0, int64(min(v+err, mostCell))
	}
	return int64(min(max(v-err, 0), mostCell)), int64(min(v+err, mostCell))
}
