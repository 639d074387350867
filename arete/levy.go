package arete

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// logSeries encloses L(s) = −ln(1 − e^{−1/s}), the total Lévy mass of one geometric law of scale s,
// for s in [2⁻⁴, 2⁵⁰].
//
// It starts from a float64 and refines x by Newton's method for e^{−x} = y, x ← x + (e^{−x}/y − 1),
// which doubles the digits. What is returned is not the limit on trust: e^{−hi} ≤ y ≤ e^{−lo} is
// verified, and the interval widened until that holds.
func logSeries(s float64, prec uint) exact.Interval {
	const guard = 96 // y may be as small as 2⁻⁵¹
	work := prec + guard
	inverse := new(big.Rat).SetFloat64(s)
	decay := exact.Enclose(inverse.Inv(inverse), work).ExpNeg(work)
	y := exact.Interval{Lo: new(big.Int).Sub(exact.One(work), decay.Hi), Hi: new(big.Int).Sub(exact.One(work), decay.Lo)}

	one := exact.One(work)
	expNeg := func(n *big.Int) exact.Interval { return exact.ExpNegQuo(n, one, work) }
	start, _ := new(big.Float).SetMantExp(big.NewFloat(-math.Log(-math.Expm1(-1/s))), int(work)).Int(nil)
	x := start
	for digits := uint(40); digits < work; digits *= 2 {
		power := expNeg(x).Lo
		step := power.Lsh(power, work)
		step.Quo(step, y.Lo).Sub(step, exact.One(work))
		x.Add(x, step)
	}
	for width := exact.One(guard / 8); ; width.Lsh(width, 8) {
		lo, hi := new(big.Int).Sub(x, width), new(big.Int).Add(x, width)
		if lo.Sign() < 0 {
			lo.SetInt64(0)
		}
		if expNeg(lo).Lo.Cmp(y.Hi) >= 0 && expNeg(hi).Hi.Cmp(y.Lo) <= 0 {
			return exact.Interval{Lo: lo.Rsh(lo, guard), Hi: exact.Increment(hi.Rsh(hi, guard))}
		}
	}
}
