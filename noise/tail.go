package noise

import (
	"math"
	"math/big"
	"math/bits"
)

// SampleTail draws X and returns it if X ≥ least, else 0 and false: exactly the law of
// [DiscreteLaplace.SampleInt] followed by the comparison. Where Pr[X ≥ least] is small it costs a
// random word and a comparison, so noise that matters only above a threshold is cheap.
//
// For least ≥ 1, Pr[X ≥ least] = e^{−least/b}/(1+q), q = e^{−1/b}; given that, X − least is
// geometric. Both factors are decided exactly. For the zero DiscreteLaplace X is uniform over all
// int64, as in SampleInt.
func (d DiscreteLaplace) SampleTail(src *Source, least int64) (x int64, ok bool) {
	if least <= 0 || float64(least) < 1.5*d.law.scale || !d.law.valid() { // likely, or no law
		if x = d.SampleInt(src); x < least {
			return 0, false
		}
		return x, true
	}
	w := src.Uint64()
	if beyondExp(w, float64(least), d.law.scale) || !d.reaches(src, w, least) {
		return 0, false
	}
	excess, _ := geometric(src, d.law.scale)
	if excess > math.MaxInt64-least { // where the mass left is below e^{−8192}
		return math.MaxInt64, true
	}
	return least + excess, true
}

// beyondExp reports U ≥ e^{−n/b} for U in [w, w+1)/2⁶⁴ where the leading zeros of w tell: with z of
// them, w ≠ 0, U ≥ 2^−(z+1), and that is at least e^{−n/b} if (z+1)·ln 2 ≤ n/b. aboveLn2 exceeds ln
// 2 by a relative 7e-5, which covers the roundings, of n and of two products.
func beyondExp(w uint64, n, b float64) bool {
	const aboveLn2 = 0.6932
	return aboveLn2*float64(bits.LeadingZeros64(w)+1)*b <= n && w != 0
}

// reaches returns true with probability Pr[X ≥ least], least ≥ 1, where w is the first word that it
// draws.
func (d DiscreteLaplace) reaches(src *Source, w uint64, least int64) bool {
	below, decided := compareExp64(float64(w>>11)*0x1p-53, float64(least)/d.law.scale)
	if !decided {
		below = newLazy(w, 64).belowExp(src, ratio(least, d.law.scale))
	}
	return below && bernoulliHalf(src, d.law.scale)
}

// bernoulliHalf returns true with probability exactly 1/(1+q), q = e^{−1/b}: p = ½ + ½·(1−q)·p.
func bernoulliHalf(src *Source, b float64) bool {
	for src.Uint64()&1 == 0 {
		if bernoulliExp(src, 1/b, func() *big.Rat { return ratio(1, b) }) {
			return false
		}
	}
	return true
}
