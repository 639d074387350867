package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// CountLayer returns the number of X ≥ least, for least ≥ 1, among draws independent variables X
// that are all known to be less than below. It has exactly the binomial law with p = (G(least) −
// G(below))/(1 − G(below)), G(n) = Pr[X ≥ n], and takes time proportional to 1 + the mean. A least
// below 1 counts as 1. math.MaxInt64 for below stands for no bound: that is
// [DiscreteLaplace.CountTail].
//
// So the large ones of many draws are found from the top: first CountTail, then CountLayer on the
// remaining draws, layer by layer. Each of the X in a layer is independent of the others. It is
// least plus a [Geometric] draw of the same scale modulo below − least: Pr ∝ q^j for j below that,
// and the sum of q^{j+i·(below−least)} over all i ≥ 0 is proportional to q^j.
func (d DiscreteLaplace) CountLayer(src *Source, draws uint64, least, below int64) uint64 {
	least = max(least, 1)
	switch {
	case below == math.MaxInt64:
		return d.CountTail(src, draws, least)
	case draws == 0 || least >= below:
		return 0
	case !d.law.valid():
		return unbuiltCount(src, draws, uint64(below-least), 1<<63+uint64(below))
	}
	c := block{d: d, least: least, below: below, p: d.layer(least, below)}
	return c.count(src, draws)
}

// layer returns p = Pr[X ≥ least | X < below] for 1 ≤ least < below.
//
// (g − h)/(1 − h) ≤ g for 0 ≤ h ≤ g ≤ 1, so p ≤ G(least) ≤ G(1) = q/(1+q) < ½, as the blocks of
// CountTail want it. Their proof at [blockMargin] holds with (x+21)·u in the place of (x+7)·u for
// the error of p̃ = G(least)·(1 − q^r)/(1 − G(below)), r = below − least, as computed here:
//
//   - G(least) has (x+7)·u, x = least/b.
//   - y = r/b has two roundings, which move 1 − e^{−y} by a relative 2u·y/(e^y−1) ≤ 2u, and Expm1
//     adds 2u.
//   - G(below), y = below/b ≥ 2/b, is off by (y+7)·u·e^{−y}/(1+e^{−y/2}) at most, which is largest
//     at y = 0: 3.5u. 1 − G(below) > ½, so that is 7u, and u of the difference.
//   - The product and the quotient have u each.
//
// λ ≤ size·G(least) as before, so λ·(x+21) < 32·62: F moves by 2⁻⁴²·0.97, and all together stays
// below 2⁻⁴²·1.3, against 2⁻⁴⁰. (Where G(least), or p̃ for an r/b ≥ 2⁻⁵⁰, is denormal or 0, x > 670
// and λ < 2⁻⁹⁰⁰.)
func (d DiscreteLaplace) layer(least, below int64) float64 {
	inside := -math.Expm1(-float64(below-least) / d.law.scale)
	return d.law.atLeast(float64(least)) * inside / (1 - d.law.atLeast(float64(below)))
}

// layerBounds returns layer.
func (d DiscreteLaplace) layerBounds(least, below int64, prec uint) enclose.Interval {
	from, beyond := d.atLeastBounds(least, prec), d.atLeastBounds(below, prec)
	return from.Sub(beyond).Quo(enclose.Unit(prec).Sub(beyond), prec)
}
