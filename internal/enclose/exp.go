package enclose

import "math/big"

// ExpNeg encloses e^{−x} for a rational x ≥ 0, by integers a few units apart.
//
// It evaluates e^{−y}, y = x/2^r < 1/4, by its Taylor series and squares r times, in fixed point
// with enough guard bits. Each of the terms is truncated by less than one unit, the alternating
// tail is smaller than the first term left out (less than one unit), and squaring is done on both
// ends.
func ExpNeg(x *big.Rat, prec uint) Interval { return ExpNegQuo(x.Num(), x.Denom(), prec) }

// ExpNegQuo is [ExpNeg] for x = num/den, which need not be in lowest terms; den is positive.
func ExpNegQuo(num, den *big.Int, prec uint) Interval {
	if num.Sign() <= 0 { // e^0 = 1; x is never negative
		return Unit(prec)
	}
	whole := new(big.Int).Quo(num, den)
	if !whole.IsInt64() || whole.Int64() >= int64(prec)+1 { // e^{−x} < 2^{−prec}
		return Interval{new(big.Int), big.NewInt(1)}
	}
	halvings := uint(whole.BitLen()) + 2
	work := prec + 2*halvings + 32 // squaring r times loses less than 2r bits here

	// y in units of 2^−work, between yLo and yLo+1.
	y := new(big.Int).Lsh(num, work)
	y.Quo(y, den)
	y.Rsh(y, halvings)

	sum := One(work)
	term := One(work)
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
	// truncated terms, each carried on by a factor y < 1/4, and y's own unit
	slack := big.NewInt(4 * (terms + 2))
	lo, hi := new(big.Int).Sub(sum, slack), new(big.Int).Add(sum, slack)
	for range halvings {
		lo.Mul(lo, lo).Rsh(lo, work)
		Up(hi.Mul(hi, hi).Rsh(hi, work))
	}
	down := work - prec
	return Interval{lo.Rsh(lo, down), Up(hi.Rsh(hi, down))}
}
