package noise

import "math"

// This file holds the few operations whose rounding error matters: a relative error of 2⁻⁵³ in an
// exponent of 700 is one of 8e-14 in the result. They rely on math.FMA, exact on every machine, and an
// explicit float64 conversion wherever a compiler might otherwise fuse a product into a sum.

// divide returns q = x/s rounded and r with x/s = q + r to about 2⁻¹⁰⁰ of q. r is 0 where q is 0, infinite or NaN.
func divide(x, s float64) (q, r float64) {
	q = x / s
	if q == 0 || math.IsInf(q, 0) || math.IsNaN(q) {
		return q, 0
	}
	return q, math.FMA(-q, s, x) / s
}

// logOf returns ln x for x ≥ 0, denormal x included: math.Log of Go 1.26 on amd64 returns −709.09 for 5e-324 instead of −744.44.
func logOf(x float64) float64 {
	if x < 0x1p-1022 {
		return math.Log(x*0x1p100) - 100*math.Ln2
	}
	return math.Log(x)
}

// expNeg returns e^{−(q+r)} for q ≥ 0 and |r| ≤ 2⁻⁵²·q.
func expNeg(q, r float64) float64 {
	e := math.Exp(-q)
	return e - float64(e*r)
}

// gaussKernel returns e^{−(z+r)²/2} for |r| ≤ 2⁻⁵²·|z|.
func gaussKernel(z, r float64) float64 {
	square := float64(z * z)
	if square > 1600 { // below e^{−800}, the least float64 is above e^{−746}
		return 0
	}
	low := math.FMA(z, z, -square)
	e := math.Exp(-square / 2)
	return e - float64(e*(low/2+float64(z*r)))
}

// logGaussKernel returns −(z+r)²/2 for |r| ≤ 2⁻⁵²·|z|, −Inf where that overflows.
func logGaussKernel(z, r float64) float64 {
	square := float64(z * z)
	if math.IsInf(square, 1) {
		return math.Inf(-1)
	}
	return -square/2 - float64(z*r)
}

// quotientUp returns the least float64 that is ≥ a/b, for a and b in [leastParam, mostParam]; +Inf or 0 may
// come out only if a/b is out of the range of float64.
func quotientUp(a, b float64) float64 {
	fa, ea := math.Frexp(a)
	fb, eb := math.Frexp(b)
	q := fa / fb // in (½, 2), and the remainder below is exact
	if math.FMA(q, fb, -fa) < 0 {
		q = math.Nextafter(q, 2)
	}
	return math.Ldexp(q, ea-eb)
}

// sqrtDown returns the greatest float64 that is ≤ √x, for x in [leastParam, 2·mostParam].
func sqrtDown(x float64) float64 {
	s := math.Sqrt(x)
	if math.FMA(s, s, -x) > 0 {
		s = math.Nextafter(s, 0)
	}
	return s
}

// sumUp returns the least float64 that is ≥ a + b, for a, b ≥ 0 (+Inf allowed).
func sumUp(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 1) {
		return s
	}
	if a < b {
		a, b = b, a
	}
	if b-(s-a) > 0 { // the exact rounding error of the sum (Dekker)
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// differenceUp returns the least float64 ≥ a − b, for a ≥ b ≥ 0 finite.
func differenceUp(a, b float64) float64 {
	d := a - b
	if (a-d)-b > 0 { // the exact rounding error of the difference (Dekker)
		d = math.Nextafter(d, math.Inf(1))
	}
	return d
}

// differenceDown returns a float64 ≤ a − b, for a ≥ b ≥ 0 finite, at most one unit below the exact value.
func differenceDown(a, b float64) float64 {
	d := a - b
	if (a-d)-b < 0 { // the exact rounding error of the difference (Dekker)
		d = math.Nextafter(d, 0)
	}
	return d
}
