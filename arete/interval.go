package arete

import (
	"math"
	"math/big"
)

// interval encloses a real number x ≥ 0 in units of 2^−prec, for a prec that goes with it: lo ≤ 2^prec·x ≤ hi. Lower ends are rounded
// down, upper ends up. It is what decides a draw that 64 bits leave open, so it is small and slow.
type interval struct{ lo, hi *big.Int }

// pow2 returns 2^n.
func pow2(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

// exactly encloses the rational number x ≥ 0.
func exactly(x *big.Rat, prec uint) interval {
	lo, rest := new(big.Int).QuoRem(new(big.Int).Lsh(x.Num(), prec), x.Denom(), new(big.Int))
	hi := new(big.Int).Set(lo)
	if rest.Sign() > 0 {
		hi.Add(hi, big.NewInt(1))
	}
	return interval{lo, hi}
}

// mul returns x·y.
func (x interval) mul(y interval, prec uint) interval {
	lo, hi := new(big.Int).Mul(x.lo, y.lo), new(big.Int).Mul(x.hi, y.hi)
	return interval{lo.Rsh(lo, prec), upper(hi.Rsh(hi, prec))}
}

// times returns x·c for c ≥ 0.
func (x interval) times(c *big.Rat) interval {
	lo, hi := new(big.Int).Mul(x.lo, c.Num()), new(big.Int).Mul(x.hi, c.Num())
	return interval{lo.Quo(lo, c.Denom()), upper(hi.Quo(hi, c.Denom()))}
}

// rational returns x as a fraction.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// upper adds 1 in place: the upper end of what was rounded down.
func upper(n *big.Int) *big.Int { return n.Add(n, big.NewInt(1)) }

// expNeg encloses e^{−x} for all x of the interval.
func (x interval) expNeg(prec uint) interval {
	return interval{expNegPoint(x.hi, prec).lo, expNegPoint(x.lo, prec).hi}
}

// expNegPoint encloses e^{−x} for x = n/2^prec. With y = x/2^r ≤ ½ it sums the alternating series of e^{−y}, and squares r times.
//
// Each of the terms is truncated by less than a unit, and so is y, which moves the sum by less than a unit; the tail of the alternating
// series is less than its first term, which is below a unit. Each squaring doubles the relative error of a number above 2^−(2x): the guard
// digits see to that.
func expNegPoint(n *big.Int, prec uint) interval {
	if n.Sign() == 0 {
		return interval{pow2(prec), pow2(prec)}
	}
	halvings := uint(max(n.BitLen()-int(prec)+1, 0))
	if halvings > 24 { // x ≥ 2²³: smaller than anything a prec below 2²³ can tell from 0
		return interval{new(big.Int), big.NewInt(1)}
	}
	work := prec + 2*halvings + 32
	y := new(big.Int).Lsh(n, work-prec)
	y.Rsh(y, halvings)
	sum, term := pow2(work), pow2(work)
	terms := int64(1)
	for ; term.Sign() != 0; terms++ {
		term.Mul(term, y)
		term.Rsh(term, work)
		term.Quo(term, big.NewInt(terms))
		if terms%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	slack := big.NewInt(2 * (terms + 2))
	lo, hi := new(big.Int).Sub(sum, slack), new(big.Int).Add(sum, slack)
	for range halvings {
		lo.Mul(lo, lo).Rsh(lo, work)
		upper(hi.Mul(hi, hi).Rsh(hi, work))
	}
	return interval{lo.Rsh(lo, work-prec), upper(hi.Rsh(hi, work-prec))}
}

// logSeries encloses L(s) = −ln(1 − e^{−1/s}), the total Lévy mass of one geometric law of scale s, for s in [2⁻⁴, 2⁵⁰].
//
// It starts from a float64 and refines x by Newton's method for e^{−x} = y, x ← x + (e^{−x}/y − 1), which doubles the digits. What is
// returned is not the limit on trust: e^{−hi} ≤ y ≤ e^{−lo} is verified, and the interval widened until that holds.
func logSeries(s float64, prec uint) interval {
	const guard = 96 // y may be as small as 2⁻⁵¹
	work := prec + guard
	inverse := new(big.Rat).SetFloat64(s)
	decay := exactly(inverse.Inv(inverse), work).expNeg(work)
	y := interval{new(big.Int).Sub(pow2(work), decay.hi), new(big.Int).Sub(pow2(work), decay.lo)}

	start, _ := new(big.Float).SetMantExp(big.NewFloat(-math.Log(-math.Expm1(-1/s))), int(work)).Int(nil)
	x := start
	for digits := uint(40); digits < work; digits *= 2 {
		power := expNegPoint(x, work).lo
		step := power.Lsh(power, work)
		step.Quo(step, y.lo).Sub(step, pow2(work))
		x.Add(x, step)
	}
	for width := pow2(guard / 8); ; width.Lsh(width, 8) {
		lo, hi := new(big.Int).Sub(x, width), new(big.Int).Add(x, width)
		if lo.Sign() < 0 {
			lo.SetInt64(0)
		}
		if expNegPoint(lo, work).lo.Cmp(y.hi) >= 0 && expNegPoint(hi, work).hi.Cmp(y.lo) <= 0 {
			return interval{lo.Rsh(lo, guard), upper(hi.Rsh(hi, guard))}
		}
	}
}
