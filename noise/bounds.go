package noise

import "math/big"

// bounds encloses a real number x ≥ 0: lo ≤ 2^prec·x ≤ hi, for a prec that goes with it. Operations return new
// integers, lower ends rounded down and upper ends up.
type bounds struct{ lo, hi *big.Int }

// one returns 1 in units of 2^−prec.
func one(prec uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), prec) }

// mul returns x·y.
func (x bounds) mul(y bounds, prec uint) bounds {
	lo, hi := new(big.Int).Mul(x.lo, y.lo), new(big.Int).Mul(x.hi, y.hi)
	return bounds{lo.Rsh(lo, prec), up(hi.Rsh(hi, prec))}
}

// quo returns x/y, for y with a lower end above 0.
func (x bounds) quo(y bounds, prec uint) bounds {
	lo, hi := new(big.Int).Lsh(x.lo, prec), new(big.Int).Lsh(x.hi, prec)
	return bounds{lo.Quo(lo, y.hi), up(hi.Quo(hi, y.lo))}
}

// scale returns x·m/n.
func (x bounds) scale(m, n uint64) bounds {
	factor, divisor := new(big.Int).SetUint64(m), new(big.Int).SetUint64(n)
	lo, hi := new(big.Int).Mul(x.lo, factor), new(big.Int).Mul(x.hi, factor)
	return bounds{lo.Quo(lo, divisor), up(hi.Quo(hi, divisor))}
}

// pow returns x^n by repeated squaring.
func (x bounds) pow(n uint64, prec uint) bounds {
	result := bounds{one(prec), one(prec)}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = result.mul(x, prec)
		}
		x = x.mul(x, prec)
	}
	return result
}

// up adds 1 to n in place: an upper end of what was rounded down.
func up(n *big.Int) *big.Int { return n.Add(n, big.NewInt(1)) }
