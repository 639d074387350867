package enclose

import "math/big"

// Log returns rationals around ln x for a rational x ≥ 1, about 2^−prec apart.
//
// x = 2^n·f with f in [1, 2), and ln x = n·ln 2 + ln f.
func Log(x *big.Rat, prec uint) (lo, hi *big.Rat) {
	n := x.Num().BitLen() - x.Denom().BitLen()
	if n > 0 && new(big.Int).Lsh(x.Denom(), uint(n)).Cmp(x.Num()) > 0 {
		n--
	}
	n = max(n, 0)
	work := prec + 32
	f := new(big.Rat).SetFrac(x.Num(), new(big.Int).Lsh(x.Denom(), uint(n)))
	sum := logMantissa(f, work)
	two := logMantissa(big.NewRat(2, 1), work).Scale(uint64(n), 1)
	sum = Interval{sum.Lo.Add(sum.Lo, two.Lo), sum.Hi.Add(sum.Hi, two.Hi)}
	unit := new(big.Int).Lsh(big.NewInt(1), work)
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
	lo, hi = Log(x, bits+96+uint(size))
	return lo.Mul(lo, factor), hi.Mul(hi, factor)
}
