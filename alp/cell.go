package alp

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/noise"
)

// code is the distribution of one cell: what it shows, given the largest value of its entries
// within its column, in points of the columns' axis.
//
// All codes meet one condition, and no more is needed for privacy: a decay d/2⁶⁴ ≥ e^{−η} is given,
// and for any two adjacent values and every output, d/2⁶⁴ times the one probability is at most the
// other. All probabilities are multiples of 2⁻⁶⁴, so this is a statement about integers, and
// [code.violation] checks it for each shape.
//
// Theorem 1. Fix the hash functions, and let each cell hold a number that is the maximum over its
// entries of their values within its column, and show an output of that distribution, independently
// of all other cells. If one entry changes by one step, no output of the whole table changes its
// probability by a factor of more than e^η; if entries change by n steps in total, by more than
// e^{nη}.
//
// Proof. Column j of an entry v holds clamp(v − jW, 0, W). These ramps do not overlap: for v → v +
// 1 exactly one column of that entry changes, by one step (or none, above the last). So one cell
// has one entry that changes by one, its maximum changes by at most one, and the probability of its
// output by a factor within e^{±η}; all other cells keep their distributions. n steps are made one
// after the other. ∎
//
// Collisions, the number of entries that change and the quality of the hash functions do not
// matter, as long as these do not depend on the data. The minimum in the place of the maximum, and
// any other map that moves by at most one step, would do as well.
type code struct {
	width  int // points of a column: values are 0 to width
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
	for half := c.levels / 2; half > 0; half /= 2 { // levels are a power of two
		if random < c.tail(v, o+half) {
			o += half
		}
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

// The codes of columns: the value plus Laplace noise, quantised.
//
// Let N be noise on the grid with Pr[N = n] ∝ d^|n| (odd widths), or with Pr[N = n] =
// ½(1−d)·d^{max(n, −1−n)} (even ones), the Laplace distribution rounded down to the grid. Either
// way the mass of adjacent points is within the factor d = decay/2⁶⁴. The output l says that v + N
// lies between the thresholds l and l + 1: a sum of such masses, moved by v, so the condition of
// code holds before rounding.
//
// The thresholds m₁ < … < m_{Q−1} are the values at which the median of the output changes from l −
// 1 to l, at m_l = l·W/Q on the grid of the noise (integers for even W, half-integers for odd W),
// and symmetric, m_l + m_{Q−l} = W. So the distribution is its own mirror image: Pr[o | v] =
// Pr[Q−1−o | W−v]. With F(x) = ½d^{−x} for even W (x integer) and d^{½−x}/(1+d) for odd W (x
// half-integer), both for x ≤ 0, and F(x) = 1 − F(−x), Pr[output ≥ l | v] = F(v − m_l).
//
// For Q = 2 this is the S-shaped unary code: the probability of a one grows from p to 1 − p, first
// by the factor 1/d a step and then, mirrored, that of a zero falls so. Even W: p = ½e^{−ηW/2}; odd
// W: p = e^{−η(W−1)/2}/(1 + e^η). W = 1 is randomized response, the thesis's Algorithm 10. No unary
// code with the same width has a smaller p: from p the probability of a one can grow by e^η a step
// at most up to the middle, and likewise that of a zero back.

// columnCode returns the code of a column of the given width, at least 1, with Q = levels outputs,
// 2 to 256, and decay < 2⁶⁴ (see code). The thresholds are equally spaced, from W/Q to W − W/Q, as
// far as the grid allows.
func columnCode(width, levels int, decay uint64) code {
	c := code{width: width, levels: levels, floor: floorMass(decay)}
	top := middle(width, levels, levels-1)
	for l := 1; l < levels; l++ {
		c.shift = append(c.shift, top-middle(width, levels, l))
	}
	c.rise = rising(width+1+c.shift[0], top, width, decay, -uint64(levels)*c.floor)
	return c
}

// middle returns m_l − W/2, an integer: W·(l/Q − ½), rounded to the grid symmetrically.
func middle(width, levels, l int) int {
	offset, spaces := int64(width)*int64(2*l-levels), 2*int64(levels) // W(l/Q − ½) = offset/spaces
	if offset < 0 {
		return -int((-2*offset + spaces) / (2 * spaces))
	}
	return int((2*offset + spaces) / (2 * spaces))
}

// rising returns n values of whole·F: of F(i − top − W/2) for i = 0 … n−1. whole is what the floors
// leave of 2⁶⁴.
func rising(n, top, width int, decay, whole uint64) []uint64 {
	f := fraction{1 << 63, 0} // F(0)
	if width%2 == 1 {
		f = firstTail(decay) // F(−½)
	}
	f = f.times(whole)
	r := make([]uint64, n)
	low, high := top+width/2, top+(width+1)/2 // the same point for even widths
	for ; low >= 0 || high < n; low, high = low-1, high+1 {
		below := f.nearest()
		if high < n {
			r[high] = whole - below
		}
		if low >= 0 {
			r[low] = below
		}
		f = f.times(decay)
	}
	return r
}

// firstTail returns d/(1 + d), the probability that discrete Laplace noise is at least 1.
func firstTail(decay uint64) fraction {
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	d := new(big.Int).SetUint64(decay)
	q := new(big.Int).Lsh(d, 128)
	q.Div(q, d.Add(d, one))
	low := new(big.Int).And(q, new(big.Int).Sub(one, big.NewInt(1)))
	return fraction{q.Rsh(q, 64).Uint64(), low.Uint64()}
}

// sampler draws what empty cells show. A bit says whether the output is above 0. If so, it is the
// number of tails above a random point of [0, tail(0, 1)), and guide tells it by the first 12 bits
// of that point where these decide it. Where they do not, 64 bits and then an exact draw do.
type sampler struct {
	code  *code
	most  uint64                // 2⁶⁴·Pr[output > 0]
	guide [1 << guideBits]uint8 // the output, or 0 where it is undecided
}

const (
	guideBits = 12
	guideMask = 1<<guideBits - 1
	guideRest = 64 - guideBits
)

// newSampler returns the sampler for that many cells; for few of them it makes no guide.
func newSampler(c *code, cells uint64) *sampler {
	s := &sampler{code: c, most: c.tail(0, 1)}
	if cells < 1<<guideBits {
		return s
	}
	output := c.levels - 1 // it falls as the point grows
	for i := range s.guide {
		low, _ := bits.Mul64(uint64(i)<<guideRest, s.most)
		high, _ := bits.Mul64(uint64(i+1)<<guideRest-1, s.most) // or one more
		for output > 1 && low >= c.tail(0, output) {
			output--
		}
		if output == 1 || high+1 < c.tail(0, output) {
			s.guide[i] = uint8(output)
		}
	}
	return s
}

// fill draws all cells of a region, whose bits are 0, as if they were empty.
func (s *sampler) fill(src *noise.Source, r *region) {
	noise.NewBernoulli(s.most).Flip(src, r.shown)
	if s.code.levels == 2 {
		return
	}
	random, left := uint64(0), 0
	for w, word := range r.shown {
		for outputs := r.outputs[64*w:]; word != 0; word &= word - 1 {
			if left < guideBits {
				random, left = src.Uint64(), 64
			}
			output := s.guide[random&guideMask]
			if output == 0 {
				output = s.exactly(src, random&guideMask)
			}
			outputs[bits.TrailingZeros64(word)] = output
			random, left = random>>guideBits, left-guideBits
		}
	}
}

// exactly returns the output at (W + V)·most/2⁶⁴, where W is an integer of 64 random bits, of which
// the first are given, and V is uniform in [0, 1). As tails are integers, only the integer part of
// V·most counts.
func (s *sampler) exactly(src *noise.Source, first uint64) uint8 {
	point, part := bits.Mul64(first<<guideRest|src.Uint64()>>guideBits, s.most)
	_, carry := bits.Add64(part, src.Uint64N(s.most), 0)
	return s.code.output(0, point+carry)
}
