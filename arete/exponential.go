package arete

import (
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// digits is an exponential variable E of mean 1 of which the first binary digits are known: E ∈ [n,
// n+1)/2^bits. Nearly always these are all that is needed.
type digits struct {
	first int64    // n, as long as bits is firstDigits
	n     *big.Int // nil as long as it is
	bits  uint
}

// firstDigits is how many digits behind the point are drawn at first.
const firstDigits = 50

// exponential draws the first digits: ⌊2⁵⁰·E⌋ is geometric.
func (s *draw) exponential() digits {
	unit, err := noise.NewGeometric(0x1p50)
	if err != nil {
		panic("arete: noise rejects a scale of 2⁵⁰") // unreachable
	}
	return digits{unit.SampleInt(s.src), nil, firstDigits}
}

// refine draws 64 more digits: of the rest R of E, in units of the last digit so far, the next 64
// have Pr ∝ e^{−j/2^(bits+64)}.
func (s *draw) refine(e *digits) {
	if e.n == nil {
		e.n = big.NewInt(e.first)
	}
	for {
		j := s.src.Uint64()
		if s.belowExp(new(big.Rat).SetFrac(new(big.Int).SetUint64(j), exact.One(e.bits+64))) {
			e.n.Lsh(e.n, 64).Or(e.n, new(big.Int).SetUint64(j))
			e.bits += 64
			return
		}
	}
}

// belowExp returns true with probability exactly e^{−x}.
func (s *draw) belowExp(x *big.Rat) bool {
	u := new(big.Int)
	for prec := uint(64); ; prec += 64 {
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.src.Uint64()))
		limit := exact.Enclose(x, prec).ExpNeg(prec)
		switch {
		case u.Cmp(limit.Lo) < 0:
			return true
		case u.Cmp(limit.Hi) >= 0:
			return false
		}
	}
}

// float returns bounds in float64, from the first digits.
func (e *digits) float() (lo, hi float64) {
	const widen, unit = 0x1p-52, 1.0 / (1 << firstDigits)
	x := float64(e.first) * unit
	return x * (1 - widen), (x + unit) * (1 + widen)
}

// enclose returns bounds in units of 2^−prec, of digits that were refined.
func (e *digits) enclose(prec uint) exact.Interval {
	if prec >= e.bits {
		return exact.Interval{Lo: new(big.Int).Lsh(e.n, prec-e.bits), Hi: new(big.Int).Lsh(exact.Increment(new(big.Int).Set(e.n)), prec-e.bits)}
	}
	lo := new(big.Int).Rsh(e.n, e.bits-prec)
	return exact.Interval{Lo: lo, Hi: exact.Increment(new(big.Int).Set(lo))}
}
