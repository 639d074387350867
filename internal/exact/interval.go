package exact

import "math/big"

// Interval encloses a real number x ≥ 0: Lo ≤ 2^prec·x ≤ Hi, for a prec that goes with it.
type Interval struct{ Lo, Hi *big.Int }

// One returns 1 in units of 2^−prec.
func One(prec uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), prec) }

// Unit encloses 1, exactly.
func Unit(prec uint) Interval { return Interval{One(prec), One(prec)} }

// Rat returns the exact value of a float64.
func Rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// Add returns x + y.
func (x Interval) Add(y Interval) Interval {
	return Interval{new(big.Int).Add(x.Lo, y.Lo), new(big.Int).Add(x.Hi, y.Hi)}
}

// Sub returns x − y for x ≥ y: its lower end is not below 0.
func (x Interval) Sub(y Interval) Interval {
	lo, hi := new(big.Int).Sub(x.Lo, y.Hi), new(big.Int).Sub(x.Hi, y.Lo)
	if lo.Sign() < 0 {
		lo.SetInt64(0)
	}
	return Interval{lo, hi}
}

// Mul returns x·y.
func (x Interval) Mul(y Interval, prec uint) Interval {
	lo, hi := new(big.Int).Mul(x.Lo, y.Lo), new(big.Int).Mul(x.Hi, y.Hi)
	return Interval{lo.Rsh(lo, prec), Increment(hi.Rsh(hi, prec))}
}

// Quo returns x/y, for y with a lower end above 0.
func (x Interval) Quo(y Interval, prec uint) Interval {
	lo, hi := new(big.Int).Lsh(x.Lo, prec), new(big.Int).Lsh(x.Hi, prec)
	return Interval{lo.Quo(lo, y.Hi), Increment(hi.Quo(hi, y.Lo))}
}

// Scale returns x·m/n.
func (x Interval) Scale(m, n uint64) Interval {
	factor, divisor := new(big.Int).SetUint64(m), new(big.Int).SetUint64(n)
	lo, hi := new(big.Int).Mul(x.Lo, factor), new(big.Int).Mul(x.Hi, factor)
	return Interval{lo.Quo(lo, divisor), Increment(hi.Quo(hi, divisor))}
}

// Enclose encloses a rational x ≥ 0.
func Enclose(x *big.Rat, prec uint) Interval {
	lo, rest := new(big.Int).QuoRem(new(big.Int).Lsh(x.Num(), prec), x.Denom(), new(big.Int))
	hi := new(big.Int).Set(lo)
	if rest.Sign() > 0 {
		Increment(hi)
	}
	return Interval{lo, hi}
}

// Times returns x·c for a rational c ≥ 0.
func (x Interval) Times(c *big.Rat) Interval {
	lo, hi := new(big.Int).Mul(x.Lo, c.Num()), new(big.Int).Mul(x.Hi, c.Num())
	return Interval{lo.Quo(lo, c.Denom()), Increment(hi.Quo(hi, c.Denom()))}
}

// ExpNeg returns e^{−x}.
func (x Interval) ExpNeg(prec uint) Interval {
	one := One(prec)
	return Interval{ExpNegQuo(x.Hi, one, prec).Lo, ExpNegQuo(x.Lo, one, prec).Hi}
}

// Pow returns x^n by repeated squaring.
func (x Interval) Pow(n uint64, prec uint) Interval {
	result := Unit(prec)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = result.Mul(x, prec)
		}
		x = x.Mul(x, prec)
	}
	return result
}

// Increment adds 1 to n in place: an upper end of what was rounded down.
func Increment(n *big.Int) *big.Int { return n.Add(n, big.NewInt(1)) }

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
		Increment(hi.Mul(hi, hi).Rsh(hi, work))
	}
	down := work - prec
	return Interval{lo.Rsh(lo, down), Increment(hi.Rsh(hi, down))}
}

// LogRat returns rationals around ln x for a rational x ≥ 1, about 2^−prec apart.
//
// x = 2^n·f with f in [1, 2), and ln x = n·ln 2 + ln f.
func LogRat(x *big.Rat, prec uint) (lo, hi *big.Rat) {
	n := x.Num().BitLen() - x.Denom().BitLen()
	if n > 0 && new(big.Int).Lsh(x.Denom(), uint(n)).Cmp(x.Num()) > 0 {
		n--
	}
	n = max(n, 0)
	work := prec + 32
	f := new(big.Rat).SetFrac(x.Num(), new(big.Int).Lsh(x.Denom(), uint(n)))
	sum := logMantissa(f, work)
	two := logMantissa(big.NewRat(2, 1), work).Scale(uint64(n), 1)
	sum, unit := sum.Add(two), One(work)
	return new(big.Rat).SetFrac(sum.Lo, unit), new(big.Rat).SetFrac(sum.Hi, unit)
}

// logMantissa encloses ln f for f in [1, 2]: 2·artanh y with y = (f−1)/(f+1) ≤ ⅓, as the sum of
// 2y^{2i+1}/(2i+1).
//
// Everything is truncated, so the sum is too small. With y² ≤ 1/9 the error of a power is at most
// e/9 + 2 after an error of e, hence below 3 units, and that of a term below 4; what is left out
// after a power that comes as 0 is below 4 as well.
func logMantissa(f *big.Rat, prec uint) Interval {
	num, den := new(big.Int).Sub(f.Num(), f.Denom()), new(big.Int).Add(f.Num(), f.Denom())
	y := num.Lsh(num, prec+1)
	y.Quo(y, den) // 2y
	square := new(big.Int).Mul(y, y)
	square.Rsh(square, prec+2)
	sum, power := new(big.Int), new(big.Int).Set(y)
	i := int64(0)
	for ; power.Sign() != 0; i++ {
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(2*i+1)))
		power.Mul(power, square).Rsh(power, prec)
	}
	return Interval{sum, new(big.Int).Add(sum, big.NewInt(4*i+4))}
}

// LogMultiple returns rationals around factor·ln x, for rationals factor ≥ 0 and x ≥ 1, close
// enough for a comparison with a number of which bits binary digits are known.
func LogMultiple(factor, x *big.Rat, bits uint) (lo, hi *big.Rat) {
	size := max(factor.Num().BitLen()-factor.Denom().BitLen(), 0)
	lo, hi = LogRat(x, bits+96+uint(size))
	return lo.Mul(lo, factor), hi.Mul(hi, factor)
}
