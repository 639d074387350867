package alp

import "math/big"

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
// and symmetric, m_l + m_{Q−l} = W. So the law is its own mirror image: Pr[o | v] = Pr[Q−1−o |
// W−v]. With F(x) = ½d^{−x} for even W (x integer) and d^{½−x}/(1+d) for odd W (x half-integer),
// both for x ≤ 0, and F(x) = 1 − F(−x), Pr[output ≥ l | v] = F(v − m_l).
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
