package alp

import (
	"math"
	"math/bits"
)

// code is the law of one cell: what it shows, given the largest value of its entries within its
// column, in steps of the grid.
//
// All codes meet one condition, and no more is needed for privacy: a decay d/2⁶⁴ ≥ e^{−η} is given,
// and for any two adjacent values and every output, d/2⁶⁴ times the one probability is at most the
// other. All probabilities are multiples of 2⁻⁶⁴, so this is a statement about integers, and
// [code.violation] checks it for each shape.
//
// Theorem 1. Fix the hash functions, and let each cell hold a number that is the maximum over its
// entries of their values within its column, and show an output of that law, independently of all
// other cells. If one entry changes by one step, no output of the whole table changes its
// probability by a factor of more than e^η; if entries change by n steps in total, by more than
// e^{nη}.
//
// Proof. Column j of an entry v holds clamp(v − jW, 0, W). These ramps do not overlap: for v → v +
// 1 exactly one column of that entry changes, by one step (or none, above the last). So one cell
// has one entry that changes by one, its maximum changes by at most one, and the probability of its
// output by a factor within e^{±η}; all other cells keep their laws. n steps are made one after the
// other. ∎
//
// Collisions, the number of entries that change and the quality of the hash functions do not
// matter, as long as these do not depend on the data. The minimum in the place of the maximum, and
// any other map that moves by at most one step, would do as well.
type code struct {
	width  int // steps of a column: values are 0 to width
	levels int // Q, the number of outputs, a power of two: a cell takes log₂Q bits

	// 2⁶⁴·Pr[output ≥ l | v] = rise[v+shift[l−1]] + (levels−l)·floor for
	// l = 1 … levels−1: one curve, moved by the thresholds of the levels.
	// shift falls to 0, and rise grows.
	rise  []uint64
	shift []int
	floor uint64
}

// tail returns 2⁶⁴·Pr[output ≥ l | v] for l = 1 … levels−1. It falls in l and grows in v.
func (c *code) tail(v, l int) uint64 {
	return c.rise[v+c.shift[l-1]] + uint64(c.levels-l)*c.floor
}

// mass returns 2⁶⁴·Pr[output = o | v].
func (c *code) mass(v, o int) uint64 {
	switch o {
	case 0:
		return -c.tail(v, 1) // 2⁶⁴ − tail
	case c.levels - 1:
		return c.tail(v, o)
	}
	return c.tail(v, o) - c.tail(v, o+1)
}

// prob returns Pr[output = o | v].
func (c *code) prob(v, o int) float64 { return float64(c.mass(v, o)) * 0x1p-64 }

// output returns the output that a uniform random word decides on: the number of l whose tail is
// above the word.
func (c *code) output(v int, random uint64) uint8 {
	o := 0
	for o < c.levels-1 && random < c.tail(v, o+1) {
		o++
	}
	return uint8(o)
}

// decayOf returns 2⁶⁴·e^{−η}, rounded up, for η > 0: the loss 1 − e^{−η} is what is rounded,
// downwards, so that next to nothing of a small η is lost.
func decayOf(eta float64) uint64 {
	loss := -math.Expm1(-eta) * (1 - 0x1p-50)       // Expm1 is within 2⁻⁵¹ of the value
	return -uint64(min(loss*0x1p64, 0x1p64-0x1p12)) // the largest float64 below 2⁶⁴ is 2⁶⁴ − 2¹¹
}

// masses sets row[o] to mass(v, o) for all outputs.
func (c *code) masses(v int, row []uint64) {
	least := uint64(0) // 2⁶⁴, the tail of output 0
	for l := range c.levels - 1 {
		t := c.tail(v, l+1)
		row[l], least = least-t, t
	}
	row[c.levels-1] = least
}

// violation returns a value v and an output for which the steps between v and v + 1 break the
// condition of code, and whether there is one.
func (c *code) violation(decay uint64) (v, o int, found bool) {
	var rows [2][maxLevels]uint64
	here, next := rows[0][:c.levels], rows[1][:c.levels]
	c.masses(0, here)
	for v := range c.width {
		c.masses(v+1, next)
		for o, a := range here {
			b := next[o]
			if high, low := bits.Mul64(max(a, b), decay); high > min(a, b) || high == min(a, b) && low > 0 {
				return v, o, true
			}
		}
		here, next = next, here
	}
	return 0, 0, false
}

// floorMass is what is added to the probability of each output, in units of 2⁻⁶⁴, so that rounding
// to these units breaks nothing.
//
// Let ρ(v) be ideal masses of an output that meet the condition, decay·ρ(v) ≤ 2⁶⁴·ρ(v±1), let the
// masses be ρ(v) + e(v) + c with rounding errors |e| ≤ 1 + 2⁻²⁰, and write d for decay/2⁶⁴. Then
// d·(ρ(v) + e(v) + c) ≤ ρ(v±1) + d·(1 + 2⁻²⁰) + d·c, which is at most the mass ρ(v±1) + e(v±1) + c
// of the neighbour if (1 − d)·c ≥ (1 + d)(1 + 2⁻²⁰); and c ≥ 3/(1 − d) sees to that. In other
// words, with a probability of Q·c/2⁶⁴, 2⁻⁵⁰ where η is 2⁻¹⁰ and Q is 8, a cell shows a uniform
// random output. It costs no budget, and no η is too large.
func floorMass(decay uint64) uint64 {
	loss := -decay // 2⁶⁴(1 − d)
	return uint64(math.Ceil(3 * 0x1p64 / float64(loss) * (1 + 0x1p-40)))
}

// fraction is a number in [0, 1) with 128 binary digits.
type fraction struct{ high, low uint64 }

// times returns f·d/2⁶⁴, rounded down.
func (f fraction) times(d uint64) fraction {
	high, low := bits.Mul64(f.high, d)
	carried, _ := bits.Mul64(f.low, d)
	low, carry := bits.Add64(low, carried, 0)
	return fraction{high + carry, low}
}

// nearest returns 2⁶⁴·f, rounded to an integer. f must be below 1 − 2⁻⁶⁴.
func (f fraction) nearest() uint64 { return f.high + f.low>>63 }
