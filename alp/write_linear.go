package alp

import "math"

// linearCode is the thesis's unary code (Algorithms 2 and 4): a bit is rounded at random to 1 with
// probability v/W and then flipped with probability p, so it is 1 with probability p + (1 −
// 2p)·v/W: on the machine, K + v·σ in units of 2⁻⁶⁴ with integers K and σ.
//
// A step adds σ, so the condition of code is σ ≤ K·(1−d)/d, both for ones at v = 0 and, by
// symmetry, for zeros at v = W; at all other values the probability is larger. With (1 − 2p)·2⁶⁴ =
// Wσ that is p ≥ 1/(2 + W(1−d)/d). For real values (1−d)/d = κ and Wκ = α, the thesis's p =
// 1/(α+2); for integers it is p = 1/(2 + w(e^ε−1)), which for w = 1 is Algorithm 10 again.
//
// K is rounded up and σ down, so the slope is a little less than the ideal one, by a relative 2⁻⁴⁰
// and W/2⁶⁴.
func linearCode(width int, decay uint64) code {
	kappa := float64(-decay) / float64(decay)
	// below 2⁶³ for κ ≥ 2⁻³²; no step costs so little
	first := uint64(math.Ceil(0x1p64/(float64(width)*kappa+2)*(1+0x1p-40))) + 1
	slope := -(2 * first) / uint64(width)
	first = -(slope * uint64(width)) / 2 // what the rounding of the slope leaves goes to both ends
	c := code{width: width, levels: 2, rise: make([]uint64, width+1), shift: []int{0}}
	for v := range c.rise {
		c.rise[v] = first + uint64(v)*slope
	}
	return c
}
