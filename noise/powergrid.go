package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// This file draws from the power laws, [Pareto] and [Student], on a grid. |X| is drawn in two stages, both exact.
//
//  1. The cell: ⌊units·|X|/s⌋ for cells of 2^m half steps, where units lies in [2¹⁷α, 2¹⁸α) if the grid is that fine (else m = 0). There float64 decides nearly always.
//  2. The m digits within the cell. Given the cell, X has a density in proportion to f, which falls by a factor of at least
//     e^{−α/units} ≥ 1 − 2⁻¹⁷ across it: −d ln f/d(x/s) is at most α for both laws. So uniform digits are right if they are accepted with probability
//     f(x)/f(left end), and drawn again, in the same cell, if not.
//
// Tails are heavy: cells from mostCell on, and results beyond ±2⁶¹ steps, are not told apart.

// powerGrid is a power law in units of a grid.
type powerGrid struct {
	law         powerLaw
	shape       float64
	scale, half float64 // s, and half a step
	units       float64 // s/half/2^m; an upper bound of it where that is below 2⁻¹⁰⁰⁰
	m           uint
}

type powerLaw uint8

const (
	paretoLaw powerLaw = iota
	studentLaw
)

const (
	mostCell    = 1 << 62
	mostSteps   = 1 << 61 // a draw beyond is returned as this
	leastUnits  = 0x1p-1000
	digitOnes   = 17 // α/units ≤ 2^−digitOnes
	leastUnused = 1 << 12
)

// newPowerGrid returns false unless step is a power of two and scale/step at most 2⁴⁶.
func newPowerGrid(law powerLaw, shape, scale, step float64) (g powerGrid, ok bool) {
	b, ok := gridScale(scale, step)
	if !ok {
		return g, false
	}
	g = powerGrid{law: law, shape: shape, scale: scale, half: step / 2, units: max(2*b, leastUnits)}
	if excess := g.units / shape * (1.0 / (1 << digitOnes)); excess >= 2 {
		g.m = uint(math.Ilogb(excess))
		g.units = math.Ldexp(g.units, -int(g.m))
	}
	return g, true
}

// exactUnits returns s/half/2^m.
func (g powerGrid) exactUnits() *big.Rat {
	x := enclose.Rat(g.scale)
	if g.half > 0 {
		x.Quo(x, enclose.Rat(g.half))
	} else { // half of the least float64
		x.Quo(x, enclose.Rat(5e-324))
		x.Mul(x, big.NewRat(2, 1))
	}
	return x.Quo(x, new(big.Rat).SetInt(enclose.One(g.m)))
}

// sample draws |X| from its cell and returns it in steps, rounded.
func (g powerGrid) sample(src *Source, cell int64) int64 {
	if cell >= mostCell>>g.m {
		return mostSteps
	}
	if g.m == 0 {
		return (cell + 1) >> 1
	}
	return (cell<<g.m + g.digits(src, cell) + 1) >> 1
}

// digits draws the m digits within the cell.
func (g powerGrid) digits(src *Source, cell int64) int64 {
	rest := 64 - g.m // at least 34
	for {
		w := src.Uint64()
		u := w >> rest
		// The other digits of w are the first of a uniform V that is to be below f(x)/f(left end).
		const ones = 1<<digitOnes - 1
		w &= 1<<rest - 1
		if w>>(rest-digitOnes) != ones || g.acceptDigits(src, cell, newLazy(u, g.m), newLazy(w, rest)) {
			return int64(u)
		}
	}
}

// acceptDigits decides V < f(x)/f(left end) for x the fraction of the cell.
func (g powerGrid) acceptDigits(src *Source, cell int64, fraction, v *lazy) bool {
	units, left := g.exactUnits(), new(big.Rat).SetInt64(cell)
	factor := enclose.Rat(g.shape)
	if g.law == studentLaw {
		factor.Quo(factor, big.NewRat(2, 1))
	}
	kernel := func(x *big.Rat) *big.Rat { // f^{−1/factor}
		if g.law == studentLaw {
			return new(big.Rat).Add(new(big.Rat).Mul(x, x), new(big.Rat).Mul(units, units))
		}
		return new(big.Rat).Add(x, units)
	}
	fall := func(x *big.Rat) *big.Rat { return x.Quo(kernel(x.Add(x, left)), kernel(left)) }
	for {
		least, _ := enclose.LogMultiple(factor, fall(fraction.lower()), v.bits)
		_, most := enclose.LogMultiple(factor, fall(fraction.upper()), v.bits)
		if below, decided := v.compareExp(least, most); decided {
			return below
		}
		v.refine(src)
		fraction.refine(src)
	}
}
