package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k with |k| < 2⁵³ the result is k·step with probability
// Pr[(k−½)·step < X < (k+½)·step], for α, s and step given as float64, with no error at all.
// Beyond, a float64 does not hold every multiple. There the exact draw is rounded to a float64, and
// a draw beyond ±2⁶¹ steps to ±2⁶¹ steps, or to ±2¹⁰²³ if that is less. The tail is heavy, so this
// happens: with probability (2⁵³·step/s)^{1−α}. A caller who releases x + Sample, with x on the
// grid, should clamp the sum to a public range of ±2⁵² steps. If x lies in that range, too, the
// release is the ideal mechanism followed by rounding and clamping, which is post-processing.
// Package noise/approx does so.
//
// step must be a power of two with s/step ≤ 2⁴⁶; otherwise the result is NaN ([CheckStep]).
func (d Pareto) Sample(src *Source, step float64) float64 {
	steps, ok := d.SampleSteps(src, step)
	if !ok {
		return math.NaN()
	}
	return inSteps(steps, step)
}

// SampleSteps is Sample in steps, to be added to an integer. It is exact below 2⁶¹. For a step that
// Sample refuses, and on the zero value, it returns false and a draw that is uniform over all
// int64.
func (d Pareto) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	g, ok := newPowerGrid(paretoLaw, d.law.shape, d.law.scale, step)
	if !ok {
		return unbuiltInt(src), false
	}
	c, coin := g.paretoCell(src)
	return withSign(g.sample(src, c), coin), true
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
	units, factor := g.exactUnits(), enclose.Rat(g.shape-1) // exact: α > 1
	return g.bisect(least, most, func(k int64) bool {       // U < (1 + k/units)^{1−α}
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
