package noise

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// This file draws from the power laws, [Pareto] and [Student], on a grid of steps. |X| is drawn in
// two stages, both exact.
//
//  1. The cell. k = ⌊units·|X|/s⌋ counts cells of 2^m half steps, where units lies in [2¹⁷α, 2¹⁸α)
//     if the grid is that fine (else m = 0). Draws of a Pareto with α ≤ 2 are often so large that
//     no float64 holds k; there a cell is all k with the same cellBits leading binary digits.
//     Which cell it is a float64 decides nearly always.
//  2. The digits within the cell. Given the cell, X has a density in proportion to f, which falls
//     by a factor of at least 1 − 2⁻¹⁷ across it. So uniform digits are right if they are accepted
//     with probability f(x)/f(left end), and drawn again, in the same cell, if not.
//
// The factor: −d ln f/d(x/s) is at most α for both distributions, so it is at least e^{−α/units}
// for a cell of one k. A cell of 2^level of them has its left end at c·2^level with c ≥
// 2^{cellBits−1}, and for Pareto f falls by (1 + x/s)^{−α}: by at least (1 + 1/c)^{−α} ≥ 1 −
// 2·2^{1−cellBits}.
//
// Tails are heavy: results beyond ±2⁶¹ steps are not told apart.

// powerGrid is a power law in units of a grid.
type powerGrid struct {
	kind        powerKind
	shape       float64
	scale, half float64 // s, and half a step
	units       float64 // s/half/2^m; an upper bound of it where that is below 2⁻¹⁰⁰⁰
	m           uint
}

type powerKind uint8

const (
	paretoKind powerKind = iota
	studentKind
)

const (
	mostCell    = 1 << 62
	mostSteps   = 1 << 61 // a draw beyond is returned as this
	leastUnits  = 0x1p-1000
	digitOnes   = 17 // α/units ≤ 2^−digitOnes
	leastUnused = 1 << 12

	cellBits   = 24 // leading digits that tell cells apart, of a k that has more
	mostCoarse = 2  // the largest α where that is done
)

// cell is a set of consecutive k = ⌊units·|X|/s⌋: from index·2^level to the next index.
type cell struct {
	index int64
	level uint
}

// start returns the first k.
func (c cell) start() int64 { return c.index << c.level }

// cellOf returns the cell of a k ≥ 0. All k that make a result beyond the range are in one, which
// starts at beyond.
func (g powerGrid) cellOf(k int64) cell {
	switch {
	case k >= g.beyond():
		return cell{g.beyond(), 0}
	case k < 1<<cellBits || g.kind != paretoKind || g.shape > mostCoarse:
		return cell{k, 0}
	}
	level := uint(bits.Len64(uint64(k)) - cellBits)
	return cell{k >> level, level}
}

// beyond returns the least k of which the results are not told apart.
func (g powerGrid) beyond() int64 { return mostCell >> g.m }

// newPowerGrid returns false unless step is a power of two and scale/step at most 2⁴⁶.
func newPowerGrid(kind powerKind, shape, scale, step float64) (g powerGrid, ok bool) {
	b, ok := gridScale(scale, step)
	if !ok {
		return g, false
	}
	g = powerGrid{kind: kind, shape: shape, scale: scale, half: step / 2, units: max(2*b, leastUnits)}
	if excess := g.units / shape * (1.0 / (1 << digitOnes)); excess >= 2 {
		g.m = uint(math.Ilogb(excess))
		g.units = math.Ldexp(g.units, -int(g.m))
	}
	return g, true
}

// inSteps returns steps·step, for |steps| ≤ 2⁶¹, or ±2¹⁰²³ where that overflows.
func inSteps(steps int64, step float64) float64 {
	x := float64(steps) * step
	if math.IsInf(x, 0) {
		return math.Copysign(0x1p1023, x)
	}
	return x
}

// exactUnits returns s/half/2^m. Half a step is a float64: a step is above 2⁻⁹⁴⁷, as s ≥ 2⁻⁹⁰⁰ is
// at most 2⁴⁶ of them.
func (g powerGrid) exactUnits() *big.Rat {
	x := exact.Rat(g.scale)
	x.Quo(x, exact.Rat(g.half))
	return x.Quo(x, new(big.Rat).SetInt(exact.One(g.m)))
}

// sample draws |X| from its cell and returns it in steps, rounded.
func (g powerGrid) sample(src *Source, c cell) int64 {
	if c.start() >= g.beyond() {
		return mostSteps
	}
	digits := g.m + c.level
	if digits == 0 {
		return (c.index + 1) >> 1
	}
	return (c.index<<digits + g.digits(src, c) + 1) >> 1
}

// digits draws the m + level digits within the cell.
func (g powerGrid) digits(src *Source, c cell) int64 {
	// A k below beyond has at most 62 − m digits, so there are at most 62 − cellBits + 1 where
	// level > 0, else m ≤ 30.
	digits := g.m + c.level
	rest := 64 - digits
	for {
		w := src.Uint64()
		u := w >> rest
		// The other digits of w are the first of a uniform V that is to be below f(x)/f(left end).
		const ones = 1<<digitOnes - 1
		w &= 1<<rest - 1
		if w>>(rest-digitOnes) != ones || g.acceptDigits(src, c, newLazy(u, digits), newLazy(w, rest)) {
			return int64(u)
		}
	}
}

// acceptDigits decides V < f(x)/f(left end) for x the fraction of the cell.
func (g powerGrid) acceptDigits(src *Source, c cell, fraction, v *lazy) bool {
	units, left := g.exactUnits(), new(big.Rat).SetInt64(c.index)
	units.Quo(units, new(big.Rat).SetInt(exact.One(c.level)))
	factor := exact.Rat(g.shape)
	if g.kind == studentKind {
		factor.Quo(factor, big.NewRat(2, 1))
	}
	kernel := func(x *big.Rat) *big.Rat { // f^{−1/factor}
		if g.kind == studentKind {
			return new(big.Rat).Add(new(big.Rat).Mul(x, x), new(big.Rat).Mul(units, units))
		}
		return new(big.Rat).Add(x, units)
	}
	fall := func(x *big.Rat) *big.Rat { return x.Quo(kernel(x.Add(x, left)), kernel(left)) }
	return settle(src, func() (bool, bool) {
		least, _ := exact.LogMultiple(factor, fall(fraction.lower()), v.bits)
		_, most := exact.LogMultiple(factor, fall(fraction.upper()), v.bits)
		return v.compareExp(least, most)
	}, v, fraction)
}
