package noise

import (
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
	"github.com/dpsketch/dpsketch/internal/search"
)

// twoSided draws from the discrete Laplace law of scale b < 2²⁰ without rejection, exactly.
//
// With q = e^{−1/b}, Pr[|K| ≥ n] = 2qⁿ/(1+q) for n ≥ 1, and for n = 0 that is at least 1. So |K| is
// the largest n ≥ 0 with U < 2qⁿ/(1+q), which is ⌊b·(−ln U + shift)⌋, shift = ln(2/(1+q)) ≥ 0, and
// its sign is a fair coin, which does nothing to 0.
func twoSided(src *Source, b, shift float64) int64 {
	w := src.Uint64() // U without the last two digits; the last is the coin
	if b < negligible {
		return 0
	}
	if k, decided := quickFloor(w, b, shift); decided {
		return withSign(k, w)
	}
	if k, decided := floorLog(w, b, shift); decided {
		return withSign(k, w)
	}
	return withSign(twoSidedExact(src, newLazy(w>>2, 62), b), w)
}

// twoSidedExact returns the largest n ≥ 0 with U < 2qⁿ/(1+q).
func twoSidedExact(src *Source, uniform *lazy, b float64) int64 {
	return search.Least(1, func(n int64) bool { return !uniform.belowTwoSided(src, n, b) }) - 1
}

// belowTwoSided decides U·(1+q) < 2qⁿ.
func (l *lazy) belowTwoSided(src *Source, n int64, b float64) bool {
	for {
		if below, decided := l.compareTwoSided(n, b); decided {
			return below
		}
		l.refine(src)
	}
}

// compareTwoSided compares U·(1+q) with 2qⁿ.
func (l *lazy) compareTwoSided(n int64, b float64) (below, decided bool) {
	const guard = 64
	prec := l.bits + guard
	one, q, power := enclose.One(prec), enclose.ExpNeg(ratio(1, b), prec), enclose.ExpNeg(ratio(n, b), prec)
	// In units of 2^−(prec + bits).
	least := new(big.Int).Add(one, q.Lo)
	if least.Mul(least, l.n).Cmp(new(big.Int).Lsh(power.Hi, l.bits+1)) >= 0 {
		return false, true
	}
	most := new(big.Int).Add(l.n, big.NewInt(1))
	most.Mul(most, one.Add(one, q.Hi))
	return true, most.Cmp(new(big.Int).Lsh(power.Lo, l.bits+1)) <= 0
}
