// Package enclose computes with real numbers between two integers in units of 2^−prec, or between
// two rationals: sums, powers, exponentials and logarithms for comparisons that float64 leaves
// undecided. Lower ends are rounded down and upper ends up, so that nothing is assumed of a width.
// Operations return new integers.
package enclose

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
	return Interval{lo.Rsh(lo, prec), Up(hi.Rsh(hi, prec))}
}

// Quo returns x/y, for y with a lower end above 0.
func (x Interval) Quo(y Interval, prec uint) Interval {
	lo, hi := new(big.Int).Lsh(x.Lo, prec), new(big.Int).Lsh(x.Hi, prec)
	return Interval{lo.Quo(lo, y.Hi), Up(hi.Quo(hi, y.Lo))}
}

// Scale returns x·m/n.
func (x Interval) Scale(m, n uint64) Interval {
	factor, divisor := new(big.Int).SetUint64(m), new(big.Int).SetUint64(n)
	lo, hi := new(big.Int).Mul(x.Lo, factor), new(big.Int).Mul(x.Hi, factor)
	return Interval{lo.Quo(lo, divisor), Up(hi.Quo(hi, divisor))}
}

// Exactly encloses a rational x ≥ 0.
func Exactly(x *big.Rat, prec uint) Interval {
	lo, rest := new(big.Int).QuoRem(new(big.Int).Lsh(x.Num(), prec), x.Denom(), new(big.Int))
	hi := new(big.Int).Set(lo)
	if rest.Sign() > 0 {
		Up(hi)
	}
	return Interval{lo, hi}
}

// Times returns x·c for a rational c ≥ 0.
func (x Interval) Times(c *big.Rat) Interval {
	lo, hi := new(big.Int).Mul(x.Lo, c.Num()), new(big.Int).Mul(x.Hi, c.Num())
	return Interval{lo.Quo(lo, c.Denom()), Up(hi.Quo(hi, c.Denom()))}
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

// Up adds 1 to n in place: an upper end of what was rounded down.
func Up(n *big.Int) *big.Int { return n.Add(n, big.NewInt(1)) }
