package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k the result is k·step with probability Pr[(k−½)·step < X <
// (k+½)·step], for ε, Δ, γ and step given as float64, with no error at all. So v + Sample for v on
// the grid is the ideal mechanism followed by rounding, which is post-processing; Δ need not be a
// multiple of step.
//
// |X| is uniform in [0, γΔ) with probability γ(1−q)/D, else Δ·(G + γ + U) with Pr[G ≥ g] = q^g and
// U uniform in [0, 1).
//
// step must be a power of two with max(Δ, Δ/ε)/step ≤ 2⁴⁶; otherwise the result is NaN
// ([CheckStep]).
func (d Staircase) Sample(src *Source, step float64) float64 {
	if !d.draws(step) {
		return math.NaN()
	}
	b := d.law.sensitivity / step
	line := segment{units: b, slope: d.law.gamma}
	if !d.inCore(src) {
		line = segment{units: b, whole: float64(geometricRate(src, d.law.epsilon)), start: d.law.gamma, slope: 1}
	}
	return float64(withSign(line.round(src), src.Uint64())) * step
}

// inCore returns true with probability γ(1−q)/D.
func (d Staircase) inCore(src *Source) bool {
	w := src.Uint64()
	// Exp and Expm1 are within 1 ulp, so core is within 2⁻⁵⁰, and the float64 of w within 2⁻⁵³.
	if u := float64(w>>11) * 0x1p-53; u < d.law.core-margin || u > d.law.core+margin {
		return u < d.law.core
	}
	return d.inCoreExactly(src, newLazy(w, 64))
}

// inCoreExactly decides V < γ(1−q)/D for the uniform V: as D = q + γ(1−q), it holds if q <
// γ(1−V)/(V + γ(1−V)), which falls in V.
func (d Staircase) inCoreExactly(src *Source, v *lazy) bool {
	gamma, epsilon := enclose.Rat(d.law.gamma), enclose.Rat(d.law.epsilon)
	bound := func(v *big.Rat) *big.Rat { // 0 for V = 1
		x := new(big.Rat).Sub(big.NewRat(1, 1), v)
		x.Mul(x, gamma)
		v = new(big.Rat).Add(v, x)
		if v.Sign() == 0 { // V = 0 and γ = 0: the limit along V > 0
			return v
		}
		return x.Quo(x, v)
	}
	for {
		const guard = 1100 // q is at least e^{−512}
		prec := v.bits + guard
		q := enclose.ExpNeg(epsilon, prec)
		unit := enclose.One(prec)
		if new(big.Rat).SetFrac(q.Hi, unit).Cmp(bound(v.upper())) < 0 {
			return true
		}
		if new(big.Rat).SetFrac(q.Lo, unit).Cmp(bound(v.lower())) >= 0 {
			return false
		}
		v.refine(src)
	}
}

// segment is the line units·(whole + start + slope·U) for a uniform U. whole is an integer, and if
// it or start is not 0 slope is 1.
type segment struct{ units, whole, start, slope float64 }

// round draws U and returns the point rounded to an integer.
func (s segment) round(src *Source) int64 {
	w := src.Uint64()
	if k, decided := s.roundQuick(w); decided {
		return k
	}
	return s.roundExactly(src, newLazy(w, 64))
}

// roundQuick rounds in pairs of float64, for U in [w, w+1)/2⁶⁴, if all of these round to the same
// integer.
//
// The sums and products below are exact (Dekker, FMA) except those of the lower parts, which are
// within 2⁻¹⁰³ of the point. It is below 2⁵² or left to roundExactly, so that is 2⁻⁵¹, and the sum
// at the end has two roundings of 2⁻⁵² more; U adds units·2⁻⁶⁴.
func (s segment) roundQuick(w uint64) (k int64, decided bool) {
	u, uLow := float64(w>>11)*0x1p-53, float64(w&(1<<11-1))*0x1p-64
	var hi, lo float64
	if s.slope == 1 {
		start, startLow := exactSum(s.whole, s.start)
		hi, lo = exactSum(start, u)
		lo += startLow + uLow
	} else {
		hi, lo = exactProduct(s.slope, u)
		lo += s.slope * uLow
	}
	v, low := exactProduct(s.units, hi)
	low += s.units * lo
	if !(v < 1<<52) {
		return 0, false
	}
	floor := math.Floor(v)
	rest := (v - floor) + (low + 0.5)
	err := 0x1p-46 + s.units*0x1p-63
	a, b := math.Floor(rest-err), math.Floor(rest+err)
	return int64(floor + a), a == b
}

// exactSum returns a + b, a and b ≥ 0, as a sum of two float64, the second next to nothing.
func exactSum(a, b float64) (hi, lo float64) {
	if a < b {
		a, b = b, a
	}
	hi = a + b
	return hi, b - (hi - a)
}

// roundExactly is roundQuick in rational arithmetic, drawing more digits of U until the rounding is
// decided.
func (s segment) roundExactly(src *Source, u *lazy) int64 {
	point := func(u *big.Rat) *big.Int {
		x := u.Mul(u, enclose.Rat(s.slope))
		x.Add(x, enclose.Rat(s.whole)).Add(x, enclose.Rat(s.start))
		return roundRat(x.Mul(x, enclose.Rat(s.units)))
	}
	for {
		least, most := point(u.lower()), point(u.upper())
		if least.Cmp(most) == 0 {
			return least.Int64()
		}
		u.refine(src)
	}
}
