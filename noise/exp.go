package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// This file decides U < e^{−x} exactly, for U uniform in [0, 1) and x ≥ 0 real. Everything that the
// continuous and the discrete samplers do rests on it. U is drawn 64 bits at a time, and only as
// far as the comparison needs: a float64 settles all but one of about 2⁴⁴ comparisons, rational
// interval arithmetic the rest. No probability is rounded anywhere.

// margin bounds the error of the float64 side of a comparison: |exp(−x̃) − e^{−x}| + |ũ − U| ≤
// margin.
//
// ũ is within 2⁻⁵³ of U and math.Exp within 1 ulp (2⁻⁵² at most), so what remains is |e^{−x̃} −
// e^{−x}|. Callers keep that below 2⁻⁴⁷ by one of two conditions:
//
//	|x̃ − x| ≤ 2⁻⁴⁷·e^{min(x, x̃)}  as e^{−x} has a slope of at most e^{−min(x, x̃)} between them
//	x ≥ 40 and x̃ ≥ 40             as then both are below e^{−40} < 2⁻⁵⁷
//
// (That |x̃ − x|·e^{−x} be small is not enough: x = 100 and x̃ = 1.)
const margin = 0x1p-45

// bernoulliExp returns true with probability exactly e^{−x}. approx is as near to x as [margin]
// asks; exact, called only if the float64 comparison is undecided, returns x itself.
func bernoulliExp(src *Source, approx float64, exact func() *big.Rat) bool {
	w := src.Uint64()
	u := float64(w>>11) * 0x1p-53
	if below, decided := compareExp64(u, approx); decided {
		return below
	}
	return newLazy(w, 64).belowExp(src, exact())
}

// compareExp64 decides U < e^{−x} in float64 for U and x as [margin] says, if that is possible.
// 1 − x ≤ e^{−x} ≤ 1 − x + x²/2 spares the exponential for most small x.
func compareExp64(u, x float64) (below, decided bool) {
	if u < 1-x-margin {
		return true, true
	}
	if u > 1-x+x*x/2+margin {
		return false, true
	}
	p := math.Exp(-x)
	return u < p, u < p-margin || u > p+margin
}

// lazy is a uniform number of [0, 1) of which bits binary digits are known: it lies in [n,
// n+1)/2^bits.
type lazy struct {
	n    *big.Int
	bits uint
}

func newLazy(first uint64, bits uint) *lazy {
	return &lazy{n: new(big.Int).SetUint64(first), bits: bits}
}

// refine draws 64 more digits.
func (l *lazy) refine(src *Source) { l.extend(src.Uint64()) }

// extend appends the 64 digits of a word.
func (l *lazy) extend(word uint64) {
	l.n.Lsh(l.n, 64)
	l.n.Add(l.n, new(big.Int).SetUint64(word))
	l.bits += 64
}

// lower and upper are the ends of the interval.
func (l *lazy) lower() *big.Rat { return l.end(0) }
func (l *lazy) upper() *big.Rat { return l.end(1) }

func (l *lazy) end(offset int64) *big.Rat {
	n := new(big.Int).Add(l.n, big.NewInt(offset))
	return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), l.bits))
}

// settle returns what decide does once it has decided, and until then refines the numbers that it
// looks at.
func settle[T any](src *Source, decide func() (T, bool), numbers ...*lazy) T {
	for {
		if result, decided := decide(); decided {
			return result
		}
		for _, l := range numbers {
			l.refine(src)
		}
	}
}

// rounded returns the integer that point gives for all that is left of the interval in the end.
func (l *lazy) rounded(src *Source, point func(*big.Rat) *big.Int) int64 {
	return settle(src, func() (int64, bool) {
		least, most := point(l.lower()), point(l.upper())
		return least.Int64(), least.Cmp(most) == 0
	}, l)
}

// belowExp decides U < e^{−x}.
func (l *lazy) belowExp(src *Source, x *big.Rat) bool {
	return settle(src, func() (bool, bool) { return l.compareExp(x, x) }, l)
}

// compareExp compares U with e^{−x}, where x is known to lie in [least, most].
func (l *lazy) compareExp(least, most *big.Rat) (below, decided bool) {
	const guard = 64
	lo, hi := exact.ExpNeg(most, l.bits+guard).Lo, exact.ExpNeg(least, l.bits+guard).Hi
	n := new(big.Int).Lsh(l.n, guard)
	if n.Cmp(hi) >= 0 {
		return false, true
	}
	n.Add(n, new(big.Int).Lsh(big.NewInt(1), guard))
	return true, n.Cmp(lo) <= 0
}
