package alp

import "math/big"

// The codes of columns: the value plus Laplace noise, quantised.
//
// Let N be noise on the grid with Pr[N = n] ∝ d^|n| (odd widths), or with Pr[N = n] = ½(1−d)·d^{max(n, −1−n)} (even ones), the Laplace distribution
// rounded down to the grid. Either way the mass of adjacent points is within the factor d = decay/2⁶⁴. The output l says that v + N
// lies between the thresholds l and l + 1: a sum of such masses, moved by v, so the condition of code holds before rounding.
//
// The thresholds are half-way between two levels of noise, at m₁ < … < m_{Q−1} in units of the value, where the median of the output changes from l − 1 to l, and
// symmetric, m_l + m_{Q−l} = W. So the law is its own mirror image: Pr[o | v] = Pr[Q−1−o | W−v]. With
// F(x) = ½d^{−x} for even W (x integer) and d^{½−x}/(1+d) for odd W (x half-integer), both for x ≤ 0, and F(x) = 1 − F(−x), Pr[output ≥ l | v] = F(v − m_l).
//
// For Q = 2 this is the S-shaped unary code: the probability of a one grows from p to 1 − p, first by the factor 1/d a step and then, mirrored,
// that of a zero falls so. Even W: p = ½e^{−ηW/2}; odd W: p = e^{−η(W−1)/2}/(1 + e^η). W = 1 is randomized response, the thesis's Algorithm 10.
// No unary code with the same width has a smaller p: from p the probability of a one can grow by e^η a step at most up to the middle, and likewise that of a zero back.

// columnCode returns the code of a column of the given width, at least 1, with Q = levels outputs, 2 to 256, and decay < 2⁶⁴ (see code). The
// thresholds are equally spaced from ⅛ to ⅞ of the width, as far as the grid allows.
func columnCode(width, levels int, decay uint64) code {
	c := code{width, levels, make([]uint64, (width+1)*(levels-1))}
	floor := floorMass(decay)
	whole := -uint64(levels) * floor // what is left of 2⁶⁴ after the floors
	reach := decaying(width, decay, whole)
	for v := range width + 1 {
		tails := c.tails(v)
		for l := 1; l < levels; l++ {
			twice := 2*v - width - 2*middle(width, levels, l) // 2(v − m_l)
			var above uint64
			if twice <= 0 {
				above = reach[-twice/2]
			} else {
				above = whole - reach[twice/2]
			}
			tails[l-1] = above + uint64(levels-l)*floor
		}
	}
	return c
}

// middle returns m_l − W/2, an integer: equal spacing of ¾W/(Q−2), rounded to the grid symmetrically.
func middle(width, levels, l int) int {
	if levels == 2 {
		return 0
	}
	offset, spaces := int64(width)*int64(2*l-levels), 2*int64(levels) // W(l/Q − ½)
	if offset < 0 {
		return -int((-2*offset + spaces) / (2 * spaces))
	}
	return int((2*offset + spaces) / (2 * spaces))
}

// decaying returns whole·F(−n/1) for n steps below the middle: r[n] = whole·½dⁿ for even widths, x = −n; for odd ones whole·d^{n+1}/(1+d), x = −n − ½. n goes up
// to the width, which is more than any threshold is away from any value.
func decaying(width int, decay, whole uint64) []uint64 {
	f := fraction{1 << 63, 0}
	if width%2 == 1 {
		f = firstTail(decay)
	}
	f = f.times(whole)
	r := make([]uint64, width+1)
	for n := range r {
		r[n] = f.nearest()
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
