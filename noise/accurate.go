package noise

import "math"

// This file holds the few operations whose rounding error matters: a relative error of 2⁻⁵³ in an
// exponent of 700 is one of 8e-14 in the result. They rely on math.FMA, exact on every machine, and
// an explicit float64 conversion wherever a compiler might otherwise fuse a product into a sum.

// divide returns q = x/s rounded and r with x/s = q + r to about 2⁻¹⁰⁰ of q. r is 0 where q is 0,
// infinite or NaN.
func divide(x, s float64) (q, r float64) {
	q = x / s
	if q == 0 || math.IsInf(q, 0) || math.IsNaN(q) {
		return q, 0
	}
	return q, math.FMA(-q, s, x) / s
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

// exactProduct returns a·b as a sum of two float64, the second next to nothing.
func exactProduct(a, b float64) (hi, lo float64) {
	hi = a * b
	return hi, math.FMA(a, b, -hi)
}

// exactSum returns a + b, a and b ≥ 0, as a sum of two float64, the second next to nothing.
func exactSum(a, b float64) (hi, lo float64) {
	if a < b {
		a, b = b, a
	}
	hi = a + b
	return hi, b - (hi - a)
}
